package redoubt

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// PathGlobs name paths of a repository as .gitignore files do, which is how
// scanners read what they are to leave out: * and ? stand for characters but /,
// [a-z] for one of them, ** for any number of folders. A glob without a slash
// in front or amid fits at any depth, one with a slash from the top; with one
// at its end, it fits folders only. What fits a folder fits all that is in it.
type PathGlobs []string

// Check says what is wrong with the globs, or returns nil: comments and
// negations have no place among them.
func (g PathGlobs) Check() error {
	for _, glob := range g {
		switch {
		case strings.TrimSpace(glob) != glob || strings.Trim(glob, "/") == "":
			return fmt.Errorf("%q will not do: a glob names a file or a folder, with no space around it", glob)
		case strings.HasPrefix(glob, "#") || strings.HasPrefix(glob, "!"):
			return fmt.Errorf("%q will not do: a glob with # or ! in front is none", glob)
		case strings.HasPrefix(glob, "./") || strings.Contains(glob, "//") || strings.Contains(glob, `\`):
			return fmt.Errorf("%q will not do: a glob has no ./ in front, no // and no backslash", glob)
		}
		if _, err := globExpression(glob); err != nil {
			return fmt.Errorf("%q will not do: %w", glob, err)
		}
	}
	return nil
}

// Match reports whether a path, relative to the top of the repository, fits one
// of the globs, which Check has passed.
func (g PathGlobs) Match(path string) bool {
	for _, glob := range g {
		if e, err := globExpression(glob); err == nil && e.MatchString(path) {
			return true
		}
	}
	return false
}

var globExpressions sync.Map // by glob: *regexp.Regexp; policies have few

func globExpression(glob string) (*regexp.Regexp, error) {
	if known, ok := globExpressions.Load(glob); ok {
		return known.(*regexp.Regexp), nil
	}
	e, err := regexp.Compile(globPattern(glob))
	if err != nil {
		return nil, fmt.Errorf("its brackets do not make a set of characters: %w", err)
	}
	globExpressions.Store(glob, e)
	return e, nil
}

// globPattern writes a glob as a regular expression on whole paths.
func globPattern(glob string) string {
	body := strings.Trim(glob, "/")
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	if !strings.HasPrefix(glob, "/") && !strings.Contains(body, "/") {
		b.WriteString(`(?:.*/)?`)
	}
	segments := strings.Split(body, "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch {
		case segment == "**" && last:
			b.WriteString(`.+`)
		case segment == "**":
			b.WriteString(`(?:.*/)?`)
		default:
			globSegment(&b, segment)
			if !last {
				b.WriteByte('/')
			}
		}
	}
	if strings.HasSuffix(glob, "/") {
		b.WriteString(`/.*`)
	} else {
		b.WriteString(`(?:/.*)?`)
	}
	b.WriteString(`\z`)
	return b.String()
}

func globSegment(b *strings.Builder, segment string) {
	for segment != "" {
		switch segment[0] {
		case '*':
			segment = strings.TrimLeft(segment, "*")
			b.WriteString(`[^/]*`)
			continue
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			if end := strings.IndexByte(segment[1:], ']'); end > 0 {
				set := segment[1 : end+1]
				if strings.HasPrefix(set, "!") {
					set = "^" + set[1:]
				}
				b.WriteString("[" + strings.ReplaceAll(set, "[", `\[`) + "]")
				segment = segment[end+2:]
				continue
			}
			b.WriteString(`\[`)
		default:
			b.WriteString(regexp.QuoteMeta(segment[:1]))
		}
		segment = segment[1:]
	}
}
