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

// npmPackage is one entry of a package-lock, of all versions of the format.
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

// npmLoose keeps only that there is a value.
type npmLoose struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (npmLoose) UnmarshalJSON([]byte) error { return nil }

// readPackageLock reads package-lock.json and npm-shrinkwrap.json of versions
// 1 to 3. Versions 2 and 3 list packages by folder, the project itself and its
// workspaces among them, which say what is direct; version 1 nests
// dependencies and does not tell.
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
		for _, name := range e.asks {
			l.askNear(e.folder, "/node_modules/", name)
		}
	}
	return nil
}

type packageLock struct {
	*lock
	*objectWalker
	version     read.Text // of the format; none before npm 5
	hasPackages bool
	direct      map[string]bool // folders of packages that the project asks for itself
	entries     []npmEntry
	nested      []npmEntry
	depth       int    // of nested, as it is read
	within      string // the folder of what nested is in
}

type npmEntry struct {
	folder string
	dep    model.Dependency
	asks   []string // names of packages that it asks for
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

// packageEntry reads a member of packages: a folder and what is in it.
func (r *packageLock) packageEntry(folder string, offset int) error {
	var p npmPackage
	if err := r.decode(&p); err != nil {
		return err
	}
	module := strings.LastIndex(folder, "node_modules/")
	if module < 0 {
		r.project(folder, p) // the project or a workspace of it
		return nil
	}
	if p.Link {
		return nil
	}
	name := string(cmp.Or(p.Name, read.Text(folder[module+len("node_modules/"):])))
	r.entries = append(r.entries, npmEntry{folder, r.dependency(name, p, offset), p.asks()})
	return nil
}

// asks lists what a package asks for when it is installed by another.
func (p npmPackage) asks() (names []string) {
	for _, wanted := range []map[string]npmLoose{p.Dependencies, p.OptionalDependencies, p.PeerDependencies} {
		names = append(names, slices.Sorted(maps.Keys(wanted))...)
	}
	return names
}

// project notes what a project or workspace asks for, where npm puts it: in
// the node_modules of its own folder or of one above.
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

// maxNesting is how deep dependencies of version 1 may nest in each other.
const maxNesting = 1000

// nestedEntry reads a member of dependencies, with those inside of it.
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
		case "requires": // a list of ranges by name; at the top only that there are such lists
			var raw json.RawMessage
			err := r.decode(&raw)
			read.Loosely(raw, &p.Dependencies)
			r.nested[at].asks = p.asks()
			return err
		}
		return r.skip()
	})
	r.nested[at].dep = r.dependency(name, p, offset)
	return err
}

// dependency makes one of an entry. An alias is listed under the name of what
// it stands for; versions of git and file dependencies are their addresses.
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

// npmLicenses reads the forms that licences have had: a string, an object with
// a type, a list of either.
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

// integrityHashes reads subresource integrity: algorithms and base64 sums.
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
