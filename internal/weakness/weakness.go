// Package weakness gives the numbers of MITRE's Common Weakness Enumeration the
// names that MITRE gives them.
//
// Its border: a list and what reads it. It is pure, and knows no finding, no
// rule and no advisory.
package weakness

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// catalogue is MITRE's licence, then a line for each weakness and category:
// number and name, with a tab between. internal/tools/weaknesses makes it.
//
//go:embed catalogue.tsv
var catalogue string

// names maps the numbers of weaknesses to their names.
var names = sync.OnceValue(func() map[string]string {
	names := make(map[string]string, 1500)
	for line := range strings.Lines(catalogue) {
		if number, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && line[0] != '#' {
			names[number] = name
		}
	}
	return names
})

var numbered = regexp.MustCompile(`^(?i:CWE-)0*([1-9][0-9]{0,6})(:.*)?$`)

// Name gives weaknesses that are only numbered, as CWE-79, their name, as
// scanners that tell names spell it: "CWE-79: Improper Neutralization …". A
// weakness that is told with and without its name is told once. What already
// has a name keeps it, and what is not known stays as it is.
func Name(list []string) []string {
	seen := make(map[string]int, len(list)) // index in out by number
	var out []string
	for _, told := range list {
		m := numbered.FindStringSubmatch(told)
		if m == nil {
			out = append(out, told)
			continue
		}
		named := strings.TrimSpace(strings.TrimPrefix(m[2], ":")) != ""
		if !named {
			told = "CWE-" + m[1]
			if name := names()[m[1]]; name != "" {
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
