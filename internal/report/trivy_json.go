package report

import (
	"encoding/json"
	"strings"

	"github.com/redoubt/redoubt"
)

// readTrivy reads Trivy's own JSON. Its packages are no inventory: Trivy leaves
// out those of development unless told otherwise, so the list is not all that
// the lockfile holds.
func readTrivy(in *input, o Options) ([]*redoubt.Report, error) {
	n := newNative(in, o, "trivy")
	var version struct {
		Version text `json:"Version"`
	}
	var created text
	err := n.object("", func(name string) error {
		var err error
		switch name {
		case "Results":
			return n.array(name, n.trivyTarget)
		case "Trivy":
			_, err = n.decode(name, &version)
		case "CreatedAt":
			_, err = n.decode(name, &created)
		default:
			err = n.skip(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	n.rep.ToolVersion = version.Version.name()
	n.rep.StartedAt = sarifTime(created).time()
	return n.finish(redoubt.SCA)
}

// trivyTarget is one of Results: a lockfile, an image, a file. Its packages
// tell more of its vulnerabilities, and may come before or after them.
type trivyTarget struct {
	*native
	target, class, kind text
	packages            map[[2]text]trivyPackage // by name and version
	found               []trivyVulnerability
}

type trivyPackage struct {
	Name         text    `json:"Name"`
	Version      text    `json:"Version"`
	Relationship text    `json:"Relationship"`
	Indirect     boolean `json:"Indirect"`
	Locations    []struct {
		StartLine number `json:"StartLine"`
	} `json:"Locations"`
}

func (p trivyPackage) transitivity() redoubt.Transitivity {
	switch {
	case p.Relationship == "direct":
		return redoubt.Direct
	case p.Relationship == "indirect", bool(p.Indirect):
		return redoubt.Transitive
	}
	return redoubt.TransitivityUnknown
}

type trivyVulnerability struct {
	item  string
	muted bool

	ID         text  `json:"VulnerabilityID"`
	Aliases    texts `json:"VendorIDs"`
	Package    text  `json:"PkgName"`
	Path       text  `json:"PkgPath"`
	Installed  text  `json:"InstalledVersion"`
	Fixed      text  `json:"FixedVersion"`
	Identifier struct {
		PURL text `json:"PURL"`
	} `json:"PkgIdentifier"`
	trivyText
	CWE texts `json:"CweIDs"`
}

// trivyText is what all of Trivy's findings have.
type trivyText struct {
	Title       text  `json:"Title"`
	Description text  `json:"Description"`
	Severity    text  `json:"Severity"`
	URL         text  `json:"PrimaryURL"`
	References  texts `json:"References"`
}

func (n *native) trivyTarget(item string) error {
	t := &trivyTarget{native: n, packages: map[[2]text]trivyPackage{}}
	if err := n.object(item, func(name string) error { return t.member(item, name) }); err != nil {
		return err
	}
	for i := range t.found {
		t.mutedIf(t.found[i].muted, func() { t.vulnerability(&t.found[i]) })
	}
	return nil
}

func (t *trivyTarget) member(item, name string) error {
	where := item + "." + name
	var err error
	switch name {
	case "Target":
		_, err = t.decode(where, &t.target)
	case "Class":
		_, err = t.decode(where, &t.class)
		t.rep.Products = t.rep.Products.With(trivyProduct(t.class))
	case "Type":
		_, err = t.decode(where, &t.kind)
	case "Packages":
		return t.array(where, items(t.native, func(_ string, p *trivyPackage) { t.packages[[2]text{p.Name, p.Version}] = *p }))
	case "Vulnerabilities":
		return t.array(where, items(t.native, func(item string, v *trivyVulnerability) {
			v.item = item
			t.found = append(t.found, *v)
		}))
	case "Misconfigurations":
		return t.array(where, items(t.native, t.misconfiguration))
	case "Secrets":
		return t.array(where, items(t.native, t.secret))
	case "ExperimentalModifiedFindings":
		return t.array(where, items(t.native, t.modified))
	default:
		err = t.skip(where)
	}
	return err
}

// trivyModified is a finding that a list of exceptions or a VEX document took
// out: what --show-suppressed shows.
type trivyModified struct {
	Type    text            `json:"Type"`
	Status  text            `json:"Status"`
	Finding json.RawMessage `json:"Finding"`
}

// modified takes what was taken out as muted.
func (t *trivyTarget) modified(item string, m *trivyModified) {
	if m.Status == "affected" || m.Status == "under_investigation" {
		return // it stands among the others
	}
	switch m.Type {
	case "vulnerability":
		v := trivyVulnerability{item: item, muted: true}
		loosely(m.Finding, &v)
		t.found = append(t.found, v)
	case "misconfiguration":
		var c trivyMisconfiguration
		loosely(m.Finding, &c)
		t.mutedIf(true, func() { t.misconfiguration(item, &c) })
	case "secret":
		var s trivySecret
		loosely(m.Finding, &s)
		t.mutedIf(true, func() { t.secret(item, &s) })
	}
}

// mutedIf marks the results that take adds.
func (t *trivyTarget) mutedIf(muted bool, take func()) {
	from := len(t.rep.Results)
	take()
	for i := range t.rep.Results[from:] {
		t.rep.Results[from+i].Muted = muted || t.rep.Results[from+i].Muted
	}
}

// trivyProduct is what a class of targets was searched for.
func trivyProduct(class text) redoubt.IssueType {
	switch class {
	case "config":
		return redoubt.SAST
	case "secret":
		return redoubt.Secrets
	}
	return redoubt.SCA
}

func (t *trivyTarget) vulnerability(v *trivyVulnerability) {
	p := t.packages[[2]text{v.Package, v.Installed}]
	line := 0
	if len(p.Locations) > 0 {
		line = int(p.Locations[0].StartLine)
	}
	t.vulnerable(affected{
		item: v.item, aliases: v.Aliases, purl: v.Identifier.PURL, kind: t.kind, name: v.Package, version: v.Installed,
		location: string(firstOf(v.Path, t.target)), line: line, fixes: strings.Split(string(v.Fixed), ","), transitivity: p.transitivity(),
		message: firstOf(v.Description, v.Title).block(),
		rule: redoubt.Rule{
			Name: v.ID.name(), CWE: v.CWE.names(), Severity: severityOf(string(v.Severity)), URL: v.URL.link(), References: v.References.names(),
		},
	})
}

type trivyMisconfiguration struct {
	ID      text `json:"ID"`
	Status  text `json:"Status"`
	Message text `json:"Message"`
	Cause   struct {
		StartLine number    `json:"StartLine"`
		EndLine   number    `json:"EndLine"`
		Code      trivyCode `json:"Code"`
	} `json:"CauseMetadata"`
	trivyText
}

type trivyCode struct {
	Lines []struct {
		Content text    `json:"Content"`
		IsCause boolean `json:"IsCause"`
	} `json:"Lines"`
}

// cause is the lines that are at fault, without those around them.
func (c trivyCode) cause() string {
	var lines []string
	for _, l := range c.Lines {
		if l.IsCause {
			lines = append(lines, string(l.Content))
		}
	}
	return text(strings.Join(lines, "\n")).block()
}

func (t *trivyTarget) misconfiguration(item string, m *trivyMisconfiguration) {
	if m.Status == "PASS" {
		return
	}
	t.take(redoubt.Result{
		Item: item, Location: redoubt.Location{Line: int(m.Cause.StartLine), EndLine: int(m.Cause.EndLine)},
		Message: firstOf(m.Message, m.Title).block(), Severity: severityOf(string(m.Severity)), Code: m.Cause.Code.cause(),
		Muted: m.Status == "EXCEPTION",
	}, redoubt.Rule{
		Name: m.ID.name(), IssueType: redoubt.SAST, Message: m.Description.block(), Severity: severityOf(string(m.Severity)),
		URL: m.URL.link(), References: m.References.names(),
	}, string(t.target))
}

type trivySecret struct {
	Rule      text   `json:"RuleID"`
	StartLine number `json:"StartLine"`
	EndLine   number `json:"EndLine"`
	Match     text   `json:"Match"` // the line, with asterisks for the secret
	trivyText
}

func (t *trivyTarget) secret(item string, s *trivySecret) {
	t.leaked(leak{
		item: item, path: string(t.target), raw: string(s.Match),
		rule:     redoubt.Rule{Name: s.Rule.name(), Message: s.Title.block(), Severity: severityOf(string(s.Severity))},
		location: redoubt.Location{Line: int(s.StartLine), EndLine: int(s.EndLine)},
	})
}
