package lockfile

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// npmPackage is an entry of package-lock.json in any version of the format.
type npmPackage struct {
	Name                 read.Text           `json:"name"`
	Version              read.Text           `json:"version"`
	Integrity            read.Text           `json:"integrity"`
	License              json.RawMessage     `json:"license"`
	Licenses             json.RawMessage     `json:"licenses"`
	Link                 read.Boolean        `json:"link"`
	Dependencies         map[string]npmLoose `json:"dependencies"`
	DevDependencies      map[string]npmLoose `json:"devDependencies"`
	OptionalDependencies map[string]npmLoose `json:"optionalDependencies"`
	PeerDependencies     map[string]npmLoose `json:"peerDependencies"`
}

// npmLoose discards a value, so that only its key is used.
type npmLoose struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (npmLoose) UnmarshalJSON([]byte) error { return nil }

// readPackageLock reads package-lock.json and npm-shrinkwrap.json of versions 1 to 3. Versions 2
// and 3 list packages by folder, including the project and its workspaces, whose requirements are
// direct. Version 1 nests dependencies and does not contain the transitivity.
func readPackageLock(l *lock) error {
	r := &packageLock{lock: l, objectWalker: newObjectWalker(l.Data), direct: map[string]bool{}}
	if err := r.document(); err != nil {
		return err
	}
	if r.version == "" && !slices.ContainsFunc(r.entries, func(e npmEntry) bool { return e.dep.Version != "" }) {
		return read.NotA("package-lock", "it has neither a lockfileVersion nor dependencies with versions")
	}
	for _, e := range r.entries {
		e.dep.Transitivity = TransitivityOf(r.hasPackages, r.direct[e.folder])
		l.Node(e.dep, e.folder)
	}
	for _, e := range r.entries {
		for _, name := range e.requires {
			l.addNearestEdge(e.folder, "/node_modules/", name)
		}
	}
	return nil
}

type packageLock struct {
	*lock
	*objectWalker
	version     read.Text // version of the format; empty before npm 5
	hasPackages bool
	direct      map[string]bool // folders of direct packages
	entries     []npmEntry
	nested      []npmEntry
	depth       int    // current depth of nested
	within      string // folder that contains the current nested entry
}

type npmEntry struct {
	folder   string
	dep      model.Dependency
	requires []string // names of required packages
}

func (r *packageLock) document() error {
	err := r.object(func(name string, _ int) error {
		switch name {
		case "lockfileVersion":
			return r.decode(&r.version)
		case "packages":
			r.hasPackages = true
			return r.object(r.packageEntry)
		case "dependencies":
			return r.object(r.nestedEntry)
		}
		return r.skip()
	})
	if err != nil {
		return err
	}
	if !r.hasPackages {
		r.entries = r.nested
	}
	return r.end()
}

// packageEntry reads a member of packages: a folder and its package.
func (r *packageLock) packageEntry(folder string, offset int) error {
	var p npmPackage
	if err := r.decode(&p); err != nil {
		return err
	}
	module := strings.LastIndex(folder, "node_modules/")
	if module < 0 {
		r.project(folder, p) // the project or one of its workspaces
		return nil
	}
	if p.Link {
		return nil
	}
	name := string(cmp.Or(p.Name, read.Text(folder[module+len("node_modules/"):])))
	r.entries = append(r.entries, npmEntry{folder, r.dependency(name, p, offset), p.requires()})
	return nil
}

// requires returns the names of the packages that a package requires when another package installs it.
func (p npmPackage) requires() (names []string) {
	for _, wanted := range []map[string]npmLoose{p.Dependencies, p.OptionalDependencies, p.PeerDependencies} {
		names = append(names, slices.Sorted(maps.Keys(wanted))...)
	}
	return names
}

// project marks the requirements of a project or workspace as direct. npm installs them in the
// node_modules of its folder or of a parent folder.
func (r *packageLock) project(folder string, p npmPackage) {
	for _, wanted := range []map[string]npmLoose{
		p.Dependencies, p.DevDependencies, p.OptionalDependencies, p.PeerDependencies,
	} {
		for name := range wanted {
			r.direct["node_modules/"+name] = true
			if folder != "" {
				r.direct[folder+"/node_modules/"+name] = true
			}
		}
	}
}

// maxNesting is the maximum nesting of dependencies in version 1.
const maxNesting = 1000

// nestedEntry reads a member of dependencies and the members nested in it.
func (r *packageLock) nestedEntry(name string, offset int) error {
	if r.depth++; r.depth > maxNesting {
		return fmt.Errorf("dependencies nest more than %d levels deep", maxNesting)
	}
	defer func() { r.depth-- }()
	var p npmPackage
	at := len(r.nested)
	before := r.within
	r.within = strings.TrimPrefix(before+"/node_modules/"+name, "/")
	defer func() { r.within = before }()
	r.nested = append(r.nested, npmEntry{folder: r.within})
	err := r.object(func(member string, _ int) error {
		switch member {
		case "version":
			return r.decode(&p.Version)
		case "integrity":
			return r.decode(&p.Integrity)
		case "dependencies":
			return r.object(r.nestedEntry)
		case "requires": // ranges by name; at the top level a boolean
			var raw json.RawMessage
			err := r.decode(&raw)
			read.Loosely(raw, &p.Dependencies)
			r.nested[at].requires = p.requires()
			return err
		}
		return r.skip()
	})
	r.nested[at].dep = r.dependency(name, p, offset)
	return err
}

// dependency returns the dependency of an entry. An alias has the name of its target. The version
// of a git or file dependency is its address.
func (r *packageLock) dependency(name string, p npmPackage, offset int) model.Dependency {
	version := string(p.Version)
	if alias, ok := strings.CutPrefix(version, "npm:"); ok {
		if at := strings.LastIndexByte(alias, '@'); at > 0 {
			name, version = alias[:at], alias[at+1:]
		}
	}
	return model.Dependency{
		Name: name, Version: version, Line: r.lineAt(offset),
		Licenses: npmLicenses(p.License, p.Licenses), Hashes: integrityHashes(string(p.Integrity)),
	}
}

// npmLicenses parses a license in any form: a string, an object with a type, or a list of these.
func npmLicenses(raws ...json.RawMessage) []string {
	var out []string
	for _, raw := range raws {
		var list []json.RawMessage
		if read.Loosely(raw, &list); list == nil && len(raw) > 0 {
			list = []json.RawMessage{raw}
		}
		for _, one := range list {
			var object struct {
				Type read.Text `json:"type"`
			}
			var name read.Text
			read.Loosely(one, &object)
			read.Loosely(one, &name)
			if s := cmp.Or(name, object.Type); s != "" {
				out = append(out, string(s))
			}
		}
	}
	return out
}

// integrityHashes parses a Subresource Integrity value.
func integrityHashes(integrity string) []model.Hash {
	var out []model.Hash
	for field := range strings.FieldsSeq(integrity) {
		algorithm, sum, _ := strings.Cut(field, "-")
		name := map[string]string{"sha1": "SHA-1", "sha256": "SHA-256", "sha384": "SHA-384", "sha512": "SHA-512"}[algorithm]
		raw, err := base64.StdEncoding.DecodeString(sum)
		if name != "" && err == nil && len(raw) > 0 {
			out = append(out, model.Hash{Algorithm: name, Hex: hex.EncodeToString(raw)})
		}
	}
	return out
}
