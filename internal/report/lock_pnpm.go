package report

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt"
)

// readPnpmLock reads pnpm-lock.yaml of versions 5 to 9. Packages are under
// keys like /name/1.0.0_peers (5), /name@1.0.0(peers) (6) and name@1.0.0 (9);
// those that an importer asks for are direct.
func readPnpmLock(l *lock) error {
	root, err := l.yaml()
	if err != nil {
		return err
	}
	old := strings.HasPrefix(scalar(child(root, "lockfileVersion")), "5")
	direct := map[[2]string]bool{}
	importers := pairs(child(root, "importers"))
	if importers == nil {
		importers = []pair{{value: root}} // a project without workspaces
	}
	for _, importer := range importers {
		markPnpmDirect(direct, importer.value, old)
	}
	for _, entry := range pairs(child(root, "packages")) {
		name, version := splitPnpmKey(entry.key.Value, old)
		if told := scalar(child(entry.value, "name")); told != "" { // packages from elsewhere than a registry
			name, version = told, scalar(child(entry.value, "version"))
		}
		l.add(redoubt.Dependency{
			Name: name, Version: version, Line: entry.key.Line,
			Transitivity: transitivityOf(len(direct) > 0, direct[[2]string{name, version}]),
			Hashes:       integrityHashes(scalar(child(child(entry.value, "resolution"), "integrity"))),
		})
	}
	return nil
}

func markPnpmDirect(direct map[[2]string]bool, importer *yaml.Node, old bool) {
	for _, list := range []string{"dependencies", "devDependencies", "optionalDependencies"} {
		for _, d := range pairs(child(importer, list)) {
			version := scalar(d.value)
			if d.value.Kind == yaml.MappingNode {
				version = scalar(child(d.value, "version"))
			}
			name := d.key.Value
			if n, v := splitPnpmKey(version, old); v != "" { // an alias: the key of the package
				name, version = n, v
			}
			version, _, _ = strings.Cut(version, "(")
			if old {
				version, _, _ = strings.Cut(version, "_")
			}
			direct[[2]string{name, version}] = true
		}
	}
}

// splitPnpmKey splits a key into name and version; the version is empty when
// it is no key of a package of a registry.
func splitPnpmKey(key string, old bool) (name, version string) {
	key, hasSlash := strings.CutPrefix(key, "/")
	key, _, _ = strings.Cut(key, "(")
	separator := "@"
	if old {
		if !hasSlash {
			return "", ""
		}
		separator = "/"
		key, _, _ = strings.Cut(key, "_")
	}
	i := strings.LastIndex(key, separator)
	if i <= 0 || strings.ContainsAny(key[i+1:], "/:") {
		return "", ""
	}
	return key[:i], key[i+1:]
}
