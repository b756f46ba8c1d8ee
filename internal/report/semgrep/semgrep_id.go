package semgrep

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/twmb/murmur3"
	"golang.org/x/crypto/blake2b"
)

// The identities of Semgrep's findings are computed as the scanner does. Reports without ids then
// match those that contain them. The hashes are computed from the text of a Python tuple. Secrets
// have no ids, because they could be guessed from unkeyed hashes (docs/reference/secrets.md).

// SyntacticID returns the scanner's syntactic_id. It is the MurmurHash3 (x64, 128 bits, seed 0) of
// the rule, the path, the code and the ordinal among equal ones.
func SyntacticID(rule, path, context string, index int) string {
	tuple := make([]byte, 0, len(rule)+len(path)+len(context)+32)
	tuple = appendRepr(append(tuple, '('), rule)
	tuple = appendRepr(append(tuple, ", "...), path)
	tuple = appendRepr(append(tuple, ", "...), context)
	tuple = strconv.AppendInt(append(tuple, ", "...), int64(index), 10)
	low, high := murmur3.Sum128(append(tuple, ')'))
	return hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low))
}

// MatchBasedID returns the scanner's match_based_id. It is a hash of the rule, the path and the
// rule's formula with the values of its metavariables.
func MatchBasedID(rule, path, formula string, index int) string {
	sum := blake2b.Sum512([]byte("(" + pyRepr(formula) + ", PosixPath(" + pyRepr(path) + "), " + pyRepr(rule) + ")"))
	return hex.EncodeToString(sum[:]) + "_" + strconv.Itoa(index)
}

// PatternHash returns the scanner's pattern_hash.
func PatternHash(formula string) string {
	sum := sha256.Sum256([]byte(formula))
	return hex.EncodeToString(sum[:])
}

var (
	newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")
	// pySpaces is \s in Python.
	pySpaces = `\s\v\x1c-\x1f\x{85}\p{Z}`
	nosem    = regexp.MustCompile(
		`(?i)[:#/]+ nosem(?:grep)?(?:[:=][` + pySpaces + `]?(?:[^,` + pySpaces + `][,` + pySpaces + `]*)+)?$`,
	)
)

func pySpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// SyntacticContext returns matched code in the form that the scanner compares. It removes a nosem
// comment from the first line, common indentation and surrounding space.
func SyntacticContext(lines string) string {
	if strings.Contains(lines, "\r") {
		lines = newlines.Replace(lines)
	}
	first, rest, _ := strings.Cut(lines, "\n")
	if strings.Contains(strings.ToLower(first), " no") { // a fast check before the slow regular expression
		first = nosem.ReplaceAllString(first, "")
	}
	first = strings.TrimRightFunc(first, pySpace) + "\n"
	return strings.TrimFunc(dedent(first+rest), pySpace)
}

// pyRepr returns Python's repr() of a string.
func pyRepr(s string) string { return string(appendRepr(nil, s)) }

// appendRepr appends Python's repr() of a string.
func appendRepr(out []byte, s string) []byte {
	quote := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	out = append(out, quote)
	from := 0 // start of the unchanged part
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= ' ' && c < 0x7f && c != quote && c != '\\' {
			continue
		}
		out = append(out, s[from:i]...)
		r, size := utf8.DecodeRuneInString(s[i:])
		from, i = i+size, i+size-1
		switch {
		case r == rune(quote), r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r > 0x7f && unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		default:
			out = appendEscape(out, r)
		}
	}
	return append(append(out, s[from:]...), quote)
}

// appendEscape appends the escape of an unprintable character.
func appendEscape(out []byte, r rune) []byte {
	kind, digits := `\x`, 2
	switch {
	case r > 0xffff:
		kind, digits = `\U`, 8
	case r > 0xff:
		kind, digits = `\u`, 4
	}
	number := strconv.FormatInt(int64(r), 16)
	return append(append(out, kind...), strings.Repeat("0", digits-len(number))+number...)
}

// PatternKeys are the members of a rule that contain patterns, sorted.
var PatternKeys = []string{
	"join", "match", "pattern", "pattern-either", "pattern-regex", "pattern-sinks", "pattern-sources", "patterns",
	"postprocessor-patterns", "request", "response", "taint",
}

// FormulaOf flattens the patterns of a rule in JSON to one string, independent of their order. It
// returns "" if they cannot be flattened.
func FormulaOf(rule []byte) string {
	var members map[string]any
	if json.Unmarshal(rule, &members) != nil {
		return ""
	}
	var parts []string
	for _, key := range PatternKeys {
		value := members[key]
		if value == nil {
			continue
		}
		part, ok := flatten(value)
		if !ok {
			return ""
		}
		parts = append(parts, part)
		if join, is := value.(map[string]any); is && key == "join" {
			on, _ := flatten(join["on"])
			parts = append(parts, strings.Split(on, "")...) // the scanner adds it letter by letter
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

// flatten joins the strings in a value, sorted on each level. It returns false if the value
// contains other scalars.
func flatten(value any) (string, bool) {
	var children []any
	switch v := value.(type) {
	case string:
		return v, true
	case []any:
		children = v
	case map[string]any:
		for _, child := range v {
			if child != nil {
				children = append(children, child)
			}
		}
	default:
		return "", false
	}
	parts := make([]string, 0, len(children))
	for _, child := range children {
		part, ok := flatten(child)
		if !ok {
			return "", false
		}
		parts = append(parts, part)
	}
	slices.Sort(parts)
	return strings.Join(parts, " "), true
}

// Metavar is a metavariable and its value.
type Metavar struct{ Name, Content string }

// Limits of metavariables. A match beyond them has no ids. Values may contain other metavariables,
// so that a few hundred bytes could expand to gigabytes.
const (
	maxMetavars = 1000
	MaxFormula  = 256 << 10 // bytes, with values inserted
)

// Bind replaces metavariables in a formula with their values. Longer names are replaced first, and
// names of equal length in the order of the report. ok is false if a limit is exceeded.
func Bind(formula string, metavars []Metavar) (bound string, ok bool) {
	if len(metavars) > maxMetavars {
		return "", false
	}
	slices.SortStableFunc(metavars, func(a, b Metavar) int { return len(b.Name) - len(a.Name) })
	for _, m := range metavars {
		if m.Name == "" {
			continue
		}
		if len(formula)+strings.Count(formula, m.Name)*(len(m.Content)-len(m.Name)) > MaxFormula {
			return "", false
		}
		formula = strings.ReplaceAll(formula, m.Name, m.Content)
	}
	return formula, true
}
