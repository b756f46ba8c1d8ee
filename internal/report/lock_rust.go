package report

import (
	"strings"

	"github.com/redoubt/redoubt"
)

// readCargoLock reads Cargo.lock. Packages without a source are the project's
// own crates: they are left out, and what they depend on is direct.
func readCargoLock(l *lock) error {
	var file struct {
		Packages []cargoPackage `toml:"package"`
		Metadata map[string]any // before version 2 of the format: checksums
	}
	if err := l.toml(&file); err != nil {
		return err
	}
	versions := map[string][]string{} // by name
	direct := map[[2]string]bool{}
	for _, p := range file.Packages {
		versions[p.Name] = append(versions[p.Name], p.Version)
	}
	for _, p := range file.Packages {
		if p.Source == "" {
			p.markDirect(direct, versions)
		}
	}
	lines := l.nameLines("[[package]]")
	for i, p := range file.Packages {
		if p.Source == "" {
			continue
		}
		d := redoubt.Dependency{
			Name: p.Name, Version: p.Version, Line: lineOf(lines, i),
			Transitivity: transitivityOf(len(direct) > 0, direct[[2]string{p.Name, p.Version}]),
		}
		if p.Checksum == "" {
			p.Checksum, _ = file.Metadata["checksum "+p.Name+" "+p.Version+" ("+p.Source+")"].(string)
		}
		if isHex(p.Checksum) {
			d.Hashes = []redoubt.Hash{{Algorithm: "SHA-256", Hex: strings.ToLower(p.Checksum)}}
		}
		l.add(d)
	}
	return nil
}

type cargoPackage struct {
	Name, Version, Source, Checksum string
	Dependencies                    []string // name, or name and version, or those and source
}

// markDirect notes what a crate of the project depends on. A name without a
// version is only written where there is one version of it.
func (p cargoPackage) markDirect(direct map[[2]string]bool, versions map[string][]string) {
	for _, d := range p.Dependencies {
		words := strings.Fields(d)
		if len(words) == 0 {
			continue
		}
		name, wanted := words[0], versions[words[0]]
		if len(words) > 1 {
			wanted = words[1:2]
		}
		for _, version := range wanted {
			direct[[2]string{name, version}] = true
		}
	}
}
