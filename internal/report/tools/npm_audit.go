package tools

import (
	"cmp"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// npmAudit reads the JSON of npm, pnpm and Yarn. None of them contains a lockfile, and all list
// only vulnerable packages. The formats are:
//
//   - npm 7 and later: vulnerabilities by package
//   - npm 6, pnpm, Yarn 2 and 3: advisories by number
//   - Yarn 1: a line per advisory and a summary at the end
//   - Yarn 4: a line per advisory
type npmAudit struct {
	*native
	lines bool // Yarn 1, which ends with a summary
	ended bool
}

// ReadNPMAudit reads the JSON of npm audit, pnpm audit and yarn audit.
func ReadNPMAudit(in *format.Input, o format.Options) ([]*model.Report, error) {
	a := &npmAudit{native: newNative(in, o, "npm-audit")}
	if err := a.Lines("report", a.document); err != nil {
		return nil, err
	}
	if a.lines && !a.ended {
		return nil, a.Fault("report", read.CutOff("it lacks the last line of Yarn, of type auditSummary"))
	}
	return a.reports(model.SCA), nil
}

// document reads a whole document, or a line.
func (a *npmAudit) document(item string) error {
	var value read.Text // Yarn 4: the package
	var children *yarnAdvisory
	var failed *struct {
		Code    read.Text `json:"code"`
		Summary read.Text `json:"summary"`
	}
	known := false
	err := a.Object(item, func(name string) error {
		where := item + "." + name
		switch name {
		case "auditReportVersion", "metadata", "type":
			known = true
			var kind read.Text
			_, err := a.Decode(where, &kind)
			a.lines = a.lines || name == "type" && strings.HasPrefix(string(kind), "audit")
			a.ended = a.ended || kind == "auditSummary"
			return err
		case "vulnerabilities":
			known = true
			return a.members(where, items(a.native, a.vulnerability))
		case "advisories":
			known = true
			return a.members(where, items(a.native, a.old))
		case "data":
			return a.yarnData(where)
		case "value":
			return a.decodeMember(where, &value)
		case "children":
			return a.decodeMember(where, &children)
		case "error":
			return a.decodeMember(where, &failed)
		}
		return a.Skip(where)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return errors.New("the audit failed: " + read.OneLine(string(failed.Code+" "+failed.Summary), read.MaxName))
	case children != nil:
		a.yarn(item, value, children)
	case !known:
		return read.NotA("audit of npm, pnpm or Yarn", "it has neither vulnerabilities nor advisories")
	}
	return nil
}

func (a *npmAudit) decodeMember(where string, v any) error {
	_, err := a.Decode(where, v)
	return err
}

// members calls handle for each member of an object.
func (a *npmAudit) members(where string, handle func(item string) error) error {
	return a.Object(where, func(name string) error {
		if len(a.rep.Results)+a.rep.CountRefused() >= a.In.Limits.Items {
			return a.Fault(where, format.TooMany(where, a.In.Limits.Items))
		}
		return handle(where + "." + read.Text(name).Name())
	})
}

// yarnData reads the data of a line of Yarn 1: an advisory, numbers, or a text.
func (a *npmAudit) yarnData(where string) error {
	var data struct {
		Advisory *oldAdvisory `json:"advisory"`
	}
	_, err := a.Decode(where, &data)
	if data.Advisory != nil {
		a.old(where+".advisory", data.Advisory)
	}
	return err
}

type npmVulnerability struct {
	Name   read.Text         `json:"name"`
	Direct read.Boolean      `json:"isDirect"`
	Via    []json.RawMessage `json:"via"` // advisories, and names of affected packages
	Fix    json.RawMessage   `json:"fixAvailable"`
}

type npmAdvisory struct {
	Source   read.Text  `json:"source"`
	Title    read.Text  `json:"title"`
	URL      read.Text  `json:"url"`
	Severity read.Text  `json:"severity"`
	CWE      read.Texts `json:"cwe"`
	CVSS     struct {
		Score read.Text `json:"score"`
	} `json:"cvss"`
	Range read.Text `json:"range"`
}

func (a *npmAudit) vulnerability(item string, v *npmVulnerability) {
	var fix struct {
		Name    read.Text `json:"name"`
		Version read.Text `json:"version"`
	}
	read.Loosely(v.Fix, &fix)
	var fixes read.Texts
	if fix.Name == v.Name {
		fixes = read.Texts{string(fix.Version)}
	}
	for _, raw := range v.Via[:min(len(v.Via), read.MaxList)] {
		var by npmAdvisory
		if read.Loosely(raw, &by); by.Title == "" && by.URL == "" {
			continue // the name of an affected package
		}
		a.vulnerable(affected{
			item: item, kind: "npm", name: v.Name, fixes: fixes, transitivity: lockfile.TransitivityOf(true, bool(v.Direct)),
			message: npmMessage(by.Title, by.Range),
			rule: model.Rule{
				Name: npmRule(by.URL, by.Source), URL: by.URL.Link(), CWE: by.CWE.Names(),
				Severity: npmSeverity(&by),
			},
		})
	}
}

// npmRule returns the id of an advisory: that of GitHub if the address contains it.
func npmRule(address, number read.Text) string {
	if last := path.Base(string(address)); strings.HasPrefix(last, "GHSA-") {
		return read.Text(last).Name()
	}
	if number.Name() == "" {
		return ""
	}
	return "NPM-" + number.Name()
}

// npmSeverity returns GitHub's rating; a score of 0 means that there is none.
func npmSeverity(v *npmAdvisory) model.Severity {
	return cmp.Or(format.SeverityOf(string(v.Severity)), format.SeverityOfNumber(string(v.CVSS.Score)))
}

func npmMessage(title, versions read.Text) string {
	s := title.Block()
	if v := versions.Name(); v != "" && s != "" {
		s += " (" + v + ")"
	}
	return s
}

// oldAdvisory is an entry of advisories, with the locations of the package.
type oldAdvisory struct {
	npmAdvisory
	ID       read.Text  `json:"id"`
	Module   read.Text  `json:"module_name"`
	GitHub   read.Text  `json:"github_advisory_id"`
	CVEs     read.Texts `json:"cves"`
	Overview read.Text  `json:"overview"`
	Patched  read.Text  `json:"patched_versions"`
	Findings []struct {
		Version read.Text  `json:"version"`
		Paths   read.Texts `json:"paths"`
	} `json:"findings"`
}

func (a *npmAudit) old(item string, v *oldAdvisory) {
	found := affected{
		item: item, kind: "npm", name: v.Module, aliases: v.CVEs, message: cmp.Or(v.Overview.Block(), v.Title.Block()),
		rule: model.Rule{
			Name: cmp.Or(v.GitHub.Name(), npmRule(v.URL, v.ID)), URL: v.URL.Link(), CWE: v.CWE.Names(),
			Severity: npmSeverity(&v.npmAdvisory),
		},
	}
	if version, ok := strings.CutPrefix(string(v.Patched), ">="); ok && !strings.ContainsAny(version, " |<>") {
		found.fixes = read.Texts{version}
	}
	for _, f := range v.Findings[:min(len(v.Findings), read.MaxList)] {
		found.version, found.transitivity = f.Version, pathsTransitivity(f.Paths)
		a.vulnerable(found)
	}
	if len(v.Findings) == 0 {
		a.vulnerable(found)
	}
}

// pathsTransitivity returns the transitivity of a package from its dependency paths, such as a > b,
// or . > a > b with a workspace in pnpm.
func pathsTransitivity(paths read.Texts) model.Transitivity {
	for _, p := range paths {
		steps := strings.Split(p, ">")
		if strings.HasPrefix(p, ".") {
			steps = steps[1:]
		}
		if len(steps) == 1 {
			return model.Direct
		}
	}
	return lockfile.TransitivityOf(len(paths) > 0, false)
}

// yarnAdvisory is the member children of a line of Yarn 4.
type yarnAdvisory struct {
	ID       read.Text  `json:"ID"`
	Issue    read.Text  `json:"Issue"`
	URL      read.Text  `json:"URL"`
	Severity read.Text  `json:"Severity"`
	Range    read.Text  `json:"Vulnerable Versions"`
	Versions read.Texts `json:"Tree Versions"`
}

func (a *npmAudit) yarn(item string, name read.Text, v *yarnAdvisory) {
	if v.URL == "" && strings.HasSuffix(string(v.ID), "(deprecation)") {
		return // deprecated, not vulnerable
	}
	versions := v.Versions
	if len(versions) == 0 {
		versions = read.Texts{""}
	}
	for _, version := range versions[:min(len(versions), read.MaxList)] {
		a.vulnerable(affected{
			item: item, kind: "npm", name: name, version: read.Text(version), message: npmMessage(v.Issue, v.Range),
			rule: model.Rule{Name: npmRule(v.URL, v.ID), URL: v.URL.Link(), Severity: format.SeverityOf(string(v.Severity))},
		})
	}
}
