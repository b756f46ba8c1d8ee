package redoubt

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// weaknessList is MITRE's Common Weakness Enumeration: its licence, then a
// line for each weakness and category, number and name, with a tab between.
// internal/tools/weaknesses makes it from MITRE's catalogue.
//
//go:embed weakness.tsv
var weaknessList string

// weaknessNames maps the numbers of weaknesses to their names.
var weaknessNames = sync.OnceValue(func() map[string]string {
	names := make(map[string]string, 1500)
	for line := range strings.Lines(weaknessList) {
		if number, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && line[0] != '#' {
			names[number] = name
		}
	}
	return names
})

var weaknessID = regexp.MustCompile(`^(?i:CWE-)0*([1-9][0-9]{0,6})(:.*)?$`)

// NameWeaknesses gives weaknesses that are only numbered, as CWE-79, the name
// that MITRE gives them, as scanners that tell names spell it: "CWE-79:
// Improper Neutralization …". A weakness that is told with and without its
// name is told once. What already has a name keeps it, and what is not known
// stays as it is.
func NameWeaknesses(list []string) []string {
	seen := make(map[string]int, len(list)) // index in out by number
	var out []string
	for _, told := range list {
		m := weaknessID.FindStringSubmatch(told)
		if m == nil {
			out = append(out, told)
			continue
		}
		named := strings.TrimSpace(strings.TrimPrefix(m[2], ":")) != ""
		if !named {
			told = "CWE-" + m[1]
			if name := weaknessNames()[m[1]]; name != "" {
				told += ": " + name
			}
		}
		i, known := seen[m[1]]
		switch {
		case !known:
			seen[m[1]] = len(out)
			out = append(out, told)
		case named:
			out[i] = told
		}
	}
	return out
}
