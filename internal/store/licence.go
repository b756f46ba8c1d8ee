package store

import (
	"strings"
	"unicode"
)

// hasLicence reports whether a licence expression is, or names, the licence:
// MIT is in "(MIT OR Apache-2.0)" and not in "MIT-0". Case does not matter, as
// SPDX has it. What is no SPDX expression is only ever compared as a whole.
func hasLicence(expression, licence string) bool {
	if strings.EqualFold(expression, licence) {
		return true
	}
	for _, id := range licenceIDs(expression) {
		if strings.EqualFold(id, licence) {
			return true
		}
	}
	return false
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
