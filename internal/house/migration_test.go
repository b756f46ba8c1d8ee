package house

import (
	"fmt"
	"path"
	"regexp"
	"slices"
)

// migrations is the folder of the schema.
const migrations = "internal/store/migrations"

var migrationName = regexp.MustCompile(`^([0-9]{5})_([a-z0-9_]+)(\.(?:sqlite|postgres))?\.sql$`)

// migrationsAreNumbered finds migrations that share a number, which no database opens with. The two engines may have
// each a file of one migration.
func migrationsAreNumbered(src *source) (broken []string) {
	taken := map[string]string{} // file by number and engine
	for _, name := range slices.Sorted(slices.Values(src.tracked)) {
		if path.Dir(name) != migrations {
			continue
		}
		m := migrationName.FindStringSubmatch(path.Base(name))
		if m == nil {
			broken = append(broken, name+": a migration is called as 00012_what.sql, with .sqlite or .postgres before .sql where the engines differ")
			continue
		}
		engines := []string{".sqlite", ".postgres"}
		if m[3] != "" {
			engines = []string{m[3]}
		}
		for _, engine := range engines {
			if other := taken[m[1]+engine]; other != "" {
				broken = append(broken, fmt.Sprintf("%s: has the number of %s: take the next free one", name, other))
				break
			}
			taken[m[1]+engine] = name
		}
	}
	return broken
}
