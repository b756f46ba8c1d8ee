package inventory

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// licenceTermSize is what one term of licenceTerms takes, in bytes.
const licenceTermSize = 8

// licenceTerms are what licence expressions are found by: the term of each, and of each
// licence that it names. MIT is in "(MIT OR Apache-2.0)" and not in "MIT-0". What is no
// SPDX expression is only ever found as a whole.
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

// licenceTerm stands for a licence's name whatever its case, which does not matter, as
// SPDX has it: so many bits of a digest that nobody makes another name for them.
func licenceTerm(name string) uint64 {
	digest := sha256.Sum256([]byte(strings.Map(foldRune, name)))
	return binary.LittleEndian.Uint64(digest[:])
}

// licenceBytes is a licence's term as contents hold it.
func licenceBytes(name string) []byte {
	return binary.LittleEndian.AppendUint64(nil, licenceTerm(name))
}

// foldRune is the same for runes that strings.EqualFold takes for equal: the first of them.
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

// licenceIDs lists the licences that an SPDX expression names, without their
// exceptions; none when the text is no expression. GPL-2.0+ also names GPL-2.0.
func licenceIDs(expression string) []string {
	var ids []string
	depth, operand := 0, true // an operand is expected next
	words := licenceWords(expression)
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "(" && operand:
			depth++
		case word == ")" && !operand && depth > 0:
			depth--
		case isOperator(word) && !operand && i+1 < len(words):
			if operand = true; strings.EqualFold(word, "WITH") {
				i++ // the exception
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

// licenceWords splits at spaces and takes parentheses as words.
func licenceWords(expression string) []string {
	spaced := strings.NewReplacer("(", " ( ", ")", " ) ").Replace(expression)
	return strings.FieldsFunc(spaced, unicode.IsSpace)
}
