package auth

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed" // for commonPasswords
	"math"
	"strings"
	"sync"
	"unicode"
)

// commonPasswords contains the most common passwords, the most frequent first, one a line in lower
// case. They are from @zxcvbn-ts/language-common 4.1.3 (MIT; common/LICENSE.zxcvbn-ts).
//
//go:embed common/passwords.txt.gz
var commonPasswords []byte

// maxWord limits the length of looked-up words, in characters.
const maxWord = 32

// ranks returns the rank of each common password, from 1.
var ranks = sync.OnceValue(func() map[string]float64 {
	list := map[string]float64{}
	unzipped, err := gzip.NewReader(bytes.NewReader(commonPasswords))
	if err != nil {
		panic(err) // the list is part of the program
	}
	lines := bufio.NewScanner(unzipped)
	for lines.Scan() {
		list[lines.Text()] = float64(len(list) + 1)
	}
	return list
})

// plain replaces characters that are commonly substituted for letters.
var plain = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@",
	"a", "$", "s", "!", "i")

// Estimated entropy of parts of a password, in bits.
const (
	yearBits   = 7.0 // about one century
	repeatBits = 2.0 // number of repetitions of the same or the next character
	caseBits   = 1.0 // optional capitals or substituted letters
	// minGuess is the minimum entropy of a password. It corresponds to 10⁹ guesses, about one night
	// for one stolen hash.
	minGuess = 30.0
)

// guessBits estimates the entropy of a password as that of its cheapest combination of guessable
// parts. These are common passwords, personal words, years, repetitions and sequences.
func guessBits(password string, about []string) float64 {
	text := []rune(password)
	text = text[:min(len(text), 4*MinPassword)]    // longer passwords are strong enough
	lower := []rune(strings.ToLower(string(text))) // same length: a letter has one lower-case form
	personal := map[string]bool{}
	for _, a := range about {
		for _, word := range append(strings.FieldsFunc(strings.ToLower(a), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}), strings.ToLower(a)) {
			personal[word] = true
		}
	}
	best := make([]float64, len(text)+1)
	for end := 1; end <= len(text); end++ {
		best[end] = best[end-1] + signBits(lower[end-1])
		for start := max(0, end-maxWord); start < end-2; start++ {
			bits := pieceBits(string(lower[start:end]), personal)
			if string(text[start:end]) != string(lower[start:end]) {
				bits += caseBits
			}
			best[end] = min(best[end], best[start]+bits)
		}
	}
	return best[len(text)]
}

// signBits returns the entropy of a character outside of any part, in lower case.
func signBits(r rune) float64 {
	switch {
	case unicode.IsDigit(r):
		return math.Log2(10)
	case r >= 'a' && r <= 'z':
		return math.Log2(26)
	}
	return math.Log2(33)
}

// pieceBits returns the entropy of three or more characters as one part.
func pieceBits(piece string, personal map[string]bool) float64 {
	bits := min(wordBits(piece, personal), caseBits+wordBits(plain.Replace(piece), personal))
	if len(piece) == 4 && (strings.HasPrefix(piece, "19") || strings.HasPrefix(piece, "20")) &&
		strings.Trim(piece, "0123456789") == "" {
		bits = min(bits, yearBits)
	}
	signs := []rune(piece)
	if step := signs[1] - signs[0]; step >= -1 && step <= 1 && row(signs, step) {
		bits = min(bits, signBits(signs[0])+repeatBits)
	}
	return bits
}

// wordBits returns the entropy of a word: one bit for personal words, otherwise by the rank among
// common passwords. It is infinite for other words.
func wordBits(word string, personal map[string]bool) float64 {
	if personal[word] {
		return 1
	}
	if rank := ranks()[word]; rank > 0 {
		return 1 + math.Log2(rank)
	}
	return math.Inf(1)
}

// row reports whether consecutive characters differ by the same step.
func row(signs []rune, step rune) bool {
	for i := 1; i < len(signs); i++ {
		if signs[i]-signs[i-1] != step {
			return false
		}
	}
	return true
}
