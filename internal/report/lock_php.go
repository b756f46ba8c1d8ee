package report

import (
	"bytes"
	"strings"

	"github.com/redoubt/redoubt"
)

// readComposerLock reads composer.lock. What is direct is in composer.json.
func readComposerLock(l *lock) error {
	w := newObjectWalker(l.data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		has[name] = true
		if name != "packages" && name != "packages-dev" {
			return w.skip()
		}
		return w.array(func(raw []byte, offset int) {
			var p struct {
				Name    text                `json:"name"`
				Version text                `json:"version"`
				License texts               `json:"license"`
				Require map[string]npmLoose `json:"require"`
				Dist    struct {
					Sum text `json:"shasum"`
				} `json:"dist"`
			}
			if loosely(raw, &p); p.Name == "" || p.Version == "" {
				l.refuse(firstOf(string(p.Name), "packages"), "it lacks a name or a version")
				return
			}
			d := redoubt.Dependency{
				Name: string(p.Name), Version: string(p.Version), Licenses: p.License,
				Line: l.lineAt(offset + max(bytes.Index(raw, []byte(`"name"`)), 0)),
			}
			if isHex(string(p.Dist.Sum)) {
				d.Hashes = []redoubt.Hash{{Algorithm: "SHA-1", Hex: string(p.Dist.Sum)}}
			}
			l.node(d, strings.ToLower(d.Name))
			for _, to := range sortedKeys(p.Require) {
				l.ask(strings.ToLower(d.Name), strings.ToLower(to))
			}
		})
	})
	if err != nil {
		return err
	}
	if !has["packages"] || !has["content-hash"] && !has["hash"] && !has["packages-dev"] {
		return notA("composer.lock", "it lacks packages or its content-hash")
	}
	return w.end()
}
