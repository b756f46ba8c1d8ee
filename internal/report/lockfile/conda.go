package lockfile

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/read"
)

var condaPinned = regexp.MustCompile(
	`^(?:[^\s:]+::?)?([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*==?\s*([A-Za-z0-9_.!+-]+)(?:=\S+)?$`,
)

// readCondaEnvironment reads environment.yml as written by conda env export, with entries
// name=version=build. Entries without a version, or with several, are omitted. Packages of PyPI are
// in a nested list.
func readCondaEnvironment(l *lock) error {
	documents, err := l.documents()
	if err != nil {
		return err
	}
	if len(documents) > 0 && !slices.ContainsFunc(documents, isCondaEnvironment) {
		return read.Namesake("environment.yml of conda", "it has neither channels nor dependencies")
	}
	root, err := l.only(documents)
	if err != nil {
		return err
	}
	list := child(root, "dependencies")
	if list == nil || list.Kind != yaml.SequenceNode && (list.Kind != yaml.ScalarNode || scalar(list) != "") {
		return read.NotA("environment.yml", "it has no list of dependencies")
	}
	for _, entry := range elements(list) {
		if m := condaPinned.FindStringSubmatch(strings.TrimSpace(scalar(entry))); m != nil {
			l.Add(model.Dependency{Name: strings.ToLower(m[1]), Version: m[2], Line: entry.Line})
		}
		for _, pip := range elements(child(entry, "pip")) {
			text, _, _ := strings.Cut(scalar(pip), ";") // remove the environment marker
			if m := requirement.FindStringSubmatch(text); m != nil && pinnedVersion(m[2]) != "" {
				l.Add(model.Dependency{Ecosystem: "pypi", Name: purl.PyPIName(m[1]), Version: pinnedVersion(m[2]), Line: pip.Line})
			}
		}
	}
	return nil
}

func isCondaEnvironment(root *yaml.Node) bool {
	return child(root, "channels") != nil || child(root, "dependencies") != nil
}

// elements returns the elements of a sequence, and none for other nodes.
func elements(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// readCondaLock reads conda-lock.yml, which lists packages of conda and PyPI for each platform.
func readCondaLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	list := child(root, "package")
	if list == nil || list.Kind != yaml.SequenceNode || child(root, "metadata") == nil {
		return read.NotA("conda-lock.yml", "it lacks metadata, or package, a list")
	}
	for i, entry := range list.Content {
		name, line := child(entry, "name"), entry.Line
		if scalar(name) == "" || child(entry, "manager") == nil {
			return read.CutOff("package %d lacks its name or manager", i+1)
		}
		d := model.Dependency{Name: scalar(name), Version: scalar(child(entry, "version")), Line: line}
		if scalar(child(entry, "manager")) == "pip" {
			d.Ecosystem, d.Name = "pypi", purl.PyPIName(d.Name)
		}
		hash := child(entry, "hash")
		d.Hashes = sums(map[string]string{"MD5": scalar(child(hash, "md5")), "SHA-256": scalar(child(hash, "sha256"))})
		l.Add(d)
	}
	return nil
}

// sums returns the valid hexadecimal checksums, sorted by algorithm.
func sums(byAlgorithm map[string]string) []model.Hash {
	var out []model.Hash
	for _, algorithm := range slices.Sorted(maps.Keys(byAlgorithm)) {
		if sum := byAlgorithm[algorithm]; read.IsHex(sum) {
			out = append(out, model.Hash{Algorithm: algorithm, Hex: strings.ToLower(sum)})
		}
	}
	return out
}

var condaFile = regexp.MustCompile(`^(.+)-([^-]+)-[^-]+?(?:\.conda|\.tar\.bz2)$`)

// condaSource matches a package that is built from source in pixi.lock of version 7 and later:
// name[digest] @ location.
var condaSource = regexp.MustCompile(`^(\S+?)(?:\[[^\]]*\])? @ (\S.*)$`)

// readPixiLock reads pixi.lock. Packages of conda are identified by their file name, such as
// name-version-build.conda, or by members in older versions. Packages in local folders are part of
// the repository and omitted. Packages built from another repository are refused, because
// advisories about a package of that name in a channel do not apply.
func readPixiLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	list := child(root, "packages")
	if list == nil || list.Kind != yaml.SequenceNode || child(root, "environments") == nil ||
		child(root, "version") == nil {
		return read.NotA("pixi.lock", "it lacks version, environments, or packages, a list")
	}
	for i, entry := range list.Content {
		kind := cmp.Or(scalar(child(entry, "kind")), map[bool]string{true: "conda"}[child(entry, "conda") != nil], "pypi")
		d := model.Dependency{Name: scalar(child(entry, "name")), Version: scalar(child(entry, "version")), Line: entry.Line}
		location := cmp.Or(scalar(child(entry, kind)), scalar(child(entry, "url")), scalar(child(entry, "path")))
		if source := condaSource.FindStringSubmatch(scalar(child(entry, "conda_source"))); source != nil {
			if strings.Contains(source[2], "://") {
				l.refuse(source[1], "it is built from %s and not from a channel", source[2])
			}
			continue
		}
		if location == "" {
			return read.CutOff("package %d lacks its location", i+1)
		}
		if m := condaFile.FindStringSubmatch(path.Base(location)); m != nil && kind == "conda" {
			d.Name, d.Version = cmp.Or(d.Name, m[1]), cmp.Or(d.Version, m[2])
		}
		if kind == "pypi" {
			d.Ecosystem, d.Name = "pypi", purl.PyPIName(d.Name)
		}
		if license := scalar(child(entry, "license")); license != "" && license != "None" {
			d.Licenses = []string{license}
		}
		d.Hashes = sums(map[string]string{"MD5": scalar(child(entry, "md5")), "SHA-256": scalar(child(entry, "sha256"))})
		isFile := strings.HasSuffix(location, ".whl") || strings.HasSuffix(location, ".tar.gz") ||
			strings.HasSuffix(location, ".conda") || strings.HasSuffix(location, ".tar.bz2")
		switch {
		case !isFile && !strings.Contains(location, "://"): // a folder of the repository
		case d.Name == "" || d.Version == "":
			l.refuse(cmp.Or(d.Name, location), "line %d: it has no version", d.Line)
		default:
			l.Add(d)
		}
	}
	return nil
}
