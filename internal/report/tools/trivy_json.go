package tools

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// ReadTrivy reads Trivy's own JSON. Its packages are not an inventory: by default Trivy omits
// development packages.
func ReadTrivy(in *format.Input, o format.Options) ([]*model.Report, error) {
	n := newNative(in, o, "trivy")
	var version struct {
		Version read.Text `json:"Version"`
	}
	var created, artifact, kind read.Text
	err := n.Object("", func(name string) error {
		var err error
		switch name {
		case "Results":
			if kind == "container_image" {
				n.image = string(artifact)
			}
			return n.Array(name, n.trivyTarget)
		case "Trivy":
			_, err = n.Decode(name, &version)
		case "CreatedAt":
			_, err = n.Decode(name, &created)
		case "ArtifactName":
			_, err = n.Decode(name, &artifact)
		case "ArtifactType":
			_, err = n.Decode(name, &kind)
		default:
			err = n.Skip(name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	n.rep.ToolVersion = version.Version.Name()
	n.rep.StartedAt = format.Time(created).Time()
	if kind == "container_image" {
		format.ScopeToImage(n.rep, format.ImageName(string(artifact)), n.file)
	}
	return n.finish(model.SCA)
}

// trivyTarget is an entry of Results: a lockfile, an image or a file. Its packages contain further
// data about vulnerabilities, and may precede or follow them.
type trivyTarget struct {
	*native
	target, class, kind read.Text
	packages            map[[2]read.Text]trivyPackage // by name and version
	found               []trivyVulnerability
}

type trivyPackage struct {
	Name         read.Text    `json:"Name"`
	Version      read.Text    `json:"Version"`
	Relationship read.Text    `json:"Relationship"`
	Indirect     read.Boolean `json:"Indirect"`
	Locations    []struct {
		StartLine read.Number `json:"StartLine"`
	} `json:"Locations"`
}

func (p trivyPackage) transitivity() model.Transitivity {
	switch {
	case p.Relationship == "direct":
		return model.Direct
	case p.Relationship == "indirect", bool(p.Indirect):
		return model.Transitive
	}
	return model.TransitivityUnknown
}

type trivyVulnerability struct {
	item  string
	muted bool

	ID         read.Text  `json:"VulnerabilityID"`
	Aliases    read.Texts `json:"VendorIDs"`
	Package    read.Text  `json:"PkgName"`
	Path       read.Text  `json:"PkgPath"`
	Installed  read.Text  `json:"InstalledVersion"`
	Fixed      read.Text  `json:"FixedVersion"`
	Identifier struct {
		PURL read.Text `json:"PURL"`
	} `json:"PkgIdentifier"`
	trivyText
	CWE read.Texts `json:"CweIDs"`
}

// trivyText contains the common members of Trivy's findings.
type trivyText struct {
	Title       read.Text  `json:"Title"`
	Description read.Text  `json:"Description"`
	Severity    read.Text  `json:"Severity"`
	URL         read.Text  `json:"PrimaryURL"`
	References  read.Texts `json:"References"`
}

func (n *native) trivyTarget(item string) error {
	n.In.Build(format.RunSize)
	t := &trivyTarget{native: n, packages: map[[2]read.Text]trivyPackage{}}
	if err := n.Object(item, func(name string) error { return t.member(item, name) }); err != nil {
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
		_, err = t.Decode(where, &t.target)
	case "Class":
		_, err = t.Decode(where, &t.class)
		t.rep.Products = t.rep.Products.With(trivyProduct(t.class))
	case "Type":
		_, err = t.Decode(where, &t.kind)
	case "Packages":
		return t.Array(where, items(t.native, func(_ string, p *trivyPackage) {
			t.packages[[2]read.Text{p.Name, p.Version}] = *p
		}))
	case "Vulnerabilities":
		return t.Array(where, items(t.native, func(item string, v *trivyVulnerability) {
			v.item = item
			t.found = append(t.found, *v)
		}))
	case "Misconfigurations":
		return t.Array(where, items(t.native, t.misconfiguration))
	case "Secrets":
		return t.Array(where, items(t.native, t.secret))
	case "ExperimentalModifiedFindings":
		return t.Array(where, items(t.native, t.modified))
	default:
		err = t.Skip(where)
	}
	return err
}

// trivyModified is a finding that an ignore list or a VEX document suppressed, as written by
// --show-suppressed.
type trivyModified struct {
	Type    read.Text       `json:"Type"`
	Status  read.Text       `json:"Status"`
	Finding json.RawMessage `json:"Finding"`
}

// modified adds a suppressed finding as muted.
func (t *trivyTarget) modified(item string, m *trivyModified) {
	if m.Status == "affected" || m.Status == "under_investigation" {
		return // also listed among the others
	}
	switch m.Type {
	case "vulnerability":
		v := trivyVulnerability{item: item, muted: true}
		read.Loosely(m.Finding, &v)
		t.found = append(t.found, v)
	case "misconfiguration":
		var c trivyMisconfiguration
		read.Loosely(m.Finding, &c)
		t.mutedIf(true, func() { t.misconfiguration(item, &c) })
	case "secret":
		var s trivySecret
		read.Loosely(m.Finding, &s)
		t.mutedIf(true, func() { t.secret(item, &s) })
	}
}

// mutedIf marks the results that add adds as muted if muted is true.
func (t *trivyTarget) mutedIf(muted bool, add func()) {
	from := len(t.rep.Results)
	add()
	for i := range t.rep.Results[from:] {
		r := &t.rep.Results[from+i]
		r.Muted, r.MutedOutside = muted || r.Muted, muted || r.MutedOutside
	}
}

// trivyProduct returns the product of a class of targets.
func trivyProduct(class read.Text) model.IssueType {
	switch class {
	case "config":
		return model.SAST
	case "secret":
		return model.Secrets
	}
	return model.SCA
}

func (t *trivyTarget) vulnerability(v *trivyVulnerability) {
	p := t.packages[[2]read.Text{v.Package, v.Installed}]
	line := 0
	if len(p.Locations) > 0 {
		line = int(p.Locations[0].StartLine)
	}
	t.vulnerable(affected{
		item: v.item, aliases: v.Aliases, purl: v.Identifier.PURL, kind: t.kind, name: v.Package, version: v.Installed,
		location: string(cmp.Or(v.Path, t.target)), line: line,
		fixes: strings.Split(string(v.Fixed), ","), transitivity: p.transitivity(),
		message: cmp.Or(v.Description, v.Title).Block(),
		rule: model.Rule{
			Name: v.ID.Name(), CWE: v.CWE.Names(), Severity: format.SeverityOf(string(v.Severity)),
			URL: v.URL.Link(), References: v.References.Names(),
		},
	})
}

type trivyMisconfiguration struct {
	ID      read.Text `json:"ID"`
	Status  read.Text `json:"Status"`
	Message read.Text `json:"Message"`
	Cause   struct {
		StartLine read.Number `json:"StartLine"`
		EndLine   read.Number `json:"EndLine"`
		Code      trivyCode   `json:"Code"`
	} `json:"CauseMetadata"`
	trivyText
}

type trivyCode struct {
	Lines []struct {
		Content read.Text    `json:"Content"`
		IsCause read.Boolean `json:"IsCause"`
	} `json:"Lines"`
}

// cause returns the lines that cause the finding, without context.
func (c trivyCode) cause() read.Text {
	var lines []string
	for _, l := range c.Lines {
		if l.IsCause {
			lines = append(lines, string(l.Content))
		}
	}
	return read.Text(strings.Join(lines, "\n"))
}

func (t *trivyTarget) misconfiguration(item string, m *trivyMisconfiguration) {
	if m.Status == "PASS" {
		return
	}
	code, hash := format.CodeOf(m.Cause.Code.cause())
	t.AddResult(model.Result{
		Item: item, Location: model.Location{Line: int(m.Cause.StartLine), EndLine: int(m.Cause.EndLine)},
		Message:  cmp.Or(m.Message, m.Title).Block(),
		Severity: format.SeverityOf(string(m.Severity)), Code: code, CodeHash: hash,
		Muted: m.Status == "EXCEPTION", MutedOutside: m.Status == "EXCEPTION",
	}, model.Rule{
		Name: m.ID.Name(), IssueType: model.SAST, Message: m.Description.Block(),
		Severity: format.SeverityOf(string(m.Severity)),
		URL:      m.URL.Link(), References: m.References.Names(),
	}, string(t.target))
}

type trivySecret struct {
	Rule      read.Text   `json:"RuleID"`
	StartLine read.Number `json:"StartLine"`
	EndLine   read.Number `json:"EndLine"`
	Match     read.Text   `json:"Match"` // the line, with asterisks in place of the secret
	trivyText
}

func (t *trivyTarget) secret(item string, s *trivySecret) {
	t.leaked(leak{
		item: item, path: string(t.target), raw: string(s.Match),
		rule:     model.Rule{Name: s.Rule.Name(), Message: s.Title.Block(), Severity: format.SeverityOf(string(s.Severity))},
		location: model.Location{Line: int(s.StartLine), EndLine: int(s.EndLine)},
	})
}
