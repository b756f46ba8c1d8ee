package report

import (
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt"
)

var condaPinned = regexp.MustCompile(`^(?:[^\s:]+::?)?([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*==?\s*([A-Za-z0-9_.!+-]+)(?:=\S+)?$`)

// readCondaEnvironment reads environment.yml, as conda env export writes it:
// name=version=build. What names no version, or several, is a wish and left
// out. Packages of PyPI stand in a list of their own.
func readCondaEnvironment(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	list := child(root, "dependencies")
	if list == nil || list.Kind != yaml.SequenceNode && (list.Kind != yaml.ScalarNode || scalar(list) != "") {
		return notA("environment.yml", "it has no list of dependencies")
	}
	for _, entry := range elements(list) {
		if m := condaPinned.FindStringSubmatch(strings.TrimSpace(scalar(entry))); m != nil {
			l.add(redoubt.Dependency{Name: strings.ToLower(m[1]), Version: m[2], Line: entry.Line})
		}
		for _, pip := range elements(child(entry, "pip")) {
			if m := requirement.FindStringSubmatch(scalar(pip)); m != nil && pinnedPip.MatchString(m[2]) {
				l.add(redoubt.Dependency{Ecosystem: "pypi", Name: pypiName(m[1]), Version: pinnedPip.FindStringSubmatch(m[2])[1], Line: pip.Line})
			}
		}
	}
	return nil
}

var pinnedPip = regexp.MustCompile(`^={2,3}\s*([A-Za-z0-9_.!+-]+)(?:\s*;.*)?$`)

// elements lists the elements of a sequence; other nodes have none.
func elements(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}

// readCondaLock reads conda-lock.yml, which lists packages of conda and of
// PyPI for each platform.
func readCondaLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	list := child(root, "package")
	if list == nil || list.Kind != yaml.SequenceNode || child(root, "metadata") == nil {
		return notA("conda-lock.yml", "it lacks metadata, or package, a list")
	}
	for i, entry := range list.Content {
		name, line := child(entry, "name"), entry.Line
		if scalar(name) == "" || child(entry, "manager") == nil {
			return cutOff("package %d lacks its name or manager", i+1)
		}
		d := redoubt.Dependency{Name: scalar(name), Version: scalar(child(entry, "version")), Line: line}
		if scalar(child(entry, "manager")) == "pip" {
			d.Ecosystem, d.Name = "pypi", pypiName(d.Name)
		}
		hash := child(entry, "hash")
		d.Hashes = sums(map[string]string{"MD5": scalar(child(hash, "md5")), "SHA-256": scalar(child(hash, "sha256"))})
		l.add(d)
	}
	return nil
}

// sums lists checksums in hexadecimal digits, by algorithm.
func sums(byAlgorithm map[string]string) []redoubt.Hash {
	var out []redoubt.Hash
	for _, algorithm := range sortedKeys(byAlgorithm) {
		if sum := byAlgorithm[algorithm]; isHex(sum) {
			out = append(out, redoubt.Hash{Algorithm: algorithm, Hex: strings.ToLower(sum)})
		}
	}
	return out
}

var condaFile = regexp.MustCompile(`^(.+)-([^-]+)-[^-]+?(?:\.conda|\.tar\.bz2)$`)

// readPixiLock reads pixi.lock. Packages of conda are named by their file, as
// name-version-build.conda, or in older locks by members; those of folders are
// part of the repository.
func readPixiLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	list := child(root, "packages")
	if list == nil || list.Kind != yaml.SequenceNode || child(root, "environments") == nil || child(root, "version") == nil {
		return notA("pixi.lock", "it lacks version, environments, or packages, a list")
	}
	for i, entry := range list.Content {
		kind := firstOf(scalar(child(entry, "kind")), map[bool]string{true: "conda"}[child(entry, "conda") != nil], "pypi")
		d := redoubt.Dependency{Name: scalar(child(entry, "name")), Version: scalar(child(entry, "version")), Line: entry.Line}
		location := firstOf(scalar(child(entry, kind)), scalar(child(entry, "url")), scalar(child(entry, "path")))
		if location == "" {
			return cutOff("package %d lacks its location", i+1)
		}
		if m := condaFile.FindStringSubmatch(path.Base(location)); m != nil && kind == "conda" {
			d.Name, d.Version = firstOf(d.Name, m[1]), firstOf(d.Version, m[2])
		}
		if kind == "pypi" {
			d.Ecosystem, d.Name = "pypi", pypiName(d.Name)
		}
		if license := scalar(child(entry, "license")); license != "" && license != "None" {
			d.Licenses = []string{license}
		}
		d.Hashes = sums(map[string]string{"MD5": scalar(child(entry, "md5")), "SHA-256": scalar(child(entry, "sha256"))})
		if strings.Contains(location, "://") {
			l.add(d)
		}
	}
	return nil
}
