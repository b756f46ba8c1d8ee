package semgrep

import (
	"cmp"
	"encoding/json"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// semgrepSCA marks a result as a supply-chain result.
type semgrepSCA struct {
	Reachable read.Boolean `json:"reachable"`
	Match     struct {
		Found struct {
			Package      read.Text   `json:"package"`
			Version      read.Text   `json:"version"`
			Ecosystem    read.Text   `json:"ecosystem"`
			Transitivity read.Text   `json:"transitivity"`
			Lockfile     read.Text   `json:"lockfile_path"`
			Line         read.Number `json:"line_number"`
		} `json:"found_dependency"`
		Lockfile read.Text `json:"lockfile"`
	} `json:"dependency_match"`
	Kind json.RawMessage `json:"kind"` // a word, or a list of a word and details
}

// dependency returns the vulnerable package of a result.
func (s *semgrep) dependency(m *semgrepResult, rule *semgrepRule, path string) *model.Vulnerable {
	sca := m.Extra.SCA
	found := sca.Match.Found
	lockfile, err := s.checkout.Path(string(cmp.Or(sca.Match.Lockfile, found.Lockfile)))
	if err != nil {
		lockfile = path
	}
	transitivity, ok := model.ParseTransitivity(string(found.Transitivity))
	if !ok {
		transitivity = model.TransitivityUnknown
	}
	return &model.Vulnerable{
		Ecosystem:     found.Ecosystem.Name(),
		Package:       found.Package.Name(),
		Version:       found.Version.Name(),
		Transitivity:  transitivity,
		Lockfile:      lockfile,
		Line:          int(found.Line),
		Vulnerability: rule.meta.SCAVulnerability.Name(),
		Reachability:  rule.reachability(sca),
		Malicious:     rule.meta.SCAKind == "malicious",
		Fixes:         rule.meta.SCAFixes,
		InCode:        path != lockfile,
	}
}

// reachability returns the reachability by the kind of rule, or else by the scanner's result
// (docs/reference/findings.md).
func (r *semgrepRule) reachability(sca *semgrepSCA) model.Reachability {
	switch r.meta.SCAKind {
	case "upgrade-only", "malicious":
		return model.AlwaysReachable
	case "legacy":
		return model.ReachabilityUnknown
	}
	var kind read.Texts
	read.Loosely(sca.Kind, &kind)
	switch {
	case kind.First() == "TransitiveUndetermined":
		return model.ReachabilityUnknown
	case bool(sca.Reachable):
		return model.Reachable
	}
	return model.Unreachable
}
