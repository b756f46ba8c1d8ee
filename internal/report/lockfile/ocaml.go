package lockfile

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	opamField   = regexp.MustCompile(`^([a-z][a-z0-9-]*):\s*(.*)$`)
	opamPackage = regexp.MustCompile(`"([A-Za-z0-9_+-]+)"\s*\{\s*=\s*"([^"\s]+)"[^}]*\}`)
)

// readOpamLocked reads NAME.opam.locked, in which opam lock lists each package with one version.
func readOpamLocked(l *lock) error {
	field, open := "", false
	has := map[string]bool{}
	for number, line := range l.numbered {
		rest := line
		switch m := opamField.FindStringSubmatch(line); {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			continue
		case !open && m == nil:
			return read.NotA("opam file", "line %d is neither a field nor inside of one", number)
		case !open:
			field, rest = m[1], m[2]
			has[field] = true
			open = strings.HasPrefix(rest, "[") && !strings.HasSuffix(rest, "]") ||
				strings.HasPrefix(rest, `"""`) && strings.Count(rest, `"""`) == 1 ||
				strings.HasPrefix(rest, "{")
		case strings.TrimSpace(line) == "]" || strings.HasSuffix(line, `"""`) || strings.TrimSpace(line) == "}":
			open = false
		}
		if field == "depends" {
			for _, m := range opamPackage.FindAllStringSubmatch(rest, -1) {
				l.Add(model.Dependency{Name: m[1], Version: m[2], Line: number})
			}
		}
	}
	switch {
	case open:
		return read.CutOff("the field %s is incomplete", field)
	case !has["opam-version"]:
		return read.NotA("opam file", "it has no opam-version")
	}
	return nil
}
