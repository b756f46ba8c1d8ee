package lockfile

import (
	"encoding/json"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readBunLock reads bun.lock, which is JSON with comments and trailing commas. A package is a list
// of name@version, registry, details and integrity.
func readBunLock(l *lock) error {
	w := newObjectWalker(plainJSON(l.Data))
	direct := map[string]bool{}
	has := map[string]bool{}
	var found []npmEntry
	err := w.object(func(name string, _ int) error {
		has[name] = true
		switch name {
		case "workspaces":
			return w.object(func(folder string, _ int) error {
				var p npmPackage
				err := w.decode(&p)
				markBunDirect(direct, folder, p)
				return err
			})
		case "packages":
			return w.object(func(key string, offset int) error {
				var fields []json.RawMessage
				err := w.decode(&fields)
				if d, ok := bunDependency(fields); ok {
					d.Line = l.lineAt(offset)
					found = append(found, npmEntry{key, d, bunRequires(fields)})
				}
				return err
			})
		}
		return w.skip()
	})
	if err != nil {
		return err
	}
	if !has["lockfileVersion"] || !has["workspaces"] && !has["packages"] {
		return read.NotA("bun.lock", "it lacks lockfileVersion, or both workspaces and packages")
	}
	for _, e := range found {
		e.dep.Transitivity = TransitivityOf(len(direct) > 0, direct[e.folder])
		l.Node(e.dep, e.folder)
	}
	for _, e := range found {
		for _, name := range e.requires {
			l.addNearestEdge(e.folder, "/", name)
		}
	}
	return w.end()
}

// markBunDirect marks the keys of the packages that a workspace requires.
func markBunDirect(direct map[string]bool, folder string, p npmPackage) {
	for _, wanted := range []map[string]npmLoose{
		p.Dependencies, p.DevDependencies, p.OptionalDependencies, p.PeerDependencies,
	} {
		for name := range wanted {
			direct[name] = true
			if folder != "" {
				direct[string(p.Name)+"/"+name] = true
			}
		}
	}
}

// bunRequires returns the names of the packages that a package requires. The details are the field that
// is an object.
func bunRequires(fields []json.RawMessage) []string {
	for _, field := range fields {
		if len(field) > 0 && field[0] == '{' {
			var p npmPackage
			read.Loosely(field, &p)
			return p.requires()
		}
	}
	return nil
}

func bunDependency(fields []json.RawMessage) (model.Dependency, bool) {
	if len(fields) == 0 {
		return model.Dependency{}, false
	}
	var resolved, integrity read.Text
	read.Loosely(fields[0], &resolved)
	read.Loosely(fields[len(fields)-1], &integrity)
	name, version := splitResolution(string(resolved))
	if name == "" || strings.HasPrefix(version, "workspace:") || strings.HasPrefix(version, "link:") {
		return model.Dependency{}, false
	}
	return model.Dependency{Name: name, Version: version, Hashes: integrityHashes(string(integrity))}, true
}

// plainJSON replaces comments and trailing commas with spaces, so that offsets are preserved.
func plainJSON(data []byte) []byte {
	out := []byte(string(data))
	comma := -1 // position of the last comma if only space follows it; otherwise -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			comma = -1
		}
	}
	return out
}

// blankComment replaces the comment at i with spaces, except line ends, and returns the index of
// its last byte.
func blankComment(out []byte, i int) int {
	block := out[i+1] == '*'
	out[i], out[i+1] = ' ', ' '
	for i += 2; i < len(out); i++ {
		switch {
		case out[i] == '\n' && !block:
			return i
		case block && out[i] == '*' && i+1 < len(out) && out[i+1] == '/':
			out[i], out[i+1] = ' ', ' '
			return i + 1
		case out[i] != '\n':
			out[i] = ' '
		}
	}
	return i
}
