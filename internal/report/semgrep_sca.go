package report

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// semgrepSCA is what makes a result one of the supply chain.
type semgrepSCA struct {
	Reachable boolean `json:"reachable"`
	Match     struct {
		Found struct {
			Package      text   `json:"package"`
			Version      text   `json:"version"`
			Ecosystem    text   `json:"ecosystem"`
			Transitivity text   `json:"transitivity"`
			Lockfile     text   `json:"lockfile_path"`
			Line         number `json:"line_number"`
		} `json:"found_dependency"`
		Lockfile text `json:"lockfile"`
	} `json:"dependency_match"`
	Kind json.RawMessage `json:"kind"` // a word, or a list of a word and details
}

// dependency returns the package that a result is about.
func (s *semgrep) dependency(m *semgrepResult, rule *semgrepRule, path string) *redoubt.Vulnerable {
	sca := m.Extra.SCA
	found := sca.Match.Found
	lockfile, err := s.checkout.path(string(firstOf(sca.Match.Lockfile, found.Lockfile)))
	if err != nil {
		lockfile = path
	}
	transitivity, ok := redoubt.ParseTransitivity(string(found.Transitivity))
	if !ok {
		transitivity = redoubt.TransitivityUnknown
	}
	return &redoubt.Vulnerable{
		Ecosystem:     found.Ecosystem.name(),
		Package:       found.Package.name(),
		Version:       found.Version.name(),
		Transitivity:  transitivity,
		Lockfile:      lockfile,
		Line:          int(found.Line),
		Vulnerability: rule.meta.SCAVulnerability.name(),
		Reachability:  rule.reachability(sca),
		Malicious:     rule.meta.SCAKind == "malicious",
		Fixes:         rule.meta.SCAFixes,
		InCode:        path != lockfile,
	}
}

// reachability follows semantics §4: what kind of rule it is comes first, then
// what the scanner found.
func (r *semgrepRule) reachability(sca *semgrepSCA) redoubt.Reachability {
	switch r.meta.SCAKind {
	case "upgrade-only", "malicious":
		return redoubt.AlwaysReachable
	case "legacy":
		return redoubt.ReachabilityUnknown
	}
	var kind texts
	loosely(sca.Kind, &kind)
	switch {
	case kind.first() == "TransitiveUndetermined":
		return redoubt.ReachabilityUnknown
	case bool(sca.Reachable):
		return redoubt.Reachable
	}
	return redoubt.Unreachable
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
