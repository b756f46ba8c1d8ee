package sarif

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/report/semgrep"
)

// sarifFile reads SARIF 2.1.0 and builds a report for each run.
//
// Results are converted at the end of their run, because rules, folders and artifacts may follow
// them. Until then they are stored as JSON, which needs a third of the memory of decoded results.
//
// Unlike Semgrep's JSON, its SARIF does not mark rules for secrets. They are recognized by their
// tags and names, or by earlier reports: see traits and Reading. Otherwise a secret is imported as
// a code finding, in which only text with the format of a secret is redacted.
type sarifFile struct {
	*format.Walker
	o       format.Options
	reports []*model.Report
	hasRuns bool
}

// ReadSARIF reads SARIF 2.1.0 and returns a report for each run.
func ReadSARIF(in *format.Input, o format.Options) ([]*model.Report, error) {
	f := &sarifFile{Walker: in.Walker(), o: o}
	err := f.Object("", func(name string) error {
		if name != "runs" {
			return f.Skip(name)
		}
		f.hasRuns = true
		return f.Array(name, f.run)
	})
	if err != nil {
		return nil, err
	}
	if err := f.End(); err != nil {
		return nil, err
	}
	if !f.hasRuns {
		return nil, errors.New("it has no member runs, so it is not SARIF")
	}
	return f.reports, nil
}

// sarifRun is the state of reading one run of a tool.
type sarifRun struct {
	*format.Walker
	where   string
	rep     *model.Report
	secrets *secrets.Redactor

	components  []*component          // the driver, followed by the extensions
	byID        map[string]*sarifRule // of all components; the first rule with an id is used
	paths       map[sarifFileKey]sarifPath
	messages    map[ruleMessage]string
	traits      traits    // of the tool
	category    read.Text // automationDetails.id
	bases       map[string]sarifArtifact
	artifacts   []sarifArtifact
	checkout    format.Checkout
	invocations []sarifInvocation
	properties  sarifRunProperties
	results     []json.RawMessage // results to be converted
}

// maxRuns is the maximum number of runs in a file.
const maxRuns = 100

func (f *sarifFile) run(item string) error {
	r := &sarifRun{
		Walker: f.Walker, where: item, rep: &model.Report{}, secrets: f.o.Secrets,
		components: []*component{{}}, bases: map[string]sarifArtifact{},
	}
	r.checkout.AddRoot(f.o.Root)
	if len(f.reports) == maxRuns {
		return format.TooMany("runs", maxRuns)
	}
	f.In.Build(format.RunSize)
	if err := f.Object(item, r.member); err != nil {
		return err
	}
	if err := r.finish(f.o); err != nil {
		return err
	}
	f.reports = append(f.reports, r.rep)
	return nil
}

func (r *sarifRun) member(name string) error {
	where := r.where + "." + name
	switch name {
	case "tool":
		return r.Object(where, r.tool)
	case "results":
		return r.Array(where, r.result)
	case "artifacts":
		return r.Array(where, func(item string) error {
			var a sarifArtifactEntry
			_, err := r.Decode(item, &a)
			r.artifacts = append(r.artifacts, sarifArtifact{URI: a.Location.URI, Base: a.Location.Base, roles: a.Roles})
			return err
		})
	case "invocations":
		return r.Array(where, func(item string) error {
			var v sarifInvocation
			_, err := r.Decode(item, &v)
			r.invocations = append(r.invocations, v)
			return err
		})
	case "originalUriBaseIds":
		return r.decodeMember(where, &r.bases)
	case "automationDetails":
		var details struct {
			ID read.Text `json:"id"`
		}
		err := r.decodeMember(where, &details)
		r.category = details.ID
		return err
	case "versionControlProvenance":
		var repositories []struct {
			Revision read.Text `json:"revisionId"`
		}
		err := r.decodeMember(where, &repositories)
		if len(repositories) > 0 {
			r.rep.Commit = repositories[0].Revision.Name()
		}
		return err
	case "properties":
		return r.decodeMember(where, &r.properties)
	case "externalPropertyFileReferences":
		return r.externalFiles(where)
	}
	return r.Skip(where)
}

// externalFiles refuses a run with parts in other files, unless these contain only descriptions
// such as taxonomies or translations.
func (r *sarifRun) externalFiles(where string) error {
	described := true
	err := r.Object(where, func(name string) error {
		described = described && slices.Contains([]string{"taxonomies", "translations", "policies"}, name)
		return r.Skip(where + "." + name)
	})
	if !described {
		r.refuse(where, "parts of this run are in other files, which are not supported; write one file")
	}
	return err
}

// decodeMember decodes a member and ignores values of other types.
func (r *sarifRun) decodeMember(where string, v any) error {
	_, err := r.Decode(where, v)
	return err
}

func (r *sarifRun) tool(name string) error {
	where := r.where + ".tool." + name
	switch name {
	case "driver":
		return r.Object(where, func(name string) error { return r.component(where, name, r.components[0]) })
	case "extensions":
		return r.Array(where, func(item string) error {
			c := &component{}
			r.In.Build(format.SizeOf(c))
			r.components = append(r.components, c)
			return r.Object(item, func(name string) error { return r.component(item, name, c) })
		})
	}
	return r.Skip(where)
}

func (r *sarifRun) component(where, name string, c *component) error {
	where += "." + name
	switch name {
	case "name":
		return r.decodeMember(where, &c.name)
	case "version":
		return r.decodeMember(where, &c.version)
	case "semanticVersion":
		return r.decodeMember(where, &c.semanticVersion)
	case "rules":
		return r.Array(where, func(item string) error {
			rule := &sarifRule{}
			c.rules = append(c.rules, rule)
			return r.decodeMember(item, rule)
		})
	}
	return r.Skip(where)
}

func (r *sarifRun) result(item string) error {
	var raw json.RawMessage
	_, err := r.Decode(item, &raw)
	r.results = append(r.results, raw)
	return err
}

// shortestResult is the minimum length of a result, in bytes. It limits the memory that is
// allocated for results in advance.
const shortestResult = 64

// convertAll converts the results to findings and frees each after its conversion.
func (r *sarifRun) convertAll() error {
	size := 0
	for _, raw := range r.results {
		size += len(raw)
	}
	r.rep.Results = slices.Grow(r.rep.Results, min(len(r.results), size/shortestResult))
	for i, raw := range r.results {
		item := fmt.Sprintf("%s.results[%d]", r.where, i)
		res := sarifResult{item: item}
		res.misfit = format.MisfitOf(json.Unmarshal(raw, &res))
		decoded := format.SizeOf(&res) + res.nestedSize()
		r.In.Build(decoded)
		r.convert(&res)
		r.results[i] = nil
		r.In.Build(-decoded - len(raw))
		if full := r.In.Budget.Err; full != nil {
			return r.Fault(item, full)
		}
	}
	r.results = nil
	return nil
}

// finish completes the report.
func (r *sarifRun) finish(o format.Options) error {
	driver := r.components[0]
	r.traits = traitsOf(driver.name)
	r.rep.Tool = r.traits.tool
	r.rep.ToolVersion = cmp.Or(driver.semanticVersion, driver.version).Name()
	r.rep.Category = read.Text(cmp.Or(o.Category, categoryOf(string(r.category)))).Name()
	r.findRoots()
	r.describeRules()
	r.readInvocations()
	if err := r.convertAll(); err != nil {
		return err
	}
	if r.traits.tool == "trivy" {
		format.ScopeToImage(r.rep, format.ImageName(string(r.properties.Image)), r.imageInPaths())
	}
	r.readSearched()
	r.rep.Skipped = read.Distinct(r.rep.Skipped)
	format.MergePartial(r.rep)
	if r.rep.Searched != nil {
		r.rep.Searched = format.Minus(read.Distinct(r.rep.Searched), r.rep.Skipped)
	}
	r.rep.Products = r.products()
	return nil
}

// products returns the products of the results, and of the rules if all rules ran. If there are
// none, it returns the product of the tool.
func (r *sarifRun) products() model.Products {
	var p model.Products
	for i := range r.rep.Results {
		p = p.With(r.rep.Results[i].Rule.IssueType)
	}
	if r.rep.RulesRun != nil {
		for _, rule := range r.rep.Rules {
			p = p.With(rule.IssueType)
		}
	}
	if p == 0 {
		p = p.With(r.traits.issueType)
	}
	return p
}

// categoryOf returns the category in an automation id, which is the part before the last slash. The
// part after it identifies the run. The category is empty if there is no slash.
func categoryOf(id string) string {
	last := strings.LastIndexByte(id, '/')
	if last < 0 {
		return ""
	}
	return id[:last]
}

// readInvocations reads the time and success of the run, and the files with notifications, which
// count as skipped.
func (r *sarifRun) readInvocations() {
	var start, end time.Time
	for _, v := range r.invocations {
		if v.Successful != nil && !bool(*v.Successful) && !r.failedByFile(v) {
			r.rep.Failed = true
		}
		if t := v.Start.Time(); !t.IsZero() && (start.IsZero() || t.Before(start)) {
			start = t
		}
		if t := v.End.Time(); t.After(end) {
			end = t
		}
		for _, n := range append(v.Execution, v.Configuration...) {
			r.readNotification(n)
		}
	}
	r.rep.StartedAt = start
	if !start.IsZero() && end.After(start) {
		r.rep.TotalTime = semgrep.Seconds(end.Sub(start).Seconds())
	}
}

// failedByFile reports whether an unsuccessful run failed only because of the files in its
// notifications.
func (r *sarifRun) failedByFile(v sarifInvocation) bool {
	named := false
	for _, n := range append(v.Execution, v.Configuration...) {
		if n.Level == "error" {
			if len(n.Locations) == 0 {
				return false
			}
			named = true
		}
	}
	return named && r.traits.byFile
}

func (r *sarifRun) readNotification(n sarifNotification) {
	if n.Level != "" && format.SeverityOf(string(n.Level)) < model.SeverityMedium ||
		r.traits.byFile && n.Level != "error" {
		return
	}
	for _, l := range n.Locations {
		if p, err := r.Path(l.Physical.Artifact); err == nil {
			r.failed(p)
		}
	}
	if named := r.traits.failedFile; named != nil && len(n.Locations) == 0 {
		if m := named.FindStringSubmatch(string(n.Message.plain())); m != nil {
			if p, err := r.checkout.Path(m[1]); err == nil && n.Descriptor.ID == syntaxError {
				r.parsedInPart(p)
			} else if err == nil {
				r.failed(p)
			}
		}
	}
}

// failed records a file that the tool could not scan.
func (r *sarifRun) failed(path string) {
	r.rep.Skipped = append(r.rep.Skipped, path)
	r.rep.Gaps = append(r.rep.Gaps, model.ScanGap{Kind: model.GapFailed, What: path})
}

// parsedInPart records a file with a syntax error. Semgrep's SARIF does not contain the unparsed
// lines.
func (r *sarifRun) parsedInPart(path string) {
	r.rep.Partial = append(r.rep.Partial, model.PartialFile{Path: path, Spans: []model.Span{model.WholeFile}})
	r.rep.Gaps = append(r.rep.Gaps, model.ScanGap{Kind: model.GapFailed, What: path})
}

// readSearched sets the searched paths if the report contains all of them. These are artifacts with
// the role analysisTarget, which the standard reserves for files to scan, or the files in Bandit's
// metrics. Other lists of artifacts may contain only files with results.
func (r *sarifRun) readSearched() {
	add := func(p string, err error) {
		if err == nil {
			r.rep.Searched = append(r.rep.Searched, p)
		}
	}
	for _, a := range r.artifacts {
		if a.isTarget() || r.traits.listsAll {
			add(r.Path(a))
		}
	}
	if r.traits.tool != "bandit" {
		return
	}
	for _, file := range slices.Sorted(maps.Keys(r.properties.Metrics)) {
		if file != "_totals" {
			add(r.checkout.Path(file))
		}
	}
}

// refuse records an item that could not be converted.
func (r *sarifRun) refuse(item, format string, args ...any) {
	r.rep.Refuse(model.Refusal{Item: item, Reason: model.CutBytes(fmt.Sprintf(format, args...), read.MaxName)})
}
