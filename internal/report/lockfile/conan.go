package lockfile

import (
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readConanLock reads conan.lock. Conan 2 has lists of references, and Conan 1 has a graph whose
// first node is the project.
func readConanLock(l *lock) error {
	w := newObjectWalker(l.Data)
	var version read.Text
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		has[name] = true
		switch name {
		case "version":
			return w.decode(&version)
		case "requires", "build_requires", "python_requires":
			return w.array(func(raw []byte, offset int) {
				var reference read.Text
				read.Loosely(raw, &reference)
				l.conan(string(reference), offset, model.TransitivityUnknown)
			})
		case "graph_lock":
			return w.object(func(name string, _ int) error {
				if name != "nodes" {
					return w.skip()
				}
				return l.conanGraph(w)
			})
		}
		return w.skip()
	})
	lists := has["requires"] || has["build_requires"] || has["python_requires"] || has["graph_lock"]
	switch {
	case err != nil:
		return err
	// A file without dependencies may contain only the version.
	case !strings.HasPrefix(string(version), "0.") || !lists && len(has) > 1:
		return read.NotA("conan.lock", "it lacks a version 0.x, or requires and graph_lock")
	}
	return w.end()
}

func (l *lock) conanGraph(w *objectWalker) error {
	var direct map[string]bool // nil if the project has no requirements member
	return w.object(func(id string, offset int) error {
		var node struct {
			Reference read.Text  `json:"ref"`
			Requires  read.Texts `json:"requires"`
		}
		if err := w.decode(&node); err != nil {
			return err
		}
		if id == "0" {
			if node.Requires != nil {
				direct = make(map[string]bool, len(node.Requires))
			}
			for _, to := range node.Requires {
				direct[to] = true
			}
			return nil
		}
		l.conan(string(node.Reference), offset, TransitivityOf(direct != nil, direct[id]), id)
		for _, to := range node.Requires {
			l.AddEdge(id, to)
		}
		return nil
	})
}

// conan adds a package with a reference name/version@user/channel#revision%time.
func (l *lock) conan(reference string, offset int, t model.Transitivity, keys ...string) {
	reference, _, _ = strings.Cut(reference, "#")
	reference, _, _ = strings.Cut(reference, "@")
	name, version, _ := strings.Cut(reference, "/")
	l.Node(model.Dependency{Name: name, Version: version, Line: l.lineAt(offset), Transitivity: t}, keys...)
}
