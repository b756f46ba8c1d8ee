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

// PathGlobs name paths of a repository as .gitignore files do, which is how
// scanners read what they are to leave out: * and ? stand for characters but /,
// [a-z] for one of them, ** for any number of folders. A glob without a slash
// in front or amid fits at any depth, one with a slash from the top; with one
// at its end, it fits folders only. What fits a folder fits all that is in it.
// Package internal/glob tells what they fit.
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
		case !utf8.ValidString(glob):
			return fmt.Errorf("%q will not do: a glob is UTF-8", glob)
		case slices.ContainsFunc(globSet.FindAllStringSubmatch(glob, -1), isNoSet):
			return fmt.Errorf("%q will not do: its brackets do not make a set of characters", glob)
		}
	}
	return nil
}

// globSet is what brackets hold; one that nothing closes stands for itself.
var globSet = regexp.MustCompile(`\[([^/\]]+)\]`)

// isNoSet reports whether what globSet found is no set of characters: it has
// none, or a range that begins with its upper end.
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

// ProjectGlobs bounds what a token sees; an empty list bounds nothing. In a
// glob, * stands for any run of characters but /, ** for any run at all.
type ProjectGlobs []string

// Allows reports whether a project of that name may be seen.
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

// Contain reports whether other globs fit no project beside those that these
// allow: each names one of them, or repeats a glob. No globs at all fit every
// project, and are contained only where these bound nothing.
func (g ProjectGlobs) Contain(others ProjectGlobs) bool {
	outside := func(glob string) bool {
		return !slices.Contains(g, glob) && (strings.Contains(glob, "*") || !g.Allows(glob))
	}
	return len(g) == 0 || len(others) > 0 && !slices.ContainsFunc(others, outside)
}

// Claim is the id of a repository as a token says it that is bound by the globs:
// another text for other globs, so that it is nobody else's. It is empty where
// the globs bound nothing, or there is no id.
func (g ProjectGlobs) Claim(repoID string) string {
	if len(g) == 0 || repoID == "" {
		return ""
	}
	globs := slices.Compact(slices.Sorted(slices.Values(g)))
	sum := sha256.Sum256([]byte(strings.Join(globs, "\x00"))) // which no glob holds
	return hex.EncodeToString(sum[:16]) + " " + repoID
}

// Claims reports whether a claim was made under these globs.
func (g ProjectGlobs) Claims(claim string) bool {
	before, _, _ := strings.Cut(g.Claim("x"), " ")
	return before != "" && strings.HasPrefix(claim, before+" ")
}

// globMatch walks the glob once and keeps every place of the name that the part
// walked so far can end at, so no glob takes more than their product in time.
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

// spread lets every end reach on, past slashes only when deep.
func spread(ends []bool, name string, deep bool) {
	for i := range len(name) {
		if ends[i] && (deep || name[i] != '/') {
			ends[i+1] = true
		}
	}
}

// Check returns an *InvalidError about texts that are not globs.
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
		fault("%d globs are given; %d are allowed", len(globs), MaxPolicyGlobs)
	}
	for _, glob := range globs {
		if glob == "" || utf8.RuneCountInString(glob) > maxGlob || HasControls(glob) {
			fault("%.80q will not do: a glob is UTF-8 without control characters, of 1 to %d characters", glob, maxGlob)
		}
	}
}
