package lockfile

import (
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readNimbleLock reads nimble.lock, which does not contain the transitivity.
func readNimbleLock(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		if name == "version" {
			isNumber, err := w.number()
			has[name] = isNumber
			return err
		}
		if has[name] = true; name != "packages" {
			return w.skip()
		}
		return w.object(func(name string, offset int) error {
			var p struct {
				Version read.Text `json:"version"`
				Sums    struct {
					SHA1 read.Text `json:"sha1"`
				} `json:"checksums"`
			}
			err := w.decode(&p)
			l.Add(model.Dependency{
				Name: name, Version: string(p.Version), Line: l.lineAt(offset),
				Hashes: sums(map[string]string{"SHA-1": string(p.Sums.SHA1)}),
			})
			return err
		})
	})
	switch {
	case err != nil:
		return err
	case !has["version"] || !has["packages"]:
		return read.NotA("nimble.lock", "it lacks version or packages")
	}
	return w.end()
}
