package version

import (
	"cmp"
	"regexp"
)

// Composer's Semver accepts two formats of a release, matched in lower case. These are up to four
// numbers, or a date of at least six digits. Both end with the stability. Branches (dev-main,
// 1.x-dev) are unordered.
const composerStability = `[._-]?(?:(stable|beta|b|rc|alpha|a|patch|pl|p)((?:[.-]?\d+)*)?)?([.-]?dev)?(?:\+\S+)?$`

var (
	composerNumbers = regexp.MustCompile(`^v?(\d{1,5})(?:\.(\d+))?(?:\.(\d+))?(?:\.(\d+))?` + composerStability)
	composerDate    = regexp.MustCompile(`^v?(\d{4}(?:[.:-]?\d{2}){1,6}(?:[.:-]?\d{1,3}){0,2})` + composerStability)
	nonDigits       = regexp.MustCompile(`\D+`)
)

// The words are ordered relative to the end of a release as in PHP's version_compare. A patch of a
// release is greater than the release.
const (
	composerDev = iota + 1
	composerAlpha
	composerBeta
	composerRC
	composerEnd
	composerPatch
)

var composerWords = map[string]int{
	"alpha": composerAlpha, "a": composerAlpha, "beta": composerBeta, "b": composerBeta, "rc": composerRC,
	"patch": composerPatch, "pl": composerPatch, "p": composerPatch,
}

// composerPart is a number, or a word if digits is empty.
type composerPart struct {
	digits string
	word   int
}

// composer is a release of a PHP package. Build metadata is ignored.
type composer []composerPart

// parseComposer parses a release in lower case. It returns false if s is not a release.
func parseComposer(s string) (composer, bool) {
	var v composer
	var stability []string
	if found := composerNumbers.FindStringSubmatch(s); found != nil {
		for _, digits := range found[1:5] { // an omitted number is 0
			v = append(v, composerPart{digits: number("0" + digits)})
		}
		stability = found[5:]
	} else if found := composerDate.FindStringSubmatch(s); found != nil {
		v = v.numbers(found[1])
		stability = found[2:]
	} else {
		return nil, false
	}
	if word, known := composerWords[stability[0]]; known {
		v = append(v, composerPart{word: word}).numbers(stability[1])
	}
	if stability[2] != "" && stability[0] != "stable" {
		v = append(v, composerPart{word: composerDev})
	}
	return v, true
}

// numbers appends each run of digits.
func (v composer) numbers(text string) composer {
	for _, digits := range nonDigits.Split(text, -1) {
		if digits != "" {
			v = append(v, composerPart{digits: number(digits)})
		}
	}
	return v
}

func (v composer) compare(other parsed) int {
	w := other.(composer)
	for i := range max(len(v), len(w)) {
		if sign := compareComposerParts(v.at(i), w.at(i)); sign != 0 {
			return sign
		}
	}
	return 0
}

// at returns a part, or composerEnd after the last part.
func (v composer) at(i int) composerPart {
	if i < len(v) {
		return v[i]
	}
	return composerPart{word: composerEnd}
}

// compareComposerParts compares two parts. A number is greater than the end and than all words
// except composerPatch.
func compareComposerParts(a, b composerPart) int {
	switch {
	case a.digits != "" && b.digits != "":
		return compareDigits(a.digits, b.digits)
	case a.digits != "" && b.word == composerEnd:
		return 1
	case b.digits != "" && a.word == composerEnd:
		return -1
	}
	return cmp.Compare(a.weight(), b.weight())
}

// weight returns the order of a part among the words.
func (p composerPart) weight() int {
	if p.digits != "" {
		return composerEnd
	}
	return p.word
}
