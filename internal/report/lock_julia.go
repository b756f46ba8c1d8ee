package report

import (
	"regexp"

	"github.com/redoubt/redoubt"
)

var juliaEntry = regexp.MustCompile(`^\[\[(?:deps\.)?"?([A-Za-z0-9_]+)"?\]\]\s*$`)

// readJuliaManifest reads Manifest.toml of either format. Packages of Julia
// itself have no version, nor have those of folders.
func readJuliaManifest(l *lock) error {
	var manifest map[string]any
	if err := l.toml(&manifest); err != nil {
		return err
	}
	lines := map[string]int{}
	for number, line := range l.numbered {
		if m := juliaEntry.FindStringSubmatch(line); m != nil && lines[m[1]] == 0 {
			lines[m[1]] = number
		}
	}
	packages, isSecond := manifest["deps"].(map[string]any)
	if _, told := manifest["manifest_format"]; told && !isSecond {
		packages = map[string]any{}
	} else if !isSecond {
		packages = manifest
	}
	known := isSecond || manifest["manifest_format"] != nil
	for _, name := range sortedKeys(packages) {
		entries, _ := packages[name].([]map[string]any)
		for _, entry := range entries {
			uuid, _ := entry["uuid"].(string)
			version, _ := entry["version"].(string)
			if known = known || uuid != ""; uuid == "" {
				return cutOff("the package %s lacks its uuid", name)
			}
			if entry["path"] == nil {
				l.add(redoubt.Dependency{
					Name: name, Version: version, Line: lines[name],
					PURL: purlWith("julia", name, version, "uuid", uuid),
				})
			}
		}
	}
	if !known {
		return notA("Manifest.toml", "it has no manifest_format and no package with a uuid")
	}
	return nil
}
