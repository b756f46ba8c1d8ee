package archtest

import (
	"path"
	"regexp"
	"strings"
)

var migrationName = regexp.MustCompile(`^([0-9]{5})_([a-z0-9_]+)(\.(?:sqlite|postgres))?\.sql$`)

// migrationsAreNumbered finds SQL files in directories named migrations that share a number: such a
// database cannot be opened. One migration may have a file for each engine.
func migrationsAreNumbered(src *source) (found findings) {
	seen := map[string]string{} // file by folder, number and engine
	for _, name := range src.names {
		dir := path.Dir(name)
		if path.Base(dir) != "migrations" || path.Ext(name) != ".sql" || !within(name, "internal") {
			continue
		}
		m := migrationName.FindStringSubmatch(path.Base(name))
		if m == nil {
			found.add(name, "%s: invalid name: use 00012_subject.sql, with .sqlite or .postgres before .sql for one engine", name)
			continue
		}
		for _, engine := range []string{".sqlite", ".postgres"} {
			key := dir + m[1] + engine
			if !strings.Contains(engine, m[3]) {
				continue
			}
			if other := seen[key]; other != "" {
				found.add(name, "%s: has the number of %s: use the next free one", name, other)
				break
			}
			seen[key] = name
		}
	}
	return found
}
