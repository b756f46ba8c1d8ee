package inventory

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// licenceTermSize is the size of an encoded term in bytes.
const licenceTermSize = 8

// licenceTerms returns the search terms of license expressions: one for each expression and one for
// each license in it. "(MIT OR Apache-2.0)" matches MIT, "MIT-0" does not. A text that is not an
// SPDX expression only matches as a whole.
func licenceTerms(expressions []string) []uint64 {
	terms := make([]uint64, 0, len(expressions))
	for _, expression := range expressions {
		terms = append(terms, licenceTerm(expression))
		for _, id := range licenceIDs(expression) {
			terms = append(terms, licenceTerm(id))
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// licenceTerm returns the term of a license name, ignoring case as SPDX requires. It is a truncated
// SHA-256 digest, so collisions are hard to construct.
func licenceTerm(name string) uint64 {
	digest := sha256.Sum256([]byte(strings.Map(foldRune, name)))
	return binary.LittleEndian.Uint64(digest[:])
}

// licenceBytes returns the encoded term of a license.
func licenceBytes(name string) []byte {
	return binary.LittleEndian.AppendUint64(nil, licenceTerm(name))
}

// foldRune returns the lowest of the runes that strings.EqualFold considers equal.
func foldRune(r rune) rune {
	if r < utf8.RuneSelf {
		return unicode.ToUpper(r)
	}
	first := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		first = min(first, next)
	}
	return first
}

// licenceIDs returns the licenses in an SPDX expression, without their exceptions, or nil if the
// text is not an expression. GPL-2.0+ also contains GPL-2.0.
func licenceIDs(expression string) []string {
	var ids []string
	depth, operand := 0, true // operand: an operand is expected next
	words := licenceWords(expression)
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "(" && operand:
			depth++
		case word == ")" && !operand && depth > 0:
			depth--
		case isOperator(word) && !operand && i+1 < len(words):
			if operand = true; strings.EqualFold(word, "WITH") {
				i++ // skip the exception
				operand = false
			}
		case operand && !isOperator(word) && word != "(" && word != ")":
			ids = append(ids, word)
			if base, later := strings.CutSuffix(word, "+"); later {
				ids = append(ids, base)
			}
			operand = false
		default:
			return nil
		}
	}
	if operand || depth > 0 {
		return nil
	}
	return ids
}

func isOperator(word string) bool {
	return strings.EqualFold(word, "AND") || strings.EqualFold(word, "OR") || strings.EqualFold(word, "WITH")
}

// licenceWords splits an expression at spaces and parentheses; parentheses are words.
func licenceWords(expression string) []string {
	spaced := strings.NewReplacer("(", " ( ", ")", " ) ").Replace(expression)
	return strings.FieldsFunc(spaced, unicode.IsSpace)
}
