package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/version"
)

// versionMatcher matches package names and versions against a filter
// (docs/reference/dependencies.md). Names are matched before versions.
type versionMatcher struct {
	ecosystems []string // empty: any
	part       string   // part of the name in lower case; empty: any
	exact      string   // exact version; empty: any
	packages   []packageMatcher
}

// packageMatcher matches one entry of a filter's packages.
type packageMatcher struct {
	model.PackageFilter
	part   string // part of the name in lower case
	bounds version.Range
	in     map[string]func(string) bool // the bounds parsed per ecosystem
}

// newVersionMatcher returns a matcher for the ecosystems, names and versions of a filter, or nil if
// it has none. The error names each invalid bound.
func newVersionMatcher(f model.DependencyFilter) (*versionMatcher, error) {
	if f.Name == "" && f.Version == "" && len(f.Packages) == 0 && len(f.Ecosystems) == 0 {
		return nil, nil
	}
	m := &versionMatcher{ecosystems: f.Ecosystems, part: strings.ToLower(f.Name), exact: f.Version}
	var bad model.InvalidError
	for i, p := range f.Packages {
		pm := packageMatcher{PackageFilter: p, part: strings.ToLower(p.Name), in: map[string]func(string) bool{}}
		for _, side := range []struct{ member, lower, upper string }{
			{"versionLowerBound", p.Lower, ""}, {"versionUpperBound", "", p.Upper},
		} {
			if _, err := version.ParseRange(side.lower, side.upper); err != nil {
				bad.Fields = append(bad.Fields, model.FieldError{
					Location: fmt.Sprintf("body.dependencyFilter.packageFilters[%d].%s", i, side.member),
					Message:  err.Error(), Value: side.lower + side.upper,
				})
			}
		}
		pm.bounds, _ = version.ParseRange(p.Lower, p.Upper) // errors were reported above
		m.packages = append(m.packages, pm)
	}
	if len(bad.Fields) > 0 {
		return nil, &bad
	}
	return m, nil
}

// name reports whether versions of a package may match.
func (m *versionMatcher) name(ecosystem, name string) bool {
	if len(m.ecosystems) > 0 && !slices.Contains(m.ecosystems, ecosystem) {
		return false
	}
	lower := strings.ToLower(name)
	if !strings.Contains(lower, m.part) {
		return false
	}
	for i := range m.packages {
		if m.packages[i].name(name, lower) {
			return true
		}
	}
	return len(m.packages) == 0
}

// version reports whether a version matches, given that the package's name does.
func (m *versionMatcher) version(ecosystem, name, v string) bool {
	if m.exact != "" && m.exact != v {
		return false
	}
	lower := strings.ToLower(name)
	for i := range m.packages {
		if p := &m.packages[i]; p.name(name, lower) && p.version(ecosystem, v) {
			return true
		}
	}
	return len(m.packages) == 0
}

func (p *packageMatcher) name(name, lower string) bool {
	if p.ExactName && p.Name != "" {
		return name == p.Name
	}
	return strings.Contains(lower, p.part)
}

func (p *packageMatcher) version(ecosystem, v string) bool {
	if p.Ecosystem != "" && p.Ecosystem != ecosystem {
		return false
	}
	if p.Version != "" {
		return v == p.Version
	}
	within, known := p.in[ecosystem]
	if !known {
		within = p.bounds.In(ecosystem)
		p.in[ecosystem] = within
	}
	return within(v)
}
