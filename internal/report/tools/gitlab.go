package tools

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/sarif"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// gitLab reads the security reports of GitLab's analyzers for code, secrets, dependencies and
// images. Results are converted at the end, because the type of the scan may follow them.
type gitLab struct {
	*native
	isReport bool
	scan     gitLabScan
	managers map[string]read.Text // package managers by lockfile
	found    []gitLabVulnerability
}

type gitLabScan struct {
	Type    read.Text `json:"type"`
	Status  read.Text `json:"status"`
	Scanner struct {
		ID      read.Text `json:"id"`
		Version read.Text `json:"version"`
		Vendor  struct {
			Name read.Text `json:"name"`
		} `json:"vendor"`
	} `json:"scanner"`
	Start   read.Text          `json:"start_time"`
	Primary []gitLabIdentifier `json:"primary_identifiers"` // rules that ran
}

type gitLabIdentifier struct {
	Type  read.Text `json:"type"`
	Name  read.Text `json:"name"`
	Value read.Text `json:"value"`
	URL   read.Text `json:"url"`
}

type gitLabVulnerability struct {
	item string

	ID          read.Text `json:"id"`
	Category    read.Text `json:"category"`
	Name        read.Text `json:"name"`
	Message     read.Text `json:"message"`
	Description read.Text `json:"description"`
	Severity    read.Text `json:"severity"`
	Confidence  read.Text `json:"confidence"`
	Solution    read.Text `json:"solution"`
	Raw         read.Text `json:"raw_source_code_extract"`
	Location    struct {
		File      read.Text   `json:"file"`
		StartLine read.Number `json:"start_line"`
		EndLine   read.Number `json:"end_line"`
		Commit    struct {
			SHA read.Text `json:"sha"`
		} `json:"commit"`
		Dependency *struct {
			Package struct {
				Name read.Text `json:"name"`
			} `json:"package"`
			Version read.Text     `json:"version"`
			Direct  *read.Boolean `json:"direct"`
		} `json:"dependency"`
		OperatingSystem read.Text `json:"operating_system"`
	} `json:"location"`
	Identifiers []gitLabIdentifier `json:"identifiers"`
	Links       []struct {
		URL read.Text `json:"url"`
	} `json:"links"`
	Details struct {
		Confidence, Exposure struct {
			Value read.Text `json:"value"`
		}
	} `json:"details"`
}

// ReadGitLab reads a GitLab security report.
func ReadGitLab(in *format.Input, o format.Options) ([]*model.Report, error) {
	g := &gitLab{native: newNative(in, o, "gitlab"), managers: map[string]read.Text{}}
	if err := g.Object("", g.member); err != nil {
		return nil, err
	}
	if !g.isReport {
		return nil, errors.New("it has no member vulnerabilities, so it is not a GitLab security report")
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
		_, err := g.Decode(name, &g.scan)
		return err
	case "vulnerabilities":
		g.isReport = true
		return g.Array(name, items(g.native, func(item string, v *gitLabVulnerability) {
			v.item = item
			g.found = append(g.found, *v)
		}))
	case "dependency_files":
		type file struct {
			Path    read.Text `json:"path"`
			Manager read.Text `json:"package_manager"`
		}
		return g.Array(name, items(g.native, func(_ string, f *file) { g.managers[string(f.Path)] = f.Manager }))
	}
	return g.Skip(name)
}

// describe sets the properties of the run. The scanner is the tool, so that its findings match
// those in other formats.
func (g *gitLab) describe() {
	if g.scan.Scanner.ID != "" {
		g.rep.Tool = sarif.ToolName(g.scan.Scanner.ID)
	}
	g.rep.ToolVersion = g.scan.Scanner.Version.Name()
	g.rep.Failed = g.scan.Status == "failure"
	g.rep.StartedAt = format.Time(g.scan.Start + "Z").Time() // GitLab's times are in UTC, without a zone
	for _, rule := range g.scan.Primary {
		g.rep.RulesRun = append(g.rep.RulesRun, rule.Rule())
	}
	g.rep.RulesRun = read.Distinct(g.rep.RulesRun)
}

func (g *gitLab) product() model.IssueType {
	switch g.scan.Type {
	case "secret_detection":
		return model.Secrets
	case "dependency_scanning", "container_scanning", "cluster_image_scanning":
		return model.SCA
	}
	return model.SAST
}

// Rule returns the name of a rule in the scanner's spelling. The values of CWE and OWASP
// identifiers are only numbers.
func (i gitLabIdentifier) Rule() string {
	if i.Type == "cwe" || i.Type == "owasp" {
		return i.Name.Name()
	}
	return cmp.Or(i.Value, i.Name).Name()
}

func (g *gitLab) result(v *gitLabVulnerability) {
	if len(v.Identifiers) == 0 {
		g.refuse(v.item, "it has no identifiers, so its rule is unknown")
		return
	}
	rule := model.Rule{
		Name: v.Identifiers[0].Rule(), URL: v.Identifiers[0].URL.Link(),
		CWE: v.cwe(), Severity: format.SeverityOf(string(v.Severity)),
		Confidence: format.ConfidenceOf(string(cmp.Or(v.Details.Confidence.Value, v.Confidence))), References: v.links(),
	}
	location := model.Location{Line: int(v.Location.StartLine), EndLine: int(v.Location.EndLine)}
	words := secrets.RuleTraits{Name: rule.Name}
	switch {
	case v.Location.Dependency != nil:
		g.dependency(v, rule)
	case g.product() == model.Secrets || v.Category == "secret_detection":
		rule.Message = cmp.Or(v.Description, v.Message, v.Name).Block()
		g.leaked(leak{
			item: v.item, rule: rule, path: string(v.Location.File),
			location: location, raw: string(v.Raw), commit: v.Location.Commit.SHA,
		})
	case words.IsSecret():
		rule.Message = rule.Name // the message may quote the secret
		g.leaked(leak{item: v.item, rule: rule, path: string(v.Location.File), location: location, raw: string(v.Raw)})
	default:
		g.code(v, rule, location)
	}
}

func (g *gitLab) code(v *gitLabVulnerability, rule model.Rule, location model.Location) {
	rule.IssueType = model.SAST
	res := model.Result{
		Item: v.item, Location: location, Message: cmp.Or(v.Message, v.Description, v.Name).Block(),
		Severity: rule.Severity, Confidence: rule.Confidence,
	}
	res.Code, res.CodeHash = format.CodeOf(v.Raw)
	if v.Details.Exposure.Value != "" { // semgrep's; it does not contain the package
		reachability, ok := model.ParseReachability(string(v.Details.Exposure.Value))
		if !ok {
			reachability = model.ReachabilityUnknown
		}
		rule.IssueType = model.SCA
		res.Dependency = &model.Vulnerable{
			Line: location.Line, Transitivity: model.TransitivityUnknown, Reachability: reachability,
			InCode: !lockfile.Is(string(v.Location.File)),
		}
	} else if g.rep.Tool == secrets.SemgrepTool && g.scan.Scanner.Vendor.Name == "Semgrep" &&
		uuid.MatchString(string(v.ID)) {
		res.SyntacticID = strings.ReplaceAll(string(v.ID), "-", "")
	}
	if made := g.AddResult(res, rule, string(v.Location.File)); made != nil && made.Dependency != nil {
		made.Dependency.Lockfile = made.Path
	}
}

// uuid matches Semgrep's syntactic id. Only the scanner's own report has it: GitLab's analyzer
// generates other ids.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// upgrade matches the versions in a solution: "Upgrade to versions 4.2.1, 5.0.2 or above."
var upgrade = regexp.MustCompile(`(?i)\bupgrade (?:\S+ )?to (?:versions? )?v?(\d[^\s;]*(?:,? (?:or )?v?\d[^\s;]*)*)`)

func (g *gitLab) dependency(v *gitLabVulnerability, rule model.Rule) {
	d := v.Location.Dependency
	var aliases read.Texts
	for _, kind := range []read.Text{"cve", "ghsa", "osvdb", "usn", "rhsa"} {
		for _, i := range v.Identifiers {
			if i.Type == kind {
				aliases = append(aliases, string(cmp.Or(i.Value, i.Name)))
			}
		}
	}
	if len(aliases) > 0 { // the analyzer's own ids name files of a database
		rule.Name = read.Text(aliases[0]).Name()
	}
	a := affected{
		item: v.item, rule: rule, aliases: aliases, message: cmp.Or(v.Description, v.Message, v.Name).Block(),
		name: d.Package.Name, version: d.Version, location: string(v.Location.File), declared: v.Location.File != "",
		kind: cmp.Or(g.managers[string(v.Location.File)], v.Location.OperatingSystem),
	}
	if d.Direct != nil {
		a.transitivity = lockfile.TransitivityOf(true, bool(*d.Direct))
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
			out = append(out, "CWE-"+strings.TrimPrefix(i.Value.Name(), "CWE-"))
		}
	}
	return read.Distinct(out)
}

func (v *gitLabVulnerability) links() []string {
	var out read.Texts
	for _, l := range v.Links {
		out = append(out, string(l.URL))
	}
	for _, i := range v.Identifiers {
		out = append(out, i.URL.Link())
	}
	return slices.Clip(out.Names())
}
