package lockfile

import (
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readMavenInstall reads the lockfile of rules_jvm_external for Bazel. It contains artifacts with
// their version or, in the first format, a list of coordinates.
func readMavenInstall(l *lock) error {
	w := newObjectWalker(l.Data)
	isPinned := false
	err := w.object(func(name string, _ int) error {
		switch name {
		case "artifacts":
			isPinned = true
			return w.object(l.bazelArtifact(w))
		case "dependency_tree":
			return w.object(func(name string, _ int) error {
				if name != "dependencies" {
					return w.skip()
				}
				isPinned = true
				return w.array(l.bazelCoordinates)
			})
		}
		return w.skip()
	})
	switch {
	case err != nil:
		return err
	case !isPinned:
		return read.NotA("maven_install.json", "it has neither artifacts nor a dependency_tree")
	}
	return w.end()
}

func (l *lock) bazelArtifact(w *objectWalker) func(name string, offset int) error {
	return func(name string, offset int) error {
		var p struct {
			Version read.Text            `json:"version"`
			Sums    map[string]read.Text `json:"shasums"`
		}
		err := w.decode(&p)
		if parts := strings.Split(name, ":"); len(parts) >= 2 { // a packaging and a classifier may follow
			d := model.Dependency{Name: parts[0] + ":" + parts[1], Version: string(p.Version), Line: l.lineAt(offset)}
			d.Hashes = sums(map[string]string{"SHA-256": string(p.Sums["jar"])})
			l.Add(d)
		}
		return err
	}
}

// bazelCoordinates adds a package with coordinates group:artifact[:packaging[:classifier]]:version.
func (l *lock) bazelCoordinates(raw []byte, offset int) {
	var p struct {
		Coordinates read.Text `json:"coord"`
		SHA256      read.Text `json:"sha256"`
	}
	read.Loosely(raw, &p)
	if parts := strings.Split(string(p.Coordinates), ":"); len(parts) >= 3 {
		l.Add(model.Dependency{
			Name: parts[0] + ":" + parts[1], Version: parts[len(parts)-1], Line: l.lineAt(offset),
			Hashes: sums(map[string]string{"SHA-256": string(p.SHA256)}),
		})
	}
}
