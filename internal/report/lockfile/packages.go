package lockfile

import (
	"cmp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/read"
)

// Packages are the packages of one lockfile, or of one file in a bill of
// materials, as they are read: each version once, and which asks for which.
type Packages struct {
	ecosystem   string // of those that have none of their own
	limit       int    // that is taken; full tells of more
	full        bool
	deps        []model.Dependency
	seen        map[[3]string]int // index in deps by ecosystem, name, version
	graph       graph
	unversioned []model.Dependency // that were to be added, each name once
}

// NewPackages is empty, and takes so many packages at most.
func NewPackages(limit int) *Packages { return &Packages{limit: limit} }

// Full reports whether there were more packages than may be taken.
func (p *Packages) Full() bool { return p.full }

// Add takes a dependency. The same version again counts once: as direct if it
// is ever said to be, on the first line that names it.
//
// It returns the index in deps, -1 for what is not taken.
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
	d.Version = version // the URL has the other spelling
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

// Unversioned are those that were to be added and have no version, each name once
// where it stands several times in a row.
func (p *Packages) Unversioned() []model.Dependency { return p.unversioned }

// noteUnversioned keeps what is told, unless there is more of it than packages may be.
func (p *Packages) noteUnversioned(d model.Dependency) {
	same := func(other model.Dependency) bool { return other.Name == d.Name }
	if n := len(p.unversioned); n < p.limit && (n == 0 || !same(p.unversioned[n-1])) {
		p.unversioned = append(p.unversioned, d)
	}
}

// SpellVersion is a version as scanners and advisories spell it: those of Go modules
// have no v in front there, though they do in go.mod and package URLs.
func SpellVersion(ecosystem, version string) string {
	if ecosystem == "gomod" {
		return strings.TrimPrefix(version, "v")
	}
	return version
}

// TransitivityOf is direct or transitive where the file tells which packages
// the project asked for itself, else unknown.
func TransitivityOf(told, direct bool) model.Transitivity {
	switch {
	case !told:
		return model.TransitivityUnknown
	case direct:
		return model.Direct
	}
	return model.Transitive
}
