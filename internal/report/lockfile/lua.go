package lockfile

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	luaTable = regexp.MustCompile(`^\s*(?:build_|test_)?dependencies\s*=\s*\{(\s*\},?)?\s*$`)
	luaEntry = regexp.MustCompile(`^\s*(?:\["([^"]+)"\]|([A-Za-z_][A-Za-z0-9_]*))\s*=\s*"([^"]+)",?\s*$`)
)

// readLuaRocksLock reads luarocks.lock, a table with a line for each rock.
func readLuaRocksLock(l *lock) error {
	depth := 0
	began, ended := false, false
	for number, line := range l.numbered {
		bare := strings.TrimSpace(line)
		switch m, table := luaEntry.FindStringSubmatch(line), luaTable.FindStringSubmatch(line); {
		case bare == "" || strings.HasPrefix(bare, "--"):
		case !began && (bare == "return {" || bare == "return {}"):
			began, ended, depth = true, bare == "return {}", 1
		case !began || ended:
			return read.NotA("luarocks.lock", "line %d is outside of the returned table", number)
		case depth == 1 && table != nil:
			if table[1] == "" {
				depth++
			}
		case bare == "}" || bare == "},":
			depth--
			ended = depth == 0
		case depth == 2 && m != nil:
			l.Add(model.Dependency{Name: cmp.Or(m[1], m[2]), Version: m[3], Line: number})
		default:
			return read.NotA("luarocks.lock", "line %d is not a rock with a version", number)
		}
	}
	switch {
	case !began:
		return read.NotA("luarocks.lock", "it does not return a table")
	case !ended:
		return read.CutOff("the returned table is not closed")
	}
	return nil
}
