package align

import (
	"path"
	"strings"
	"unicode"
)

// hashComments are the endings of files in whose language a # begins a comment.
var hashComments = map[string]bool{
	".py": true, ".rb": true, ".sh": true, ".bash": true, ".yaml": true, ".yml": true,
	".tf": true, ".hcl": true, ".toml": true, ".ex": true, ".exs": true, ".r": true, ".jl": true,
}

// slashComments are those in whose language // and /* begin one.
var slashComments = map[string]bool{
	".js": true, ".jsx": true, ".mjs": true, ".cjs": true, ".ts": true, ".tsx": true, ".java": true,
	".kt": true, ".kts": true, ".scala": true, ".go": true, ".c": true, ".h": true, ".cc": true,
	".cpp": true, ".hpp": true, ".cs": true, ".swift": true, ".rs": true, ".php": true,
	".dart": true, ".sol": true, ".groovy": true, ".tf": true, ".hcl": true,
}

// Loose returns the code of a file without what a formatter or a reviewer changes: spaces and
// breaks of lines outside of strings, comments in the languages whose comments
// are known by the name of the file, and a ; or , at the end. A string ends with its line,
// unless it stands between backquotes, so that an apostrophe in text hides no more. A comment
// begins a line or stands behind a space; those of // and /* also behind one of ;,{}. Any other
// mark is code: that of an address, of a regular expression, or of ${name#prefix}.
//
// A match that is nothing but a comment stands for itself, as does one that begins in a
// comment, given the column in which it does, from 1: a secret may stand there.
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
	before := byte('\n') // what stands before the rest of the code
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

// stringEnd is the length of the string that code begins with.
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

// after is what follows the first mark; nothing where there is none.
func after(code, mark string) string {
	_, rest, _ := strings.Cut(code, mark)
	return rest
}
