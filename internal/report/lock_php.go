package report

import (
	"bytes"
	"errors"

	"github.com/redoubt/redoubt"
)

// readComposerLock reads composer.lock. What is direct is in composer.json.
func readComposerLock(l *lock) error {
	w := newObjectWalker(l.data)
	isComposer := false
	err := w.object(func(name string, _ int) error {
		if name != "packages" && name != "packages-dev" {
			return w.skip()
		}
		isComposer = true
		return w.array(func(raw []byte, offset int) {
			var p struct {
				Name    text  `json:"name"`
				Version text  `json:"version"`
				License texts `json:"license"`
				Dist    struct {
					Sum text `json:"shasum"`
				} `json:"dist"`
			}
			loosely(raw, &p)
			d := redoubt.Dependency{
				Name: string(p.Name), Version: string(p.Version), Licenses: p.License,
				Line: l.lineAt(offset + max(bytes.Index(raw, []byte(`"name"`)), 0)),
			}
			if isHex(string(p.Dist.Sum)) {
				d.Hashes = []redoubt.Hash{{Algorithm: "SHA-1", Hex: string(p.Dist.Sum)}}
			}
			l.add(d)
		})
	})
	if err != nil {
		return err
	}
	if !isComposer {
		return errors.New("it has no packages, so it is no composer.lock")
	}
	return w.end()
}
