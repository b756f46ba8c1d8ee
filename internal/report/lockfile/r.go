package lockfile

import (
	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readRenvLock reads renv.lock: all packages of an R project's library, which
// does not tell which of them it asked for.
func readRenvLock(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		if has[name] = true; name != "Packages" {
			return w.skip()
		}
		return w.object(func(name string, offset int) error {
			var p struct {
				Version read.Text `json:"Version"`
			}
			err := w.decode(&p)
			l.Add(redoubt.Dependency{Name: name, Version: string(p.Version), Line: l.lineAt(offset)})
			return err
		})
	})
	switch {
	case err != nil:
		return err
	case !has["R"] || !has["Packages"]:
		return read.NotA("renv.lock", "it lacks R or Packages")
	}
	return w.end()
}
