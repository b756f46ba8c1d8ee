package report

import "github.com/redoubt/redoubt"

// readRenvLock reads renv.lock: all packages of an R project's library, which
// does not tell which of them it asked for.
func readRenvLock(l *lock) error {
	w := newObjectWalker(l.data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		if has[name] = true; name != "Packages" {
			return w.skip()
		}
		return w.object(func(name string, offset int) error {
			var p struct {
				Version text `json:"Version"`
			}
			err := w.decode(&p)
			l.add(redoubt.Dependency{Name: name, Version: string(p.Version), Line: l.lineAt(offset)})
			return err
		})
	})
	switch {
	case err != nil:
		return err
	case !has["R"] || !has["Packages"]:
		return notA("renv.lock", "it lacks R or Packages")
	}
	return w.end()
}
