package lockfile

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	gemSpec   = regexp.MustCompile(`^    (\S+) \(([^)]+)\)$`)
	gemNeeds  = regexp.MustCompile(`^      (\S+)`)
	gemWanted = regexp.MustCompile(`^  ([^\s!]+)`)

	// Bundler ignores unknown sections, which newer versions write.
	gemSection = regexp.MustCompile(`^[A-Z]+(?: [A-Z]+)*$`)
)

// gemsOf are the sections with gems that are not in local folders, including plugins of Bundler.
var gemsOf = map[string]bool{"GEM": true, "GIT": true, "PLUGIN SOURCE": true}

// readGemfileLock reads Gemfile.lock. Gems in PATH are local and omitted; those in DEPENDENCIES are
// direct. A platform after the version, as in 1.13.0-x86_64-linux, is removed: versions of gems
// contain no hyphen.
func readGemfileLock(l *lock) error {
	section := ""
	has := map[string]bool{} // sections
	direct := map[string]bool{}
	type gem struct { // smaller than a model.Dependency, of which the report may have too many
		name, version string
		line          int
	}
	var found []gem
	for number, line := range l.numbered {
		if line != "" && line[0] != ' ' {
			if section = line; !gemSection.MatchString(line) {
				return read.NotA("Gemfile.lock", "line %d is neither indented nor the name of a section", number)
			}
			has[section] = true
			continue
		}
		if m := gemSpec.FindStringSubmatch(line); m != nil && gemsOf[section] {
			version, _, _ := strings.Cut(m[2], "-")
			found = append(found, gem{m[1], version, number})
		} else if m := gemNeeds.FindStringSubmatch(line); m != nil && len(found) > 0 && gemsOf[section] {
			l.AddEdge(found[len(found)-1].name, strings.TrimSuffix(m[1], "!"))
		}
		if m := gemWanted.FindStringSubmatch(line); m != nil && section == "DEPENDENCIES" {
			direct[m[1]] = true
		}
	}
	switch {
	case !has["GEM"] && !has["GIT"] && !has["PATH"] && !has["PLUGIN SOURCE"] && !has["PLATFORMS"] && !has["DEPENDENCIES"]:
		return read.NotA("Gemfile.lock", "it has none of the sections GEM, GIT, PATH, PLATFORMS and DEPENDENCIES")
	case !has["DEPENDENCIES"]:
		return read.CutOff("it lacks the section DEPENDENCIES after the gems")
	}
	for _, g := range found {
		l.Node(model.Dependency{
			Name: g.name, Version: g.version, Line: g.line,
			Transitivity: TransitivityOf(len(direct) > 0, direct[g.name]),
		}, g.name)
	}
	return nil
}
