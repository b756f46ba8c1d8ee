package lockfile

import (
	"cmp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/read"
)

// Packages collects the distinct packages of a lockfile, or of a file in a bill of materials. It
// includes the requirements between them.
type Packages struct {
	ecosystem   string // default ecosystem
	limit       int    // maximum number of packages; full is set if there are more
	full        bool
	deps        []model.Dependency
	seen        map[[3]string]int // index in deps by ecosystem, name, version
	graph       graph
	unversioned []model.Dependency // packages without a version, without consecutive duplicates
}

// NewPackages returns an empty Packages with a limit.
func NewPackages(limit int) *Packages { return &Packages{limit: limit} }

// Full reports whether packages were dropped because of the limit.
func (p *Packages) Full() bool { return p.full }

// Add adds a dependency and returns its index in deps, or -1 if it was not added. A duplicate is
// merged: it is direct if any occurrence is, and has the line of the first.
func (p *Packages) Add(d model.Dependency) int {
	d.Ecosystem = cmp.Or(d.Ecosystem, p.ecosystem)
	d.Name, d.Version = read.Text(d.Name).Name(), read.Text(d.Version).Name()
	version := SpellVersion(d.Ecosystem, d.Version)
	if d.Name == "" || version == "" {
		if d.Name != "" {
			p.noteUnversioned(d)
		}
		return -1
	}
	if d.Transitivity == 0 {
		d.Transitivity = model.TransitivityUnknown
	}
	if d.Licenses = read.Texts(d.Licenses).Names(); d.Licenses == nil {
		d.Licenses = []string{}
	}
	if d.PURL == "" {
		d.PURL = purl.Of(d.Ecosystem, d.Name, d.Version)
	}
	d.Version = version // the URL has the original spelling
	key := [3]string{d.Ecosystem, d.Name, d.Version}
	if i, ok := p.seen[key]; ok {
		if d.Transitivity == model.Direct {
			p.deps[i].Transitivity = model.Direct
		}
		return i
	}
	if len(p.deps) >= p.limit {
		p.full = true
		return -1
	}
	if p.seen == nil {
		p.seen = map[[3]string]int{}
	}
	p.seen[key] = len(p.deps)
	p.deps = append(p.deps, d)
	return len(p.deps) - 1
}

// Unversioned returns the packages that were not added because they have no version, without
// consecutive duplicates.
func (p *Packages) Unversioned() []model.Dependency { return p.unversioned }

// noteUnversioned stores a package without a version, up to the limit.
func (p *Packages) noteUnversioned(d model.Dependency) {
	same := func(other model.Dependency) bool { return other.Name == d.Name }
	if n := len(p.unversioned); n < p.limit && (n == 0 || !same(p.unversioned[n-1])) {
		p.unversioned = append(p.unversioned, d)
	}
}

// SpellVersion returns a version as scanners and advisories write it: without the leading v of Go
// modules.
func SpellVersion(ecosystem, version string) string {
	if ecosystem == "gomod" {
		return strings.TrimPrefix(version, "v")
	}
	return version
}

// TransitivityOf returns direct or transitive if the file contains that information, otherwise
// unknown.
func TransitivityOf(known, direct bool) model.Transitivity {
	switch {
	case !known:
		return model.TransitivityUnknown
	case direct:
		return model.Direct
	}
	return model.Transitive
}
