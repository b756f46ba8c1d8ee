package lockfile

import (
	"bytes"
	"maps"
	"regexp"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/read"
)

var juliaEntry = regexp.MustCompile(`^\[\[(?:deps\.)?"?([A-Za-z0-9_]+)"?\]\]\s*$`)

// juliaHeader is the first line of a manifest. In the first format without packages it is the whole
// manifest.
const juliaHeader = "# This file is machine-generated"

// readJuliaManifest reads Manifest.toml of either format. Packages of the standard library and in
// local folders have no version.
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
	if _, hasFormat := manifest["manifest_format"]; hasFormat && !isSecond {
		packages = map[string]any{}
	} else if !isSecond {
		packages = manifest
	}
	unversioned := 0
	known := isSecond || manifest["manifest_format"] != nil || bytes.HasPrefix(l.Data, []byte(juliaHeader))
	withoutID := ""
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		entries, _ := packages[name].([]map[string]any)
		for _, entry := range entries {
			uuid, _ := entry["uuid"].(string)
			version, _ := entry["version"].(string)
			known = known || uuid != ""
			switch {
			case uuid == "":
				withoutID = name
			case entry["path"] != nil: // a package in a local folder
			case version == "":
				unversioned++
			default:
				l.Add(model.Dependency{
					Name: name, Version: version, Line: lines[name],
					PURL: purl.With("julia", name, version, "uuid", uuid),
				})
			}
		}
	}
	if unversioned > 0 {
		l.refuse(read.Base(l.Name), "skipped %d packages without a version, such as standard libraries of Julia",
			unversioned)
	}
	switch {
	case !known:
		return read.Namesake("Manifest.toml of Julia", "it has no manifest_format and no package with a uuid")
	case withoutID != "":
		return read.CutOff("the package %s lacks its uuid", withoutID)
	}
	return nil
}
