package report

import "github.com/redoubt/redoubt"

// grypeMatch is one of matches: a vulnerability and the package that has it.
type grypeMatch struct {
	Vulnerability struct {
		ID          text  `json:"id"`
		DataSource  text  `json:"dataSource"`
		Severity    text  `json:"severity"`
		URLs        texts `json:"urls"`
		Description text  `json:"description"`
		Fix         struct {
			Versions texts `json:"versions"`
		} `json:"fix"`
		CWEs []struct {
			CWE text `json:"cwe"`
		} `json:"cwes"`
	} `json:"vulnerability"`
	Related []struct {
		ID          text `json:"id"`
		Description text `json:"description"`
	} `json:"relatedVulnerabilities"`
	Artifact struct {
		Name      text `json:"name"`
		Version   text `json:"version"`
		Type      text `json:"type"`
		PURL      text `json:"purl"`
		Locations []struct {
			Path text `json:"path"`
		} `json:"locations"`
	} `json:"artifact"`
}

// readGrype reads Grype's own JSON. What it was told to ignore is muted.
func readGrype(in *input, o Options) ([]*redoubt.Report, error) {
	n := newNative(in, o, "grype")
	var descriptor struct {
		Version   text      `json:"version"`
		Timestamp sarifTime `json:"timestamp"`
	}
	err := n.object("", func(name string) error {
		switch name {
		case "matches":
			return n.array(name, items(n, n.grype))
		case "ignoredMatches":
			from := len(n.rep.Results)
			err := n.array(name, items(n, n.grype))
			for i := range n.rep.Results[from:] {
				n.rep.Results[from+i].Muted = true
			}
			return err
		case "descriptor":
			_, err := n.decode(name, &descriptor)
			return err
		}
		return n.skip(name)
	})
	if err != nil {
		return nil, err
	}
	n.rep.ToolVersion, n.rep.StartedAt = descriptor.Version.name(), descriptor.Timestamp.time()
	return n.finish(redoubt.SCA)
}

func (n *native) grype(item string, m *grypeMatch) {
	v := m.Vulnerability
	a := affected{
		item: item, purl: m.Artifact.PURL, kind: m.Artifact.Type, name: m.Artifact.Name, version: m.Artifact.Version,
		fixes: v.Fix.Versions, message: v.Description.block(),
		rule: redoubt.Rule{
			Name: v.ID.name(), Severity: severityOf(string(v.Severity)), URL: v.DataSource.link(), References: v.URLs.names(),
		},
	}
	for _, cwe := range v.CWEs {
		a.rule.CWE = append(a.rule.CWE, cwe.CWE.name())
	}
	a.rule.CWE = texts(a.rule.CWE).names()
	for _, related := range m.Related {
		a.aliases = append(a.aliases, string(related.ID))
		a.message = firstOf(a.message, related.Description.block())
	}
	for _, l := range m.Artifact.Locations {
		if a.location = string(l.Path); lockfileFor(a.location) != nil {
			break
		}
	}
	n.vulnerable(a)
}
