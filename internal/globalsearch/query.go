// Package globalsearch finds what a deployment has by its name or its number: findings,
// vulnerabilities, packages, projects, rules and saved views. It knows what is typed, how
// good a name fits it, and who may see what; names are kept by the index and the store.
package globalsearch

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// Bounds of what is typed: each word costs a look at all names.
const (
	MaxText  = 200 // characters
	MaxWords = 16
)

// Query is what somebody looks for. The zero one looks for nothing, and fits every name.
type Query struct {
	text    string   // in lower case, with single spaces
	words   []string // of the text
	finding int64    // the number that it is; 0 for none
}

// ParseQuery reads what is typed. What no person types is a *model.InvalidError about q.
func ParseQuery(typed string) (Query, error) {
	q := Query{words: strings.Fields(strings.ToLower(typed))}
	if !utf8.ValidString(typed) || strings.ContainsRune(typed, 0) {
		return Query{}, model.Invalid("q", "holds what is no text: a zero byte, or bytes that are not UTF-8")
	}
	if utf8.RuneCountInString(typed) > MaxText || len(q.words) > MaxWords {
		return Query{}, model.Invalid("q", "has at most %d words and %d characters: search for less", MaxWords, MaxText)
	}
	q.text = strings.Join(q.words, " ")
	if n, err := strconv.ParseUint(strings.TrimPrefix(q.text, "#"), 10, 32); err == nil {
		q.finding = int64(n)
	}
	return q, nil
}

// Empty reports whether nothing is looked for.
func (q Query) Empty() bool { return len(q.words) == 0 }

// Rank says how good a hit is: lower is better.
type Rank int

// Ranks, the best first.
const (
	RankID     Rank = iota // the number of a finding, or the id of a vulnerability
	RankName               // the whole name
	RankPrefix             // its beginning
	RankWord               // the beginnings of words of it
	RankPart               // anything in it
)

// Rank says how good a name fits, and whether it does: all words are in it, in any case.
func (q Query) Rank(name string) (rank Rank, fits bool) {
	name = strings.ToLower(name)
	for _, word := range q.words {
		if !strings.Contains(name, word) {
			return 0, false
		}
	}
	begins := func(word string) bool { return beginsWord(name, word) }
	switch {
	case name == q.text:
		return RankName, true
	case strings.HasPrefix(name, q.text):
		return RankPrefix, true
	case !slices.ContainsFunc(q.words, func(word string) bool { return !begins(word) }):
		return RankWord, true
	}
	return RankPart, true
}

// beginsWord reports whether a text holds a part that begins it, or that no letter or digit
// stands before. A part that begins with a sign begins a word.
func beginsWord(text, part string) bool {
	if first, _ := utf8.DecodeRuneInString(part); !inWord(first) {
		return true
	}
	for at := 0; ; {
		i := strings.Index(text[at:], part)
		if i < 0 {
			return false
		}
		at += i
		if before, size := utf8.DecodeLastRuneInString(text[:at]); size == 0 || !inWord(before) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// Part is a piece of a name: what was looked for, or what stands between.
type Part struct {
	Text string
	Hit  bool
}

// Parts cuts a name where the words that were looked for begin and end. Together the
// parts are the name.
func (q Query) Parts(name string) (parts []Part) {
	runes := []rune(name)
	folded := make([]rune, len(runes)) // as many as there are: each has one lower case
	for i, r := range runes {
		folded[i] = unicode.ToLower(r)
	}
	hit := make([]bool, len(runes))
	for _, word := range q.words {
		part := []rune(word)
		for at := 0; at+len(part) <= len(folded); at++ {
			if slices.Equal(folded[at:at+len(part)], part) {
				for i := range part {
					hit[at+i] = true
				}
			}
		}
	}
	for from := 0; from < len(runes); {
		to := from + 1
		for to < len(runes) && hit[to] == hit[from] {
			to++
		}
		parts = append(parts, Part{string(runes[from:to]), hit[from]})
		from = to
	}
	return parts
}
