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

// goMigration is the number of a migration in Go: a constant of internal/store/migrate_….go.
var goMigration = regexp.MustCompile(`(?m)^\s*(?:const )?[a-z]\w*Version\s+= ([0-9]+)$`)

// migrationsAreNumbered finds migrations that share a number, which no database opens with. The two engines may have
// each a file of one migration.
func migrationsAreNumbered(src *source) (broken []string) {
	taken := map[string]string{} // file by number and engine
	for _, t := range src.texts {
		if ok, _ := path.Match("internal/store/migrate_*.go", t.path); !ok {
			continue
		}
		for _, m := range goMigration.FindAllStringSubmatch(t.content, -1) {
			number := fmt.Sprintf("%05s", m[1])
			if other := taken[number+".sqlite"]; other != "" {
				broken = append(broken, fmt.Sprintf("%s: has the number %s of %s: take the next free one", t.path, m[1], other))
			}
			taken[number+".sqlite"], taken[number+".postgres"] = t.path, t.path
		}
	}
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
