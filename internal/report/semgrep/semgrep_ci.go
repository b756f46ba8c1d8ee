package semgrep

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// ReadResultsOfCI reads the results that `semgrep ci` posts into a report.
func ReadResultsOfCI(r io.Reader, o format.Options) (*model.Report, error) {
	c, err := newCI(r, &o)
	if err != nil {
		return nil, format.CleanError(o.Secrets, format.NewFileError(o, -1, err))
	}
	c.rep.Searched, c.rep.RulesRun = []string{}, []string{}
	if err := c.document(c.results); err != nil {
		return nil, format.CleanError(o.Secrets, format.NewFileError(o, -1, err))
	}
	c.rep.Inventories = c.done.Inventories
	c.rep.Skipped = c.withoutRenamed(c.rep.Skipped)
	c.finish()
	return c.rep, nil
}

// CICompletion is the content of the completion that `semgrep ci` posts.
type CICompletion struct {
	ExitCode int
	// FinalAttempt means that the scanner will not retry.
	FinalAttempt bool
	Seconds      float64 // duration of the scan
	// Inventories has an entry for each lockfile that was read, and is never nil. The rules of the
	// scan determine whether it searched for lockfiles.
	Inventories []model.Inventory
	// Unresolved lists the lockfiles, or manifests without one, that the scanner found but did not
	// read (docs/reference/lockfiles.md). Unread lists those that it failed to read. It did not try
	// the others, such as those in unchanged parts of the repository in a diff scan.
	Unresolved, Unread []string
	// Unparsed lists the languages that were not parsed completely (model.GapParse). The scanner
	// does not list partially parsed files, and reports unseen findings as fixed.
	Unparsed []model.ScanGap
}

// ReadCICompletion reads the completion that `semgrep ci` posts, without secrets.
func ReadCICompletion(r io.Reader, o format.Options) (*CICompletion, error) {
	secrets := secrets.NewRedactor(nil)
	o.Secrets = secrets
	c, err := newCI(r, &o)
	if err != nil {
		return nil, format.CleanError(secrets, format.NewFileError(o, -1, err))
	}
	c.done = CICompletion{Inventories: []model.Inventory{}}
	if err := c.document(c.completion); err != nil {
		return nil, format.CleanError(secrets, format.NewFileError(o, -1, err))
	}
	reports := []*model.Report{
		{Inventories: c.done.Inventories, Unresolved: c.done.Unresolved, Skipped: c.done.Unread, Gaps: c.done.Unparsed},
	}
	secrets.Blank(reports)
	secrets.Scrub(reports...)
	c.done.Unresolved, c.done.Unread = read.Distinct(c.done.Unresolved), read.Distinct(c.done.Unread)
	return &c.done, nil
}

// ci reads the uploads of `semgrep ci`. Their rules, dependencies and traces are those of semgrep's
// reports.
type ci struct {
	semgrep
	done    CICompletion
	renamed []string // old names of renamed files
}

func newCI(r io.Reader, o *format.Options) (*ci, error) {
	o.Limits = o.Limits.OrDefault()
	o.Budget = &format.Budget{}
	in, err := format.Open(r, *o)
	if err != nil {
		return nil, err
	}
	return &ci{semgrep: semgrep{
		Walker: in.Walker(), rep: &model.Report{Tool: "semgrep"}, secrets: o.Secrets, rules: map[string]*semgrepRule{},
	}}, nil
}

func (c *ci) document(member func(name string) error) error {
	if err := c.Object("", member); err != nil {
		return err
	}
	return c.End()
}

func (c *ci) results(name string) error {
	paths := func(list *[]string) error {
		return c.Strings(name, func(p string) {
			if p, err := c.checkout.Path(p); err == nil {
				*list = append(*list, p)
			}
		})
	}
	switch name {
	case "findings":
		return c.Array(name, func(item string) error { return c.finding(item, false) })
	case "ignores":
		return c.Array(name, func(item string) error { return c.finding(item, true) })
	case "searched_paths":
		return paths(&c.rep.Searched)
	case "skipped_paths":
		return paths(&c.rep.Skipped)
	case "renamed_paths":
		return paths(&c.renamed)
	case "dependencies": // older versions; newer ones post them with the completion
		return c.Object(name, c.lockfile)
	case "rule_ids":
		return c.Strings(name, func(rule string) { c.rep.RulesRun = append(c.rep.RulesRun, read.Text(rule).Name()) })
	}
	return c.Skip(name)
}

// withoutRenamed removes the old names of renamed files from the skipped paths. A name is retained if
// another file has it and was searched.
func (c *ci) withoutRenamed(skipped []string) []string {
	if len(c.renamed) == 0 {
		return skipped
	}
	gone := make(map[string]bool, len(c.renamed))
	for _, path := range c.renamed {
		gone[path] = true
	}
	for _, path := range c.rep.Searched {
		delete(gone, path)
	}
	return slices.DeleteFunc(skipped, func(path string) bool { return gone[path] })
}

// ciFinding is an entry of findings and ignores.
type ciFinding struct {
	CheckID      read.Text   `json:"check_id"`
	Path         read.Text   `json:"path"`
	Line         read.Number `json:"line"`
	Column       read.Number `json:"column"`
	EndLine      read.Number `json:"end_line"`
	EndColumn    read.Number `json:"end_column"`
	Severity     read.Number `json:"severity"`
	SyntacticID  read.Text   `json:"syntactic_id"`
	MatchBasedID read.Text   `json:"match_based_id"`
	Index        read.Number `json:"index"`
	Hashes       struct {
		Code    read.Text `json:"code_hash"`
		Pattern read.Text `json:"pattern_hash"`
		Start   read.Text `json:"start_line_hash"`
		End     read.Text `json:"end_line_hash"`
	} `json:"hashes"`
	Metadata json.RawMessage `json:"metadata"`
	semgrepCIExtra
}

// semgrepCIExtra are the members that a report has in extra.
type semgrepCIExtra struct {
	Message    read.Text       `json:"message"`
	SCA        *semgrepSCA     `json:"sca_info"`
	Validation read.Text       `json:"validation_state"`
	Trace      *semgrepTrace   `json:"dataflow_trace"`
	Engine     json.RawMessage `json:"engine_kind"`
	Historical *struct {
		Commit read.Text `json:"git_commit"`
	} `json:"historical_info"`
}

// maxCodeNumber is the maximum number of repetitions of equal code in a file.
const maxCodeNumber = 1 << 20

// ciSeverities maps the numbers of severities to words.
var ciSeverities = []read.Text{"INFO", "WARNING", "ERROR", "CRITICAL"}

// result converts the finding to a result as in a report.
func (f *ciFinding) result(muted bool) *semgrepResult {
	severity := ciSeverities[0] // also for experiments
	if int(f.Severity) < len(ciSeverities) {
		severity = ciSeverities[f.Severity]
	}
	return &semgrepResult{
		CheckID: f.CheckID, Path: f.Path, Start: secrets.Position{Line: f.Line, Col: f.Column},
		End: secrets.Position{Line: f.EndLine, Col: f.EndColumn},
		Extra: &semgrepExtra{
			Message: f.Message, Severity: severity, Metadata: f.Metadata,
			Fingerprint: f.MatchBasedID, Ignored: read.Boolean(muted),
			SCA: f.SCA, Validation: f.Validation, Trace: f.Trace, Engine: f.Engine, Historical: f.Historical,
		},
	}
}

func (c *ci) finding(item string, muted bool) error {
	var f ciFinding
	misfit, err := c.Decode(item, &f)
	if err != nil {
		return err
	}
	if f.CheckID.Name() == "" {
		c.refuse(item, "a finding needs check_id and path; %s", cmp.Or(misfit, "one of them is missing"))
		return nil
	}
	res := c.resultOf(item, f.result(muted))
	if res == nil {
		return nil
	}
	res.SyntacticID, res.CodeHash, res.PatternHash = f.SyntacticID.Name(), f.Hashes.Code.Name(), f.Hashes.Pattern.Name()
	res.StartHash, res.EndHash = f.Hashes.Start.Name(), f.Hashes.End.Name()
	if f.Index >= 0 && f.Index < maxCodeNumber {
		res.CodeNumber = int(f.Index) + 1
	}
	if res.Secret != nil {
		res.Secret.Hash = c.secrets.KeyedCode(model.CodeDigest(res.CodeHash))
		secrets.Hide(res, res.Secret)
	}
	c.In.Build(format.ResultSize)
	c.rep.Results = append(c.rep.Results, *res)
	return nil
}

func (c *ci) completion(name string) error {
	switch name {
	case "exit_code":
		var code read.Number
		_, err := c.Decode(name, &code)
		c.done.ExitCode = int(code)
		return err
	case "final_attempt":
		var final read.Boolean
		_, err := c.Decode(name, &final)
		c.done.FinalAttempt = bool(final)
		return err
	case "stats":
		return c.Object(name, c.stats)
	case "dependencies":
		return c.Object(name, c.lockfile)
	case "skipped_subprojects":
		return c.Array(name, c.subproject)
	}
	return c.Skip(name)
}

func (c *ci) stats(name string) error {
	switch name {
	case "total_time":
		var took float64
		_, err := c.Decode(name, &took)
		c.done.Seconds = Seconds(took).Seconds()
		return err
	case "parse_rate":
		return c.Object(name, c.parseRate)
	case "supply_chain_stats":
		return c.Object(name, func(name string) error {
			if name != "subprojects_stats" {
				return c.Skip(name)
			}
			return c.Array(name, c.subproject)
		})
	}
	return c.Skip(name)
}

// maxUnparsed is the maximum number of incompletely parsed languages.
const maxUnparsed = 100

// parseRate records a language that was not parsed completely.
func (c *ci) parseRate(language string) error {
	var rate struct {
		Parsed read.Number `json:"bytes_parsed"`
		All    read.Number `json:"num_bytes"`
	}
	_, err := c.Decode("parse_rate."+language, &rate)
	if rate.Parsed < rate.All && len(c.done.Unparsed) < maxUnparsed {
		why := fmt.Sprintf("%d of %d bytes were parsed", rate.Parsed, rate.All)
		c.done.Unparsed = append(c.done.Unparsed, model.ScanGap{
			Kind: model.GapParse,
			What: read.Text(language).Name(),
			Why:  why,
		})
	}
	return err
}

// subproject records a subproject without resolved_stats. Entries in the list of skipped
// subprojects have no reason.
func (c *ci) subproject(item string) error {
	var p struct {
		Sources []struct {
			Kind read.Texts `json:"kind"`
			Path read.Text  `json:"path"`
		} `json:"dependency_sources"`
		Resolved json.RawMessage `json:"resolved_stats"`
		Reason   read.Text       `json:"unresolved_reason"`
	}
	if _, err := c.Decode(item, &p); err != nil || len(p.Resolved) > 0 && string(p.Resolved) != "null" {
		return err
	}
	var lockfiles, manifests []string
	for _, source := range p.Sources {
		path, err := c.checkout.Path(string(source.Path))
		switch {
		case err != nil: // outside of the repository
		case source.Kind.First() == "Lockfile":
			lockfiles = append(lockfiles, path)
		default:
			manifests = append(manifests, path)
		}
	}
	if lockfiles == nil {
		lockfiles = manifests
	}
	c.done.Unresolved = append(c.done.Unresolved, lockfiles...)
	if p.Reason != "" && p.Reason != "skipped" {
		c.done.Unread = append(c.done.Unread, lockfiles...)
	}
	return nil
}

// ciDependency is a dependency in a lockfile.
type ciDependency struct {
	Package      read.Text             `json:"package"`
	Version      read.Text             `json:"version"`
	Ecosystem    read.Text             `json:"ecosystem"`
	Transitivity read.Text             `json:"transitivity"`
	Line         read.Number           `json:"line_number"`
	Hashes       map[string]read.Texts `json:"allowed_hashes"`
}

// lockfile reads the dependencies of a lockfile.
func (c *ci) lockfile(name string) error {
	path, err := c.checkout.Path(name)
	if err != nil {
		return c.Skip(name)
	}
	inventory := model.Inventory{
		Lockfile:        path,
		Dependencies:    []model.Dependency{},
		UnknownPackages: lockfile.UnknownPackages(path),
	}
	err = c.Array("dependencies."+name, func(item string) error {
		var d ciDependency
		if _, err := c.Decode(item, &d); err != nil {
			return err
		}
		inventory.Dependencies = append(inventory.Dependencies, d.dependency())
		return nil
	})
	c.done.Inventories = append(c.done.Inventories, inventory)
	return err
}

func (d *ciDependency) dependency() model.Dependency {
	out := model.Dependency{
		Ecosystem: d.Ecosystem.Name(), Name: d.Package.Name(),
		Version: d.Version.Name(), Line: int(d.Line), Licenses: []string{},
	}
	out.PURL = purl.Of(out.Ecosystem, out.Name, out.Version)
	out.Transitivity, _ = model.ParseTransitivity(string(d.Transitivity))
	for _, algorithm := range slices.Sorted(maps.Keys(d.Hashes)) {
		for _, hex := range d.Hashes[algorithm].Names() {
			out.Hashes = append(out.Hashes, model.Hash{Algorithm: read.HashName(algorithm), Hex: hex})
		}
	}
	return out
}
