package secrets

import (
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/report/read"
)

// SecretTypeOf returns a readable kind of credential from the id of a rule, such as "stripe" for
// stripe-access-token. It removes the words that are common to such rules.
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

// Position is a position in a file as Semgrep writes it; line and column are 1-based.
type Position struct {
	Line   read.Number `json:"line"`
	Col    read.Number `json:"col"`
	Offset read.Number `json:"offset"` // 0-based, in the file
}

// Region returns the match within its lines. Columns count characters and are 1-based; the end is
// exclusive.
func Region(lines string, start, end Position) string {
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
