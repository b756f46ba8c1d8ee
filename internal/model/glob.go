package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// PathGlobs matches paths of a repository like .gitignore files do. * and ? match characters except
// /, and [a-z] matches one character of a set. ** matches any number of directories. A glob with a
// slash at the start or in the middle is anchored at the root; others match at any depth. A glob
// with a trailing slash matches directories only. A matching directory includes its content.
// Package internal/glob implements the matching.
type PathGlobs []string

// Check validates the globs. It rejects comments and negations.
func (g PathGlobs) Check() error {
	for _, glob := range g {
		switch {
		case strings.TrimSpace(glob) != glob || strings.Trim(glob, "/") == "":
			return fmt.Errorf("invalid glob %q: name a file or folder without surrounding spaces", glob)
		case strings.HasPrefix(glob, "#") || strings.HasPrefix(glob, "!"):
			return fmt.Errorf("invalid glob %q: remove # or ! at its start", glob)
		case strings.HasPrefix(glob, "./") || strings.Contains(glob, "//") || strings.Contains(glob, `\`):
			return fmt.Errorf("invalid glob %q: remove leading ./, // and backslashes", glob)
		case !utf8.ValidString(glob):
			return fmt.Errorf("invalid glob %q: use UTF-8", glob)
		case slices.ContainsFunc(globSet.FindAllStringSubmatch(glob, -1), isNoSet):
			return fmt.Errorf("invalid glob %q: its brackets are not a valid character set", glob)
		}
	}
	return nil
}

// globSet matches a bracket expression. An unclosed bracket is a literal character.
var globSet = regexp.MustCompile(`\[([^/\]]+)\]`)

// isNoSet reports whether a match of globSet is an invalid set: it is empty or has a descending
// range.
func isNoSet(brackets []string) bool {
	set := []rune(brackets[1])
	if set[0] == '!' || set[0] == '^' {
		set = set[1:]
	}
	bad := len(set) == 0
	for i := 0; i+2 < len(set); i++ {
		if set[i+1] == '-' {
			bad = bad || set[i] > set[i+2]
			i += 2
		}
	}
	return bad
}

// ProjectGlobs restricts the visible projects of a token. An empty list does not restrict. In a
// glob, * matches any characters except /, and ** any characters.
type ProjectGlobs []string

// Allows reports whether a project with the name is visible.
func (g ProjectGlobs) Allows(name string) bool {
	if len(g) == 0 {
		return true
	}
	for _, glob := range g {
		if globMatch(glob, name) {
			return true
		}
	}
	return false
}

// Contain reports whether other globs match only projects that these globs allow. Each must be the
// name of such a project or equal to one of these globs. An empty list matches every project, so
// only an empty list contains it.
func (g ProjectGlobs) Contain(others ProjectGlobs) bool {
	outside := func(glob string) bool {
		return !slices.Contains(g, glob) && (strings.Contains(glob, "*") || !g.Allows(glob))
	}
	return len(g) == 0 || len(others) > 0 && !slices.ContainsFunc(others, outside)
}

// Claim returns a form of a repository ID that is specific to these globs. It is used for IDs that
// tokens restricted by the globs report. It is empty if the list or the ID is empty.
func (g ProjectGlobs) Claim(repoID string) string {
	if len(g) == 0 || repoID == "" {
		return ""
	}
	globs := slices.Compact(slices.Sorted(slices.Values(g)))
	sum := sha256.Sum256([]byte(strings.Join(globs, "\x00"))) // NUL does not occur in globs
	return hex.EncodeToString(sum[:16]) + " " + repoID
}

// Claims reports whether a claim was created for these globs.
func (g ProjectGlobs) Claims(claim string) bool {
	before, _, _ := strings.Cut(g.Claim("x"), " ")
	return before != "" && strings.HasPrefix(claim, before+" ")
}

// globMatch processes the glob once and tracks all positions of the name at which the processed
// part can end. So its time is at most the product of the lengths.
func globMatch(glob, name string) bool {
	ends := make([]bool, len(name)+1)
	ends[0] = true
	for len(glob) > 0 {
		stars := len(glob) - len(strings.TrimLeft(glob, "*"))
		if stars > 0 {
			spread(ends, name, stars > 1)
			glob = glob[stars:]
			continue
		}
		for i := len(name); i > 0; i-- {
			ends[i] = ends[i-1] && name[i-1] == glob[0]
		}
		ends[0] = false
		glob = glob[1:]
	}
	return ends[len(name)]
}

// spread extends each end by any characters, including slashes if deep.
func spread(ends []bool, name string, deep bool) {
	for i := range len(name) {
		if ends[i] && (deep || name[i] != '/') {
			ends[i+1] = true
		}
	}
}

// Check returns an *InvalidError about invalid globs.
func (g ProjectGlobs) Check(location string) error {
	var bad InvalidError
	checkGlobs(g, func(format string, args ...any) {
		bad.Fields = append(bad.Fields, FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	})
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

func checkGlobs(globs []string, fault func(format string, args ...any)) {
	if len(globs) > MaxPolicyGlobs {
		fault("%d globs given; the limit is %d", len(globs), MaxPolicyGlobs)
	}
	for _, glob := range globs {
		if glob == "" || utf8.RuneCountInString(glob) > maxGlob || HasControls(glob) {
			fault("invalid glob %.80q: use 1 to %d UTF-8 characters without control characters", glob, maxGlob)
		}
	}
}
