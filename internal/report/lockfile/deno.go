package lockfile

import (
	"cmp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// denoLock is the state of reading a deno.lock of any format.
type denoLock struct {
	*lock
	w         *objectWalker
	has       map[string]bool
	resolved  map[string]string // by specifier: a version, or name@version in older formats
	wanted    map[string]bool   // specifiers of the project
	found     []model.Dependency
	workspace bool
}

// readDenoLock reads the packages of npm and JSR in deno.lock. Remote modules have no version and
// are refused with their number. Direct packages are known if the project has a configuration file
// such as deno.json.
func readDenoLock(l *lock) error {
	r := &denoLock{
		lock:     l,
		w:        newObjectWalker(l.Data),
		has:      map[string]bool{},
		resolved: map[string]string{},
		wanted:   map[string]bool{},
	}
	if err := r.w.object(r.member); err != nil {
		return err
	}
	if !r.has["version"] {
		return read.NotA("deno.lock", "it has no version, 2 or later")
	}
	direct := map[string]bool{}
	for specifier := range r.wanted {
		kind, rest, _ := strings.Cut(specifier, ":")
		name, _ := splitResolution(rest)
		version := r.resolved[specifier]
		if older, ok := strings.CutPrefix(version, kind+":"); ok {
			_, version = splitResolution(older)
		}
		version, _, _ = strings.Cut(version, "_")
		direct[kind+":"+cmp.Or(name, rest)+"@"+version] = true
	}
	for _, d := range r.found {
		d.Transitivity = TransitivityOf(r.workspace, direct[d.Ecosystem+":"+d.Name+"@"+d.Version])
		l.Add(d)
	}
	return r.w.end()
}

// member reads a member at the top level. Format 3 has npm and jsr within packages, and format 2
// has specifiers and packages within npm.
func (r *denoLock) member(name string, _ int) error {
	switch r.has[name] = true; name {
	case "packages":
		return r.w.object(r.member)
	case "specifiers":
		var specifiers map[string]read.Text
		err := r.w.decode(&specifiers)
		for specifier, version := range specifiers {
			r.resolved[specifier] = string(version)
		}
		return err
	case "npm", "jsr":
		return r.w.object(func(key string, offset int) error {
			if key == "packages" {
				return r.w.object(func(key string, offset int) error { return r.entry(name, key, offset) })
			}
			if key == "specifiers" {
				return r.w.skip()
			}
			return r.entry(name, key, offset)
		})
	case "workspace":
		r.workspace = true
		return r.w.object(r.settings)
	case "version":
		var version read.Text
		err := r.w.decode(&version)
		r.has[name] = len(version) == 1 && version >= "2"
		return err
	case "remote":
		modules := 0
		err := r.w.object(func(string, int) error {
			modules++
			return r.w.skip()
		})
		if modules > 0 {
			r.refuse(read.Base(r.Name),
				"skipped %d modules with URLs, which have neither a registry nor a version", modules)
		}
		return err
	case "redirects":
		return r.w.skip()
	}
	return read.NotA("deno.lock", "it has an unknown member %s", read.Text(name).Name())
}

func (r *denoLock) entry(ecosystem, key string, offset int) error {
	var p struct {
		Integrity read.Text `json:"integrity"`
	}
	err := r.w.decode(&p)
	name, version := splitResolution(key)
	version, _, _ = strings.Cut(version, "_") // peer dependencies follow
	d := model.Dependency{Ecosystem: ecosystem, Name: name, Version: version, Line: r.lineAt(offset)}
	if d.Hashes = integrityHashes(string(p.Integrity)); read.IsHex(string(p.Integrity)) && len(p.Integrity) == 64 {
		d.Hashes = sums(map[string]string{"SHA-256": string(p.Integrity)})
	}
	r.found = append(r.found, d)
	return err
}

// settings reads the requirements of the workspace and its members.
func (r *denoLock) settings(name string, _ int) error {
	switch name {
	case "dependencies":
		var specifiers read.Texts
		err := r.w.decode(&specifiers)
		for _, s := range specifiers {
			r.wanted[s] = true
		}
		return err
	case "packageJson":
		return r.w.object(r.settings)
	case "members":
		return r.w.object(func(string, int) error { return r.w.object(r.settings) })
	}
	return r.w.skip()
}
