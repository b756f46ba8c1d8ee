// Package glob matches paths of a repository with the globs of policies and exceptions.
// model.PathGlobs defines the syntax of globs.
package glob

import (
	"regexp"
	"strings"
	"sync"
)

// Match reports whether a path matches one of the globs. The path is relative to the root of the
// repository. A glob that model.PathGlobs.Check rejects may match no path.
func Match(globs []string, path string) bool {
	for _, glob := range globs {
		if e := expression(glob); e != nil && e.MatchString(path) {
			return true
		}
	}
	return false
}

var expressions sync.Map // compiled globs: string to *regexp.Regexp; policies have few

func expression(glob string) *regexp.Regexp {
	if known, ok := expressions.Load(glob); ok {
		return known.(*regexp.Regexp)
	}
	e, err := regexp.Compile(pattern(glob))
	if err != nil {
		return nil
	}
	expressions.Store(glob, e)
	return e
}

// pattern converts a glob to a regular expression that matches whole paths.
func pattern(glob string) string {
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
			writeSegment(&b, segment)
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

// unreadable is an invalid set of characters: a pattern that contains it does not compile.
const unreadable = "z-a"

func writeSegment(b *strings.Builder, segment string) {
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
				if set == "^" { // in a regular expression the bracket of [^] is a member of the set
					set = unreadable
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
