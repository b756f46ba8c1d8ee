package model

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FindingComment is what somebody wrote about a finding, for people. It decides nothing, and
// hangs on the lineage, as decisions do (semantics §6).
type FindingComment struct {
	ID          int64
	LineageID   int64
	Text        string // empty once it was withdrawn
	WrittenAt   time.Time
	WrittenBy   Actor
	AuthorID    int64 // user who wrote it; 0: no user did
	WithdrawnAt time.Time
	WithdrawnBy Actor
	Mentions    []Mentioned
}

// Withdrawn reports whether the text is gone.
func (c FindingComment) Withdrawn() bool { return !c.WithdrawnAt.IsZero() }

// Mentioned is a user whom a comment names.
type Mentioned struct {
	UserID int64
	Name   string // to sign in with
}

// Bounds of comments.
const (
	MaxCommentsOf    = 500 // of one finding, withdrawn ones counted
	MaxCommentsOfOne = 300 // of one person in 24 hours, or of one token that is no user's
	MaxMentions      = 20  // people that one comment names; further names are text
	// maxMentionEnds is how many characters at the end of a name are tried one by one as what
	// ends a sentence.
	maxMentionEnds = 3
)

// CommentText is what somebody writes about a finding, without what terminals would obey. One
// that is empty, too long or no text is a *InvalidError.
func CommentText(said string) (string, error) {
	text := strings.TrimSpace(Note(said))
	if n := utf8.RuneCountInString(text); n == 0 || n > MaxNote || !utf8.ValidString(said) ||
		strings.ContainsRune(said, 0) {
		return text, Invalid("text", "write 1 to %d characters", MaxNote)
	}
	return text, nil
}

// Mention is where a text names somebody, as @ana.
type Mention struct {
	Start, End int    // bytes, from the @ on
	Name       string // as users have it
}

var mentionPattern = regexp.MustCompile(`@[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}`)

// Mentions finds who of some people a text names, in its order. A name may end a sentence:
// of @ana. the point is no part. What is inside a word, as an address of mail, names nobody.
func Mentions(text string, known func(name string) bool) (found []Mention) {
	for _, at := range mentionPattern.FindAllStringIndex(text, -1) {
		for _, name := range mentionedNames(text, at) {
			if known(name) {
				found = append(found, Mention{at[0], at[0] + 1 + len(name), name})
				break
			}
		}
	}
	return found
}

// MentionedNames are the names that a text may mean, each once: six at most of each @, so
// that of a comment a few thousand are looked up, at once.
func MentionedNames(text string) (names []string) {
	seen := map[string]bool{}
	for _, at := range mentionPattern.FindAllStringIndex(text, -1) {
		for _, name := range mentionedNames(text, at) {
			if !seen[name] {
				seen[name], names = true, append(names, name)
			}
		}
	}
	return names
}

// mentionedNames are what a match may mean, the longest first: it may end with what ends a
// sentence. Of a long end its points are tried as one, and all of it.
func mentionedNames(text string, at []int) (names []string) {
	before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
	if unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("._@+-/", before) {
		return nil
	}
	whole := strings.ToLower(text[at[0]+1 : at[1]])
	least := strings.TrimRight(whole, "._@+-")
	for n := range maxMentionEnds + 1 {
		if end := len(whole) - n; end >= len(least) {
			names = append(names, whole[:end])
		}
	}
	for _, name := range []string{strings.TrimRight(whole, "."), least} {
		if len(name) < len(names[len(names)-1]) {
			names = append(names, name)
		}
	}
	return names
}
