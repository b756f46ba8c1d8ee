package lockfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/read"
)

// uvLock is a uv.lock file.
type uvLock struct {
	Version  int
	Requires string `toml:"requires-python"`
	Packages []struct {
		uvNeeds
		Name, Version string
		Source        map[string]any
		SDist         uvFile
		Wheels        []uvFile
	} `toml:"package"`
}

type uvFile struct{ Hash string }

// readUVLock reads uv.lock. Packages in local folders are omitted, and their requirements are
// direct.
func readUVLock(l *lock) error {
	var lockfile uvLock
	if err := l.toml(&lockfile); err != nil {
		return err
	}
	if lockfile.Version == 0 || lockfile.Requires == "" {
		return read.NotA("uv.lock", "it lacks version or requires-python")
	}
	direct, listed := map[string]bool{}, map[string]bool{}
	for _, p := range lockfile.Packages {
		listed[p.Name] = true
	}
	own := map[int]bool{}
	for i, p := range lockfile.Packages {
		if p.Name == "" || p.Source == nil {
			return read.CutOff("package %d lacks its name or source", i+1)
		}
		for _, d := range p.Dependencies {
			if !listed[d.Name] { // uv writes complete graphs only
				return read.CutOff("%s needs %s, which is not listed", p.Name, d.Name)
			}
		}
		if own[i] = isOwnFolder(p.Source); !own[i] {
			continue
		}
		for _, r := range p.all() {
			direct[purl.PyPIName(r.Name)] = true
		}
	}
	lines := l.nameLines("[[package]]")
	for i, p := range lockfile.Packages {
		if own[i] {
			continue
		}
		hashes := []string{p.SDist.Hash}
		for _, wheel := range p.Wheels {
			hashes = append(hashes, wheel.Hash)
		}
		name := purl.PyPIName(p.Name)
		l.Node(model.Dependency{
			Name: name, Version: p.Version, Line: lineOf(lines, i), Hashes: prefixedHashes(hashes),
			Transitivity: TransitivityOf(len(direct) > 0, direct[name]),
		}, name+" "+p.Version, name)
		p.addEdges(l, name+" "+p.Version)
	}
	return nil
}

// isOwnFolder reports whether a package of uv.lock is in a local folder.
func isOwnFolder(source map[string]any) bool {
	for _, kind := range []string{"virtual", "editable", "directory"} {
		if _, is := source[kind]; is {
			return true
		}
	}
	return false
}

// uvNeeds are the requirements of a package in uv.lock.
type uvNeeds struct {
	Dependencies []uvReference
	Optional     map[string][]uvReference `toml:"optional-dependencies"`
	Dev          map[string][]uvReference `toml:"dev-dependencies"`
}

// uvReference has a version if several packages have the name.
type uvReference struct{ Name, Version string }

// addEdges adds the requirements of a package.
func (n uvNeeds) addEdges(l *lock, from string) {
	for _, to := range n.all() {
		l.AddEdge(from, strings.TrimSpace(purl.PyPIName(to.Name)+" "+to.Version))
	}
}

// all returns all requirements, including those of groups.
func (n uvNeeds) all() []uvReference {
	wanted := slices.Clip(n.Dependencies)
	for _, group := range []map[string][]uvReference{n.Optional, n.Dev} {
		for _, name := range slices.Sorted(maps.Keys(group)) {
			wanted = append(wanted, group[name]...)
		}
	}
	return wanted
}

// readPylock reads pylock.toml (PEP 751), which does not contain the transitivity.
func readPylock(l *lock) error {
	type file struct{ Hashes map[string]string }
	var lockfile struct {
		Version  string `toml:"lock-version"`
		Packages []struct {
			Name, Version string
			SDist         file
			Archive       file
			Wheels        []file
			Directory     map[string]any
		}
	}
	if err := l.toml(&lockfile); err != nil {
		return err
	}
	if lockfile.Version == "" || lockfile.Packages == nil {
		return read.NotA("pylock.toml", "it lacks lock-version or packages")
	}
	lines := l.nameLines("[[packages]]")
	for i, p := range lockfile.Packages {
		if p.Name == "" {
			return read.CutOff("package %d lacks its name", i+1)
		}
		d := model.Dependency{Name: purl.PyPIName(p.Name), Version: p.Version, Line: lineOf(lines, i)}
		for _, f := range append([]file{p.SDist, p.Archive}, p.Wheels...) {
			for _, algorithm := range slices.Sorted(maps.Keys(f.Hashes)) {
				if sum := f.Hashes[algorithm]; read.IsHex(sum) {
					d.Hashes = append(d.Hashes, model.Hash{Algorithm: read.HashName(algorithm), Hex: sum})
				}
			}
		}
		switch {
		case d.Version != "":
			l.Add(d)
		case p.Directory == nil: // packages in local folders are omitted
			l.refuse(d.Name, "it has no version: its source is a repository or a URL")
		}
	}
	return nil
}
