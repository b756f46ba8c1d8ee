package lockfile

import (
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readRenvLock reads renv.lock, which lists all packages of an R project's library without their
// transitivity. Packages of Bioconductor have their own ecosystem, as in OSV.
func readRenvLock(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		if has[name] = true; name != "Packages" {
			return w.skip()
		}
		return w.object(func(name string, offset int) error {
			var p struct {
				Version    read.Text `json:"Version"`
				Source     read.Text `json:"Source"`
				Repository read.Text `json:"Repository"`
				Remote     read.Text `json:"RemoteType"`
			}
			err := w.decode(&p)
			d := model.Dependency{Name: name, Version: string(p.Version), Line: l.lineAt(offset)}
			if p.Source == "Bioconductor" || p.Remote == "bioconductor" || strings.HasPrefix(string(p.Repository), "Bioc") {
				d.Ecosystem = "bioconductor"
			}
			l.Add(d)
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
