package lockfile

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readComposerLock reads composer.lock. Direct packages are only in composer.json.
func readComposerLock(l *lock) error {
	w := newObjectWalker(l.Data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		has[name] = true
		if name != "packages" && name != "packages-dev" {
			return w.skip()
		}
		return w.array(func(raw []byte, offset int) {
			var p struct {
				Name    read.Text           `json:"name"`
				Version read.Text           `json:"version"`
				License read.Texts          `json:"license"`
				Require map[string]npmLoose `json:"require"`
				Dist    struct {
					Sum read.Text `json:"shasum"`
				} `json:"dist"`
			}
			if read.Loosely(raw, &p); p.Name == "" || p.Version == "" {
				l.refuse(cmp.Or(string(p.Name), "packages"), "it lacks a name or a version")
				return
			}
			d := model.Dependency{
				Name: string(p.Name), Version: string(p.Version), Licenses: p.License,
				Line: l.lineAt(offset + max(bytes.Index(raw, []byte(`"name"`)), 0)),
			}
			if read.IsHex(string(p.Dist.Sum)) {
				d.Hashes = []model.Hash{{Algorithm: "SHA-1", Hex: string(p.Dist.Sum)}}
			}
			l.Node(d, strings.ToLower(d.Name))
			for _, to := range slices.Sorted(maps.Keys(p.Require)) {
				l.AddEdge(strings.ToLower(d.Name), strings.ToLower(to))
			}
		})
	})
	if err != nil {
		return err
	}
	if !has["packages"] || !has["content-hash"] && !has["hash"] && !has["packages-dev"] {
		return read.NotA("composer.lock", "it lacks packages or its content-hash")
	}
	return w.end()
}
