package secrets

import (
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/report/read"
)

// SecretTypeOf makes a readable kind of credential of a rule's id, as
// "stripe" of stripe-access-token: whatever comes before the words that all
// such rules share.
func SecretTypeOf(rule string) string {
	rule = strings.TrimPrefix(rule[strings.LastIndexAny(rule, "./")+1:], "detected-")
	words := strings.FieldsFunc(rule, func(c rune) bool { return c == '-' || c == '_' })
	for i, w := range words {
		if i > 0 && slices.Contains(commonSecretWords, strings.ToLower(w)) {
			return strings.Join(words[:i], " ")
		}
	}
	return strings.Join(words, " ")
}

// Place is a place in a file as Semgrep writes it: line and column from 1.
type Place struct {
	Line   read.Number `json:"line"`
	Col    read.Number `json:"col"`
	Offset read.Number `json:"offset"` // from 0, in the file
}

// Region cuts the match out of the lines that hold it. Columns count
// characters from 1; the end is exclusive.
func Region(lines string, start, end Place) string {
	all := strings.Split(lines, "\n")
	last := int(end.Line - start.Line)
	if start.Col < 1 || end.Col < 1 || last < 0 || last >= len(all) {
		return lines
	}
	all = all[:last+1]
	tail := []rune(all[last])
	all[last] = string(tail[:min(int(end.Col)-1, len(tail))])
	first := []rune(all[0])
	all[0] = string(first[min(int(start.Col)-1, len(first)):])
	if cut := strings.Join(all, "\n"); strings.TrimSpace(cut) != "" {
		return cut
	}
	return lines
}

var commonSecretWords = []string{
	"access", "api", "app", "auth", "client", "key", "oauth", "pat",
	"personal", "personnal", "refresh", "secret", "service", "token", "webhook",
}
