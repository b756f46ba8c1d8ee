package report

import (
	"errors"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt"
)

var (
	gemSpec   = regexp.MustCompile(`^    (\S+) \(([^)]+)\)$`)
	gemWanted = regexp.MustCompile(`^  ([^\s!]+)`)
)

// readGemfileLock reads Gemfile.lock. Gems below PATH are the project's own;
// those below DEPENDENCIES are direct. A platform after the version, as
// 1.13.0-x86_64-linux, is dropped: gem versions hold no hyphen.
func readGemfileLock(l *lock) error {
	section := ""
	sections := 0
	direct := map[string]bool{}
	var found []redoubt.Dependency
	for number, line := range l.numbered {
		if line != "" && line[0] != ' ' {
			section = line
			sections++
			continue
		}
		if m := gemSpec.FindStringSubmatch(line); m != nil && (section == "GEM" || section == "GIT") {
			version, _, _ := strings.Cut(m[2], "-")
			found = append(found, redoubt.Dependency{Name: m[1], Version: version, Line: number})
		}
		if m := gemWanted.FindStringSubmatch(line); m != nil && section == "DEPENDENCIES" {
			direct[m[1]] = true
		}
	}
	if sections == 0 {
		return errors.New("it has no sections, so it is no Gemfile.lock")
	}
	for _, d := range found {
		d.Transitivity = transitivityOf(len(direct) > 0, direct[d.Name])
		l.add(d)
	}
	return nil
}
