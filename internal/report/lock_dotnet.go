package report

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/redoubt/redoubt"
)

// readNuGetLock reads packages.lock.json: packages by target framework, which
// tell how they came. Other projects of the solution are left out.
func readNuGetLock(l *lock) error {
	w := newObjectWalker(l.data)
	has := map[string]bool{}
	err := w.object(func(name string, _ int) error {
		has[name] = true
		if name != "dependencies" {
			return w.skip()
		}
		return w.object(func(string, int) error { return w.object(l.nuget(w)) })
	})
	switch {
	case err != nil:
		return err
	case !has["version"] || !has["dependencies"]:
		return notA("packages.lock.json", "it lacks version or dependencies")
	}
	return w.end()
}

func (l *lock) nuget(w *objectWalker) func(name string, offset int) error {
	return func(name string, offset int) error {
		var p struct {
			Type     text `json:"type"`
			Resolved text `json:"resolved"`
			Hash     text `json:"contentHash"`
		}
		if err := w.decode(&p); err != nil || strings.EqualFold(string(p.Type), "project") {
			return err
		}
		d := redoubt.Dependency{
			Name: name, Version: string(p.Resolved), Line: l.lineAt(offset),
			Transitivity: transitivityOf(p.Type != "", strings.EqualFold(string(p.Type), "direct")),
		}
		if sum, err := base64.StdEncoding.DecodeString(string(p.Hash)); err == nil && len(sum) == 64 {
			d.Hashes = []redoubt.Hash{{Algorithm: "SHA-512", Hex: hex.EncodeToString(sum)}}
		}
		l.add(d)
		return nil
	}
}
