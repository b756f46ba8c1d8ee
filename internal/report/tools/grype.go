package tools

import (
	"cmp"
	"encoding/json"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// grypeMatch is an entry of matches: a vulnerability and the affected package.
type grypeMatch struct {
	Vulnerability struct {
		ID          read.Text  `json:"id"`
		DataSource  read.Text  `json:"dataSource"`
		Severity    read.Text  `json:"severity"`
		URLs        read.Texts `json:"urls"`
		Description read.Text  `json:"description"`
		Fix         struct {
			Versions read.Texts `json:"versions"`
		} `json:"fix"`
		CWEs []struct {
			CWE read.Text `json:"cwe"`
		} `json:"cwes"`
	} `json:"vulnerability"`
	Related []struct {
		ID          read.Text `json:"id"`
		Description read.Text `json:"description"`
	} `json:"relatedVulnerabilities"`
	Artifact struct {
		Name      read.Text `json:"name"`
		Version   read.Text `json:"version"`
		Type      read.Text `json:"type"`
		PURL      read.Text `json:"purl"`
		Locations []struct {
			Path read.Text `json:"path"`
		} `json:"locations"`
	} `json:"artifact"`
}

// ReadGrype reads Grype's own JSON. Ignored matches are muted.
func ReadGrype(in *format.Input, o format.Options) ([]*model.Report, error) {
	n := newNative(in, o, "grype")
	var descriptor struct {
		Version   read.Text   `json:"version"`
		Timestamp format.Time `json:"timestamp"`
	}
	image := ""
	err := n.Object("", func(name string) error {
		switch name {
		case "matches":
			return n.Array(name, items(n, n.grype))
		case "ignoredMatches":
			from := len(n.rep.Results)
			err := n.Array(name, items(n, n.grype))
			for i := range n.rep.Results[from:] {
				n.rep.Results[from+i].Muted, n.rep.Results[from+i].MutedOutside = true, true
			}
			return err
		case "source":
			source, err := n.grypeSource(name)
			image = source
			return err
		case "descriptor":
			_, err := n.Decode(name, &descriptor)
			return err
		}
		return n.Skip(name)
	})
	if err != nil {
		return nil, err
	}
	n.rep.ToolVersion, n.rep.StartedAt = descriptor.Version.Name(), descriptor.Timestamp.Time()
	format.ScopeToImage(n.rep, image, n.file)
	return n.finish(model.SCA)
}

// grypeSource reads the scanned source and returns the name of an image, or "".
func (n *native) grypeSource(item string) (image string, err error) {
	var source struct {
		Type   read.Text       `json:"type"`
		Target json.RawMessage `json:"target"` // a path for a folder
	}
	if _, err = n.Decode(item, &source); err != nil || source.Type != "image" {
		return "", err
	}
	var target struct {
		Input read.Text `json:"userInput"`
	}
	read.Loosely(source.Target, &target)
	return format.ImageOfInput(string(target.Input)), nil
}

func (n *native) grype(item string, m *grypeMatch) {
	v := m.Vulnerability
	a := affected{
		item: item, purl: m.Artifact.PURL, kind: m.Artifact.Type, name: m.Artifact.Name, version: m.Artifact.Version,
		fixes: v.Fix.Versions, message: v.Description.Block(),
		rule: model.Rule{
			Name: v.ID.Name(), Severity: format.SeverityOf(string(v.Severity)),
			URL: v.DataSource.Link(), References: v.URLs.Names(),
		},
	}
	for _, cwe := range v.CWEs {
		a.rule.CWE = append(a.rule.CWE, cwe.CWE.Name())
	}
	a.rule.CWE = read.Texts(a.rule.CWE).Names()
	for _, related := range m.Related {
		a.aliases = append(a.aliases, string(related.ID))
		a.message = cmp.Or(a.message, related.Description.Block())
	}
	for _, l := range m.Artifact.Locations {
		if a.location = string(l.Path); lockfile.Is(a.location) {
			break
		}
	}
	n.vulnerable(a)
}
