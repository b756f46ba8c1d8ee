package report

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// gitLab reads the security reports of GitLab's analyzers, of code, secrets,
// dependencies and images. What was scanned for may be told after the results,
// which are made into findings at the end.
type gitLab struct {
	*native
	isReport bool
	scan     gitLabScan
	managers map[string]text // package managers by lockfile
	found    []gitLabVulnerability
}

type gitLabScan struct {
	Type    text `json:"type"`
	Status  text `json:"status"`
	Scanner struct {
		ID      text `json:"id"`
		Version text `json:"version"`
		Vendor  struct {
			Name text `json:"name"`
		} `json:"vendor"`
	} `json:"scanner"`
	Start   text               `json:"start_time"`
	Primary []gitLabIdentifier `json:"primary_identifiers"` // the rules that ran
}

type gitLabIdentifier struct {
	Type  text `json:"type"`
	Name  text `json:"name"`
	Value text `json:"value"`
	URL   text `json:"url"`
}

type gitLabVulnerability struct {
	item string

	ID          text `json:"id"`
	Category    text `json:"category"`
	Name        text `json:"name"`
	Message     text `json:"message"`
	Description text `json:"description"`
	Severity    text `json:"severity"`
	Confidence  text `json:"confidence"`
	Solution    text `json:"solution"`
	Raw         text `json:"raw_source_code_extract"`
	Location    struct {
		File      text   `json:"file"`
		StartLine number `json:"start_line"`
		EndLine   number `json:"end_line"`
		Commit    struct {
			SHA text `json:"sha"`
		} `json:"commit"`
		Dependency *struct {
			Package struct {
				Name text `json:"name"`
			} `json:"package"`
			Version text     `json:"version"`
			Direct  *boolean `json:"direct"`
		} `json:"dependency"`
		OperatingSystem text `json:"operating_system"`
	} `json:"location"`
	Identifiers []gitLabIdentifier `json:"identifiers"`
	Links       []struct {
		URL text `json:"url"`
	} `json:"links"`
	Details struct {
		Confidence, Exposure struct {
			Value text `json:"value"`
		}
	} `json:"details"`
}

func readGitLab(in *input, o Options) ([]*redoubt.Report, error) {
	g := &gitLab{native: newNative(in, o, "gitlab"), managers: map[string]text{}}
	if err := g.object("", g.member); err != nil {
		return nil, err
	}
	if !g.isReport {
		return nil, errors.New("it has no member vulnerabilities, so it is no security report of GitLab's")
	}
	g.describe()
	g.rep.Products = g.rep.Products.With(g.product())
	for i := range g.found {
		g.result(&g.found[i])
	}
	return g.finish(g.product())
}

func (g *gitLab) member(name string) error {
	switch name {
	case "scan":
		_, err := g.decode(name, &g.scan)
		return err
	case "vulnerabilities":
		g.isReport = true
		return g.array(name, items(g.native, func(item string, v *gitLabVulnerability) {
			v.item = item
			g.found = append(g.found, *v)
		}))
	case "dependency_files":
		type file struct {
			Path    text `json:"path"`
			Manager text `json:"package_manager"`
		}
		return g.array(name, items(g.native, func(_ string, f *file) { g.managers[string(f.Path)] = f.Manager }))
	}
	return g.skip(name)
}

// describe says what ran. The scanner is the tool, so that its findings are
// those of its reports in other formats.
func (g *gitLab) describe() {
	if g.scan.Scanner.ID != "" {
		g.rep.Tool = toolName(g.scan.Scanner.ID)
	}
	g.rep.ToolVersion = g.scan.Scanner.Version.name()
	g.rep.Failed = g.scan.Status == "failure"
	g.rep.StartedAt = sarifTime(g.scan.Start + "Z").time() // GitLab's times are in UTC and do not say so
	for _, rule := range g.scan.Primary {
		g.rep.RulesRun = append(g.rep.RulesRun, rule.rule())
	}
	g.rep.RulesRun = distinct(g.rep.RulesRun)
}

func (g *gitLab) product() redoubt.IssueType {
	switch g.scan.Type {
	case "secret_detection":
		return redoubt.Secrets
	case "dependency_scanning", "container_scanning", "cluster_image_scanning":
		return redoubt.SCA
	}
	return redoubt.SAST
}

// rule is the name of a rule as its scanner spells it: the values of CWEs and
// the like are mere numbers.
func (i gitLabIdentifier) rule() string {
	if i.Type == "cwe" || i.Type == "owasp" {
		return i.Name.name()
	}
	return firstOf(i.Value, i.Name).name()
}

func (g *gitLab) result(v *gitLabVulnerability) {
	if len(v.Identifiers) == 0 {
		g.refuse(v.item, "it has no identifiers, the first of which names the rule")
		return
	}
	rule := redoubt.Rule{
		Name: v.Identifiers[0].rule(), URL: v.Identifiers[0].URL.link(), CWE: v.cwe(), Severity: severityOf(string(v.Severity)),
		Confidence: confidenceOf(string(firstOf(v.Details.Confidence.Value, v.Confidence))), References: v.links(),
	}
	location := redoubt.Location{Line: int(v.Location.StartLine), EndLine: int(v.Location.EndLine)}
	words := ruleTraits{name: rule.Name}
	switch {
	case v.Location.Dependency != nil:
		g.dependency(v, rule)
	case g.product() == redoubt.Secrets || v.Category == "secret_detection":
		rule.Message = firstOf(v.Description, v.Message, v.Name).block()
		g.leaked(leak{
			item: v.item, rule: rule, path: string(v.Location.File), location: location, raw: string(v.Raw), commit: v.Location.Commit.SHA,
		})
	case words.isSecret():
		rule.Message = rule.Name // the message may quote it
		g.leaked(leak{item: v.item, rule: rule, path: string(v.Location.File), location: location, raw: string(v.Raw)})
	default:
		g.code(v, rule, location)
	}
}

func (g *gitLab) code(v *gitLabVulnerability, rule redoubt.Rule, location redoubt.Location) {
	rule.IssueType = redoubt.SAST
	res := redoubt.Result{
		Item: v.item, Location: location, Message: firstOf(v.Message, v.Description, v.Name).block(),
		Severity: rule.Severity, Confidence: rule.Confidence, Code: v.Raw.block(),
	}
	if v.Details.Exposure.Value != "" { // semgrep's, which does not name the package
		reachability, ok := redoubt.ParseReachability(string(v.Details.Exposure.Value))
		if !ok {
			reachability = redoubt.ReachabilityUnknown
		}
		rule.IssueType = redoubt.SCA
		res.Dependency = &redoubt.Vulnerable{
			Line: location.Line, Transitivity: redoubt.TransitivityUnknown, Reachability: reachability,
			InCode: lockfileFor(string(v.Location.File)) == nil,
		}
	} else if g.rep.Tool == semgrepTool && g.scan.Scanner.Vendor.Name == "Semgrep" && uuid.MatchString(string(v.ID)) {
		res.SyntacticID = strings.ReplaceAll(string(v.ID), "-", "")
	}
	if made := g.take(res, rule, string(v.Location.File)); made != nil && made.Dependency != nil {
		made.Dependency.Lockfile = made.Path
	}
}

// uuid is how Semgrep writes its syntactic id here (the scanner's own report
// only: GitLab's analyzer makes ids of its own).
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// upgrade is how solutions name versions: "Upgrade to versions 4.2.1, 5.0.2 or above."
var upgrade = regexp.MustCompile(`(?i)\bupgrade (?:\S+ )?to (?:versions? )?v?(\d[^\s;]*(?:,? (?:or )?v?\d[^\s;]*)*)`)

func (g *gitLab) dependency(v *gitLabVulnerability, rule redoubt.Rule) {
	d := v.Location.Dependency
	var aliases texts
	for _, kind := range []text{"cve", "ghsa", "osvdb", "usn", "rhsa"} {
		for _, i := range v.Identifiers {
			if i.Type == kind {
				aliases = append(aliases, string(firstOf(i.Value, i.Name)))
			}
		}
	}
	if len(aliases) > 0 { // the analyzer's own ids name the file of a database
		rule.Name = text(aliases[0]).name()
	}
	a := affected{
		item: v.item, rule: rule, aliases: aliases, message: firstOf(v.Description, v.Message, v.Name).block(),
		name: d.Package.Name, version: d.Version, location: string(v.Location.File), declared: v.Location.File != "",
		kind: firstOf(g.managers[string(v.Location.File)], v.Location.OperatingSystem),
	}
	if d.Direct != nil {
		a.transitivity = transitivityOf(true, bool(*d.Direct))
	}
	if m := upgrade.FindStringSubmatch(string(v.Solution)); m != nil {
		for _, version := range strings.FieldsFunc(m[1], func(c rune) bool { return c == ',' || c == ' ' }) {
			if version = strings.Trim(version, "."); version != "or" {
				a.fixes = append(a.fixes, version)
			}
		}
	}
	g.vulnerable(a)
}

func (v *gitLabVulnerability) cwe() []string {
	var out []string
	for _, i := range v.Identifiers {
		if i.Type == "cwe" {
			out = append(out, "CWE-"+strings.TrimPrefix(i.Value.name(), "CWE-"))
		}
	}
	return distinct(out)
}

func (v *gitLabVulnerability) links() []string {
	var out texts
	for _, l := range v.Links {
		out = append(out, string(l.URL))
	}
	for _, i := range v.Identifiers {
		out = append(out, i.URL.link())
	}
	return slices.Clip(out.names())
}
