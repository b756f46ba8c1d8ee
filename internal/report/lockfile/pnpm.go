package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readPnpmLock reads pnpm-lock.yaml of versions 5 to 9. Keys of packages are /name/1.0.0_peers (5),
// /name@1.0.0(peers) (6) or name@1.0.0 (9). Packages that an importer requires are direct.
//
// Since pnpm 11 a document with pnpm's own packages may precede the project's document. The latter
// is empty if the project has no packages.
func readPnpmLock(l *lock) error {
	documents, err := l.documents()
	if err != nil {
		return err
	}
	if len(documents) == 0 || isEmptyYAML(documents[0]) {
		return errNoMapping
	}
	last := documents[len(documents)-1]
	if isPnpmTools(last) {
		return read.CutOff("the document of the project is missing")
	}
	for _, root := range documents {
		if root == last && isEmptyYAML(last) {
			break
		}
		if err := readPnpmDocument(l, root); err != nil {
			return err
		}
	}
	return nil
}

// isPnpmTools reports whether a document lists the packages that pnpm installs for itself.
func isPnpmTools(root *yaml.Node) bool {
	for _, importer := range pairs(child(root, "importers")) {
		if child(importer.value, "configDependencies") != nil || child(importer.value, "packageManagerDependencies") != nil {
			return true
		}
	}
	return false
}

func readPnpmDocument(l *lock, root *yaml.Node) error {
	if child(root, "lockfileVersion") == nil {
		return read.NotA("pnpm-lock.yaml", "it has no lockfileVersion")
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
	if err := checkPnpm(root, importers); err != nil {
		return err
	}
	for _, entry := range pairs(child(root, "packages")) {
		name, version := splitPnpmKey(entry.key.Value, old)
		isDirect := direct[[2]string{name, version}]
		key := name + "@" + version
		if explicit := scalar(child(entry.value, "name")); explicit != "" { // a package that is not from a registry
			name, version = explicit, scalar(child(entry.value, "version"))
			isDirect, key = direct[[2]string{name, version}], name+"@"+version
		} else if of, address := splitPnpmAddress(entry.key.Value); of != "" && name == "" { // version 9 and later
			if scalar(child(child(entry.value, "resolution"), "type")) == "directory" {
				continue // a folder of the repository
			}
			name, version = of, scalar(child(entry.value, "version"))
			isDirect, key = direct[[2]string{name, address}], name+"@"+address
		}
		if version == "" {
			l.refuse(cmp.Or(name, entry.key.Value), "line %d: it has no version", entry.key.Line)
			continue
		}
		l.Node(model.Dependency{
			Name: name, Version: version, Line: entry.key.Line, Transitivity: TransitivityOf(len(direct) > 0, isDirect),
			Hashes: integrityHashes(scalar(child(child(entry.value, "resolution"), "integrity"))),
		}, key)
		addPnpmEdges(l, key, entry.value, old)
	}
	for _, entry := range pairs(child(root, "snapshots")) { // version 9 and later
		name, version := splitPnpmKey(entry.key.Value, old)
		if name == "" {
			name, version = splitPnpmAddress(entry.key.Value)
		}
		addPnpmEdges(l, name+"@"+version, entry.value, old)
	}
	return nil
}

// splitPnpmAddress splits the key of a package that is not from a registry, such as
// name@https://codeload.github.com/… or name@file:…. It returns empty texts for other keys.
func splitPnpmAddress(key string) (name, address string) {
	key, _, _ = strings.Cut(key, "(")
	if name, address = splitResolution(key); !strings.Contains(address, ":") {
		return "", ""
	}
	return name, address
}

// checkPnpm returns an error if an entry is missing. All requirements of importers and packages
// have an entry, and since version 9 each entry has a second one in snapshots.
func checkPnpm(root *yaml.Node, importers []pair) error {
	before, between := "", "@"
	users := importers
	switch version := scalar(child(root, "lockfileVersion")); {
	case version == "":
		return read.CutOff("its lockfileVersion is empty")
	case strings.HasPrefix(version, "5") && !hasSpecifiers(root) && pairs(child(root, "importers")) == nil:
		return read.CutOff("it has no specifiers, or no dependencies for them")
	case strings.HasPrefix(version, "9") && pairs(child(root, "importers")) == nil:
		return read.CutOff("it has no importers")
	case strings.HasPrefix(version, "5"):
		before, between = "/", "/"
		users = append(slices.Clip(users), pairs(child(root, "packages"))...)
	case strings.HasPrefix(version, "6"):
		before = "/"
		users = append(slices.Clip(users), pairs(child(root, "packages"))...)
	case strings.HasPrefix(version, "9"): // the requirements of packages are in snapshots
	default:
		return nil
	}
	listed, snapshots := map[string]bool{}, map[string]bool{}
	for _, entry := range pairs(child(root, "snapshots")) {
		key, _, _ := strings.Cut(entry.key.Value, "(")
		snapshots[key] = true
	}
	for _, entry := range pairs(child(root, "packages")) {
		listed[entry.key.Value] = true
		if before == "" && !snapshots[entry.key.Value] {
			return read.CutOff("the package %s has no snapshot", entry.key.Value)
		}
	}
	for _, user := range users {
		if missing := missingPnpm(user.value, listed, before, between); missing != "" {
			return read.CutOff("%s is needed and not listed", missing)
		}
	}
	return nil
}

// hasSpecifiers reports whether a project of version 5 has specifiers and, if they are not empty,
// dependencies.
func hasSpecifiers(root *yaml.Node) bool {
	specifiers := child(root, "specifiers")
	if specifiers == nil || specifiers.Kind != yaml.MappingNode {
		return false
	}
	return len(specifiers.Content) == 0 || child(root, "dependencies") != nil || child(root, "devDependencies") != nil ||
		child(root, "optionalDependencies") != nil
}

// missingPnpm returns the key of a required package that is not listed, or "". Optional packages
// may be missing. A list without entries counts as incomplete.
func missingPnpm(user *yaml.Node, listed map[string]bool, before, between string) string {
	if user != nil && user.Kind != yaml.MappingNode {
		return "all of an importer"
	}
	for _, list := range []string{"dependencies", "devDependencies", "optionalDependencies"} {
		wanted := child(user, list)
		if wanted != nil && wanted.Kind != yaml.MappingNode {
			return "one of the " + list
		}
		if list == "optionalDependencies" {
			continue
		}
		for _, d := range pairs(wanted) {
			version := cmp.Or(scalar(d.value), scalar(child(d.value, "version")))
			if before == "" { // since version 9 keys do not contain peers
				version, _, _ = strings.Cut(version, "(")
			}
			key := before + d.key.Value + between + version
			isVersion := version != "" && version[0] >= '0' && version[0] <= '9'
			if !strings.ContainsAny(version, ".:/@") || isVersion && !listed[key] {
				return key
			}
		}
	}
	return ""
}

func markPnpmDirect(direct map[[2]string]bool, importer *yaml.Node, old bool) {
	for _, list := range []string{
		"dependencies", "devDependencies", "optionalDependencies", "configDependencies", "packageManagerDependencies",
	} {
		for _, d := range pairs(child(importer, list)) {
			version := scalar(d.value)
			if d.value.Kind == yaml.MappingNode {
				version = scalar(child(d.value, "version"))
			}
			name, version := pnpmTarget(d.key.Value, version, old)
			direct[[2]string{name, version}] = true
		}
	}
}

// pnpmTarget returns the name and version of a requirement.
func pnpmTarget(name, version string, old bool) (string, string) {
	if n, v := splitPnpmKey(version, old); v != "" { // an alias: the key of the package
		name, version = n, v
	}
	version, _, _ = strings.Cut(version, "(")
	if old {
		version, _, _ = strings.Cut(version, "_")
	}
	return name, version
}

// addPnpmEdges adds the requirements of an entry of packages or snapshots.
func addPnpmEdges(l *lock, from string, entry *yaml.Node, old bool) {
	for _, list := range []string{"dependencies", "optionalDependencies"} {
		for _, d := range pairs(child(entry, list)) {
			name, version := pnpmTarget(d.key.Value, scalar(d.value), old)
			l.AddEdge(from, name+"@"+version)
		}
	}
}

// splitPnpmKey splits a key into name and version. It returns empty texts if the key is not one of
// a registry's package.
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
