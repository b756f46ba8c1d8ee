// Package globalsearch searches a deployment by name or ID for findings, vulnerabilities, packages,
// projects, rules and saved views. It parses and ranks queries and enforces visibility. Names are
// read from the index and the store.
package globalsearch

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// Limits of a query. They bound the work, since each word is compared with every name.
const (
	MaxText  = 200 // characters
	MaxWords = 16
)

// Query is a parsed query. The zero Query is empty and matches every name.
type Query struct {
	text    string   // in lower case, with single spaces
	words   []string // of the text
	finding int64    // finding ID in the query; 0 if none
}

// ParseQuery parses a query. It returns a *model.InvalidError for the parameter "q" if the text is
// invalid or exceeds a limit.
func ParseQuery(typed string) (Query, error) {
	q := Query{words: strings.Fields(strings.ToLower(typed))}
	if !utf8.ValidString(typed) || strings.ContainsRune(typed, 0) {
		return Query{}, model.Invalid("q", "must be UTF-8 without zero bytes")
	}
	if utf8.RuneCountInString(typed) > MaxText || len(q.words) > MaxWords {
		return Query{}, model.Invalid("q", "must have at most %d words and %d characters", MaxWords, MaxText)
	}
	q.text = strings.Join(q.words, " ")
	if n, err := strconv.ParseUint(strings.TrimPrefix(q.text, "#"), 10, 32); err == nil {
		q.finding = int64(n)
	}
	return q, nil
}

// Empty reports whether the query is empty.
func (q Query) Empty() bool { return len(q.words) == 0 }

// Rank is the quality of a hit; lower is better.
type Rank int

// Ranks, best first.
const (
	RankID     Rank = iota // ID of a finding or vulnerability
	RankName               // complete name
	RankPrefix             // prefix of the name
	RankWord               // prefixes of words in the name
	RankPart               // parts of the name
)

// Rank returns the rank of a name and whether it matches. A name matches if it contains all words,
// ignoring case.
func (q Query) Rank(name string) (rank Rank, matches bool) {
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

// beginsWord reports whether part occurs in text at the start, or after a character that is not a
// letter, digit or mark. For a part that starts with such a character it returns true.
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

// inWord reports whether a character belongs to a word.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// Part is a part of a name that matches the query or not.
type Part struct {
	Text string
	Hit  bool
}

// Parts splits a name into parts that match words of the query and parts that do not. Adjacent and
// overlapping matches are one part. The concatenated parts equal the name.
func (q Query) Parts(name string) (parts []Part) {
	runes := []rune(name)
	folded := make([]rune, len(runes)) // same length: each rune has one lower-case rune
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
