package lockfile

import (
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readCargoLock reads Cargo.lock. Packages without a source are the project's crates: they are
// omitted, and their dependencies are direct.
func readCargoLock(l *lock) error {
	var file struct {
		Version  int // version of the format; 0 before 3
		Root     *cargoPackage
		Packages []cargoPackage `toml:"package"`
		Metadata map[string]any // checksums, before version 2 of the format
	}
	if err := l.toml(&file); err != nil {
		return err
	}
	if len(file.Packages) == 0 && file.Root == nil && file.Version == 0 {
		return read.NotA("Cargo.lock", "it has neither packages nor a version")
	}
	versions := map[string][]string{} // by name
	direct := map[[2]string]bool{}
	for _, p := range file.Packages {
		versions[p.Name] = append(versions[p.Name], p.Version)
	}
	if file.Root != nil { // the project, before version 1 of the format
		versions[file.Root.Name] = append(versions[file.Root.Name], file.Root.Version)
	}
	if err := checkCargo(file.Packages, versions); err != nil {
		return err
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
		d := model.Dependency{
			Name: p.Name, Version: p.Version, Line: lineOf(lines, i),
			Transitivity: TransitivityOf(len(direct) > 0, direct[[2]string{p.Name, p.Version}]),
		}
		if p.Checksum == "" {
			p.Checksum, _ = file.Metadata["checksum "+p.Name+" "+p.Version+" ("+p.Source+")"].(string)
		}
		if read.IsHex(p.Checksum) {
			d.Hashes = []model.Hash{{Algorithm: "SHA-256", Hex: strings.ToLower(p.Checksum)}}
		}
		l.Node(d, p.Name+" "+p.Version, p.Name)
		for _, to := range p.Dependencies {
			name, version, _ := strings.Cut(to, " ")
			version, _, _ = strings.Cut(version, " ")
			l.AddEdge(p.Name+" "+p.Version, strings.TrimSpace(name+" "+version))
		}
	}
	return nil
}

// checkCargo returns an error if a required package is not listed, as Cargo does.
func checkCargo(packages []cargoPackage, versions map[string][]string) error {
	for i, p := range packages {
		if p.Name == "" || p.Version == "" {
			return read.CutOff("package %d lacks its name or version", i+1)
		}
		for _, d := range p.Dependencies {
			if name, _, _ := strings.Cut(d, " "); versions[name] == nil {
				return read.CutOff("%s needs %s, which is not listed", p.Name, name)
			}
		}
	}
	return nil
}

type cargoPackage struct {
	Name, Version, Source, Checksum string
	Dependencies                    []string // name, or name and version, or name, version and source
}

// markDirect marks the dependencies of a crate of the project as direct. A name without a version
// has only one version.
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
