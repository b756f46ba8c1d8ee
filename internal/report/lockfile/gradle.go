package lockfile

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// readGradleVerification reads gradle/verification-metadata.xml. It has a component for each
// version that was ever verified, with the checksums of its files.
func readGradleVerification(l *lock) error {
	dec := l.xml()
	isRead, depth := false, 0
	var current model.Dependency
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) && isRead {
			return nil
		}
		if err != nil {
			return &read.PositionError{Offset: dec.InputOffset(), Err: err}
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth == 1 && (isRead || t.Name.Local != "verification-metadata") {
				return read.NotA("verification-metadata.xml", "its root element is not verification-metadata, once")
			}
			isRead = true
			switch {
			case depth == 3 && t.Name.Local == "component":
				line, _ := dec.InputPos()
				current = model.Dependency{Version: attribute(t, "version"), Line: line}
				if group, name := attribute(t, "group"), attribute(t, "name"); group != "" && name != "" {
					current.Name = group + ":" + name // a component without a name is not added
				}
			case depth == 5 && strings.HasPrefix(t.Name.Local, "sha") && read.IsHex(attribute(t, "value")) &&
				len(current.Hashes) < read.MaxList:
				current.Hashes = append(current.Hashes, model.Hash{
					Algorithm: read.HashName(t.Name.Local),
					Hex:       attribute(t, "value"),
				})
			}
		case xml.EndElement:
			if depth == 3 && t.Name.Local == "component" {
				l.Add(current)
			}
			depth--
		}
	}
}

// readGradleCatalog reads the libraries in libs.versions.toml. All of them are direct, because
// build files may use them. Libraries with a version range are refused.
func readGradleCatalog(l *lock) error {
	var catalog struct {
		Versions  map[string]any
		Libraries map[string]any
		Plugins   map[string]any
	}
	if err := l.toml(&catalog); err != nil {
		return err
	}
	if catalog.Versions == nil && catalog.Libraries == nil && catalog.Plugins == nil {
		return read.NotA("version catalog", "it has none of versions, libraries and plugins")
	}
	lines := l.keyLines("[libraries]")
	for _, alias := range slices.Sorted(maps.Keys(catalog.Libraries)) {
		module, version := catalogEntry(catalog.Libraries[alias], catalog.Versions)
		switch {
		case !strings.Contains(module, ":"):
			l.refuse(alias, "it does not name group and artifact")
		case version == "":
			l.refuse(module, "its version is in a platform, which is not read")
		case strings.ContainsAny(version, "[](),+") || strings.HasPrefix(version, "latest."):
			l.refuse(module, "its version %s is a range", version)
		default:
			l.Add(model.Dependency{Name: module, Version: version, Line: lines[alias], Transitivity: model.Direct})
		}
	}
	return nil
}

// catalogEntry returns the module and version of a library in any notation.
func catalogEntry(entry any, versions map[string]any) (module, version string) {
	if short, ok := entry.(string); ok {
		parts := strings.SplitN(short, ":", 3)
		if len(parts) < 3 {
			return short, ""
		}
		return parts[0] + ":" + parts[1], parts[2]
	}
	long, _ := entry.(map[string]any)
	module, _ = long["module"].(string)
	if group, ok := long["group"].(string); ok {
		name, _ := long["name"].(string)
		module = group + ":" + name
	}
	declared := long["version"]
	if reference, ok := declared.(map[string]any); ok && reference["ref"] != nil {
		name, _ := reference["ref"].(string)
		declared = versions[name]
	}
	return module, richVersion(declared)
}

// richVersion returns a version, or the preferred one of a rich version.
func richVersion(value any) string {
	if version, ok := value.(string); ok {
		return version
	}
	rich, _ := value.(map[string]any)
	for _, member := range []string{"prefer", "strictly", "require"} {
		if version, ok := rich[member].(string); ok && version != "" {
			return version
		}
	}
	return ""
}

var tomlKey = regexp.MustCompile(`^\s*["']?([A-Za-z0-9_.-]+?)["']?\s*=`)

// keyLines returns the lines of the keys in a table.
func (l *lock) keyLines(header string) map[string]int {
	lines := map[string]int{}
	inside := false
	for number, line := range l.numbered {
		trimmed := strings.TrimSpace(line)
		switch m := tomlKey.FindStringSubmatch(line); {
		case strings.HasPrefix(trimmed, "["):
			inside = trimmed == header
		case inside && m != nil:
			key, _, _ := strings.Cut(m[1], ".")
			if lines[key] == 0 {
				lines[key] = number
			}
		}
	}
	return lines
}
