package report

import (
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/redoubt/redoubt"
)

// npmAudit reads what npm, pnpm and Yarn write with --json. npm 7 and later
// have vulnerabilities by package; npm 6, pnpm and Yarn 2 and 3 have
// advisories by number; Yarn 1 writes a line for each advisory and a last one
// that sums up; Yarn 4 writes a line for each advisory and nothing else. They
// name no lockfile, and list vulnerable packages only.
type npmAudit struct {
	*native
	lines bool // of Yarn 1, which have a last one
	ended bool
}

func readNPMAudit(in *input, o Options) ([]*redoubt.Report, error) {
	a := &npmAudit{native: newNative(in, o, "npm-audit")}
	if err := a.walker.lines("report", a.document); err != nil {
		return nil, err
	}
	if a.lines && !a.ended {
		return nil, a.fault("report", cutOff("it has no line of the type auditSummary, with which Yarn ends"))
	}
	return a.reports(redoubt.SCA), nil
}

// document reads all, or a line.
func (a *npmAudit) document(item string) error {
	var value text // of Yarn 4: the package
	var children *yarnAdvisory
	var failed *struct {
		Code    text `json:"code"`
		Summary text `json:"summary"`
	}
	known := false
	err := a.object(item, func(name string) error {
		where := item + "." + name
		switch name {
		case "auditReportVersion", "metadata", "type":
			known = true
			var kind text
			_, err := a.decode(where, &kind)
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
		return a.skip(where)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return errors.New("the audit failed: " + oneLine(string(failed.Code+" "+failed.Summary), maxName))
	case children != nil:
		a.yarn(item, value, children)
	case !known:
		return notA("audit of npm, pnpm or Yarn", "it has neither vulnerabilities nor advisories")
	}
	return nil
}

func (a *npmAudit) decodeMember(where string, v any) error {
	_, err := a.decode(where, v)
	return err
}

// members reads each member of an object in turn.
func (a *npmAudit) members(where string, take func(item string) error) error {
	return a.object(where, func(name string) error {
		if len(a.rep.Results)+len(a.rep.Refused) >= a.in.limits.Items {
			return a.fault(where, tooMany(where, a.in.limits.Items))
		}
		return take(where + "." + text(name).name())
	})
}

// yarnData is data of a line of Yarn 1: an advisory, numbers, or a text.
func (a *npmAudit) yarnData(where string) error {
	var data struct {
		Advisory *oldAdvisory `json:"advisory"`
	}
	_, err := a.decode(where, &data)
	if data.Advisory != nil {
		a.old(where+".advisory", data.Advisory)
	}
	return err
}

type npmVulnerability struct {
	Name   text              `json:"name"`
	Direct boolean           `json:"isDirect"`
	Via    []json.RawMessage `json:"via"` // advisories, and names of packages that have them
	Fix    json.RawMessage   `json:"fixAvailable"`
}

type npmAdvisory struct {
	Source   text  `json:"source"`
	Title    text  `json:"title"`
	URL      text  `json:"url"`
	Severity text  `json:"severity"`
	CWE      texts `json:"cwe"`
	CVSS     struct {
		Score text `json:"score"`
	} `json:"cvss"`
	Range text `json:"range"`
}

func (a *npmAudit) vulnerability(item string, v *npmVulnerability) {
	var fix struct {
		Name    text `json:"name"`
		Version text `json:"version"`
	}
	loosely(v.Fix, &fix)
	var fixes texts
	if fix.Name == v.Name {
		fixes = texts{string(fix.Version)}
	}
	for _, raw := range v.Via[:min(len(v.Via), maxList)] {
		var by npmAdvisory
		if loosely(raw, &by); by.Title == "" && by.URL == "" {
			continue // a package that has it
		}
		a.vulnerable(affected{
			item: item, kind: "npm", name: v.Name, fixes: fixes, transitivity: transitivityOf(true, bool(v.Direct)),
			message: npmMessage(by.Title, by.Range),
			rule: redoubt.Rule{
				Name: npmRule(by.URL, by.Source), URL: by.URL.link(), CWE: by.CWE.names(),
				Severity: npmSeverity(&by),
			},
		})
	}
}

// npmRule is the id of an advisory: GitHub's where the address tells it.
func npmRule(address, number text) string {
	if last := path.Base(string(address)); strings.HasPrefix(last, "GHSA-") {
		return text(last).name()
	}
	if number.name() == "" {
		return ""
	}
	return "NPM-" + number.name()
}

// npmSeverity is GitHub's rating; a score of 0 stands for none.
func npmSeverity(v *npmAdvisory) redoubt.Severity {
	return firstOf(severityOf(string(v.Severity)), severityOfNumber(string(v.CVSS.Score)))
}

func npmMessage(title, versions text) string {
	s := title.block()
	if v := versions.name(); v != "" && s != "" {
		s += " (" + v + ")"
	}
	return s
}

// oldAdvisory is one of advisories, which tells where it was found.
type oldAdvisory struct {
	npmAdvisory
	ID       text  `json:"id"`
	Module   text  `json:"module_name"`
	GitHub   text  `json:"github_advisory_id"`
	CVEs     texts `json:"cves"`
	Overview text  `json:"overview"`
	Patched  text  `json:"patched_versions"`
	Findings []struct {
		Version text  `json:"version"`
		Paths   texts `json:"paths"`
	} `json:"findings"`
}

func (a *npmAudit) old(item string, v *oldAdvisory) {
	found := affected{
		item: item, kind: "npm", name: v.Module, aliases: v.CVEs, message: firstOf(v.Overview.block(), v.Title.block()),
		rule: redoubt.Rule{
			Name: firstOf(v.GitHub.name(), npmRule(v.URL, v.ID)), URL: v.URL.link(), CWE: v.CWE.names(),
			Severity: npmSeverity(&v.npmAdvisory),
		},
	}
	if version, ok := strings.CutPrefix(string(v.Patched), ">="); ok && !strings.ContainsAny(version, " |<>") {
		found.fixes = texts{version}
	}
	for _, f := range v.Findings[:min(len(v.Findings), maxList)] {
		found.version, found.transitivity = f.Version, pathsTransitivity(f.Paths)
		a.vulnerable(found)
	}
	if len(v.Findings) == 0 {
		a.vulnerable(found)
	}
}

// pathsTransitivity tells direct from transitive by the ways that lead to a
// package: a > b, and with pnpm a workspace in front, as . > a > b.
func pathsTransitivity(paths texts) redoubt.Transitivity {
	for _, p := range paths {
		steps := strings.Split(p, ">")
		if strings.HasPrefix(p, ".") {
			steps = steps[1:]
		}
		if len(steps) == 1 {
			return redoubt.Direct
		}
	}
	return transitivityOf(len(paths) > 0, false)
}

// yarnAdvisory is children of a line of Yarn 4.
type yarnAdvisory struct {
	ID       text  `json:"ID"`
	Issue    text  `json:"Issue"`
	URL      text  `json:"URL"`
	Severity text  `json:"Severity"`
	Range    text  `json:"Vulnerable Versions"`
	Versions texts `json:"Tree Versions"`
}

func (a *npmAudit) yarn(item string, name text, v *yarnAdvisory) {
	if v.URL == "" && strings.HasSuffix(string(v.ID), "(deprecation)") {
		return // old, not vulnerable
	}
	versions := v.Versions
	if len(versions) == 0 {
		versions = texts{""}
	}
	for _, version := range versions[:min(len(versions), maxList)] {
		a.vulnerable(affected{
			item: item, kind: "npm", name: name, version: text(version), message: npmMessage(v.Issue, v.Range),
			rule: redoubt.Rule{Name: npmRule(v.URL, v.ID), URL: v.URL.link(), Severity: severityOf(string(v.Severity))},
		})
	}
}
