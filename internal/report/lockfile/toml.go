package lockfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/redoubt/redoubt/internal/report/read"
)

// maxTOMLDepth is the maximum nesting of arrays, inline tables and dotted keys. Lockfiles need four
// levels. The decoder has no limit and takes minutes for a key of a thousand parts.
const maxTOMLDepth = 32

// toml decodes the file into v.
func (l *lock) toml(v any) error {
	if tomlDepth(l.Data) > maxTOMLDepth {
		return fmt.Errorf("it nests more than %d levels deep", maxTOMLDepth)
	}
	err := toml.Unmarshal(l.Data, v)
	if wrong := (toml.ParseError{}); errors.As(err, &wrong) {
		return fmt.Errorf("line %d is not TOML: %s", wrong.Position.Line, read.OneLine(wrong.Message, read.MaxName))
	}
	if err != nil {
		return fmt.Errorf("it is TOML, but not a lockfile: %s", read.OneLine(err.Error(), read.MaxName))
	}
	return nil
}

// tomlDepth returns the nesting depth of brackets outside of strings and comments. If there are
// more dots between two separators, it returns their number.
func tomlDepth(data []byte) int {
	depth, dots, deepest := 0, 0, 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth = max(depth-1, 0)
		case '.':
			dots++
			deepest = max(deepest, dots)
		case '\n', ',':
			dots = 0
		case '#':
			for i+1 < len(data) && data[i+1] != '\n' {
				i++
			}
		case '"', '\'':
			i = skipTOMLString(data, i)
		}
	}
	return deepest
}

// skipTOMLString returns the index of the last byte of the string that begins at i. A string on one
// line ends at the end of the line at the latest.
func skipTOMLString(data []byte, i int) int {
	quote := data[i]
	triple := i+2 < len(data) && data[i+1] == quote && data[i+2] == quote
	if triple {
		i += 2
	}
	for i++; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && !triple, data[i] == '\n' && !triple:
			return i
		case triple && data[i] == quote && i+2 < len(data) && data[i+1] == quote && data[i+2] == quote:
			return i + 2
		}
	}
	return i
}

// nameLines returns the line of the name in each entry with the header, in order.
func (l *lock) nameLines(header string) []int {
	var lines []int
	waiting := false
	for number, line := range l.numbered {
		line = strings.TrimSpace(line)
		switch {
		case line == header:
			lines = append(lines, number)
			waiting = true
		case strings.HasPrefix(line, "["):
			waiting = false
		case waiting && isTOMLKey(line, "name"):
			lines[len(lines)-1] = number
			waiting = false
		}
	}
	return lines
}

func isTOMLKey(line, key string) bool {
	rest, ok := strings.CutPrefix(line, key)
	return ok && strings.HasPrefix(strings.TrimLeft(rest, " \t"), "=")
}

// lineOf returns the i-th line. It returns 0 if nameLines did not recognize all headers.
func lineOf(lines []int, i int) int {
	if i >= len(lines) {
		return 0
	}
	return lines[i]
}
