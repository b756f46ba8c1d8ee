package auth

import (
	"bufio"
	"bytes"
	"compress/gzip"
	_ "embed" // the list
	"math"
	"strings"
	"sync"
	"unicode"
)

// commonPasswords are the passwords that people choose most, the first before
// all others, one a line and in small letters: those of @zxcvbn-ts/language-common
// 4.1.3 (MIT; common/LICENSE.zxcvbn-ts).
//
//go:embed common/passwords.txt.gz
var commonPasswords []byte

// maxWord is the longest entry of the list that is looked for, in characters.
const maxWord = 32

// ranks tells of each common password how early it is tried, from 1.
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

// plain undoes what people put in place of letters.
var plain = strings.NewReplacer("0", "o", "1", "l", "3", "e", "4", "a", "5", "s", "7", "t", "@",
	"a", "$", "s", "!", "i")

// What pieces of a password cost to guess, in bits.
const (
	yearBits   = 7.0 // one of a century or so
	repeatBits = 2.0 // how often the same, or the next, sign comes
	caseBits   = 1.0 // capitals where they are not needed, or signs for letters
	// minGuess is the least that a password must cost: a thousand million tries,
	// which is a night's work against one stolen hash of ours.
	minGuess = 30.0
)

// guessBits estimates what a password costs to guess by who tries common ones,
// words that belong to the person, years, repetitions and rows of signs before
// anything else: the cheapest way to put it together of such pieces.
func guessBits(password string, about []string) float64 {
	text := []rune(password)
	text = text[:min(len(text), 4*MinPassword)]    // what is longer is dear enough by then
	lower := []rune(strings.ToLower(string(text))) // as many: a letter has one small one
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

// signBits is what a sign costs that belongs to no piece; letters are small.
func signBits(r rune) float64 {
	switch {
	case unicode.IsDigit(r):
		return math.Log2(10)
	case r >= 'a' && r <= 'z':
		return math.Log2(26)
	}
	return math.Log2(33)
}

// pieceBits is what three signs or more cost as one piece.
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

// wordBits is what a word costs: a bit where it is of the person, else by how early
// it is tried among the common ones, without end where it is none of them.
func wordBits(word string, personal map[string]bool) float64 {
	if personal[word] {
		return 1
	}
	if rank := ranks()[word]; rank > 0 {
		return 1 + math.Log2(rank)
	}
	return math.Inf(1)
}

// row reports whether signs go up, or down, by the same step.
func row(signs []rune, step rune) bool {
	for i := 1; i < len(signs); i++ {
		if signs[i]-signs[i-1] != step {
			return false
		}
	}
	return true
}
