package align

import (
	"path"
	"strings"
	"unicode"
)

// hashComments contains the extensions of languages in which # starts a comment.
var hashComments = map[string]bool{
	".py": true, ".rb": true, ".sh": true, ".bash": true, ".yaml": true, ".yml": true,
	".tf": true, ".hcl": true, ".toml": true, ".ex": true, ".exs": true, ".r": true, ".jl": true,
}

// slashComments contains the extensions of languages in which // and /* start comments.
var slashComments = map[string]bool{
	".js": true, ".jsx": true, ".mjs": true, ".cjs": true, ".ts": true, ".tsx": true, ".java": true,
	".kt": true, ".kts": true, ".scala": true, ".go": true, ".c": true, ".h": true, ".cc": true,
	".cpp": true, ".hpp": true, ".cs": true, ".swift": true, ".rs": true, ".php": true,
	".dart": true, ".sol": true, ".groovy": true, ".tf": true, ".hcl": true,
}

// Loose returns code without layout: spaces and line breaks outside of strings, comments, and a
// trailing ; or , character. The file's extension determines the comment syntax. A string ends with
// its line unless it is in backquotes, so that an apostrophe in text has limited effect.
//
// A comment starts at a line start or after a space; // and /* also after one of ;,{}. Other marks
// are code, for example in a URL, a regular expression, or ${name#prefix}.
//
// Loose retains the comments of a match that consists of a comment or starts in one at column,
// counted from 1. Such a match may be a secret.
func Loose(file, code string, column int) string {
	ending := strings.ToLower(path.Ext(file))
	hash, slash := hashComments[ending], slashComments[ending]
	inComment := column > 1 && column <= len(code) &&
		!strings.HasSuffix(withoutLayout(code[:column-1]+"x", hash, slash), "x")
	if loose := withoutLayout(code, hash, slash); loose != "" && !inComment {
		return loose
	}
	return withoutLayout(code, false, false)
}

func withoutLayout(code string, hash, slash bool) string {
	var b strings.Builder
	before := byte('\n') // the byte before the remaining code
	for all := code; len(code) > 0; before = all[len(all)-len(code)-1] {
		behindSpace := strings.IndexByte(" \t\r\n", before) >= 0
		slash := slash && (behindSpace || strings.IndexByte(";,{}", before) >= 0)
		switch c := code[0]; {
		case c == '"' || c == '\'' || c == '`':
			end := stringEnd(code)
			b.WriteString(code[:end])
			code = code[end:]
		case hash && behindSpace && c == '#', slash && strings.HasPrefix(code, "//"):
			code = after(code, "\n")
		case slash && strings.HasPrefix(code, "/*"):
			code = after(code[2:], "*/")
		default:
			n := strings.IndexFunc(code[1:], func(r rune) bool {
				return strings.ContainsRune("\"'`#/", r) || unicode.IsSpace(r)
			}) + 1
			if n == 0 {
				n = len(code)
			}
			b.WriteString(strings.TrimFunc(code[:n], unicode.IsSpace))
			code = code[n:]
		}
	}
	return strings.TrimRight(b.String(), ";,")
}

// stringEnd returns the length of the string at the start of code.
func stringEnd(code string) int {
	quote := code[0]
	for i := 1; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\\' && quote != '`':
			i++
		case c == quote:
			return i + 1
		case c == '\n' && quote != '`':
			return i
		}
	}
	return len(code)
}

// after returns the text after the first mark, or "" without a mark.
func after(code, mark string) string {
	_, rest, _ := strings.Cut(code, mark)
	return rest
}
