package version

import (
	"cmp"
	"regexp"
)

// The two ways in which Composer's Semver writes a release, in lower case:
// up to four numbers, or a date of six digits or more. Both end in how stable
// it is. Branches (dev-main, 1.x-dev) have no order.
const composerStability = `[._-]?(?:(stable|beta|b|rc|alpha|a|patch|pl|p)((?:[.-]?\d+)*)?)?([.-]?dev)?(?:\+\S+)?$`

var (
	composerNumbers = regexp.MustCompile(`^v?(\d{1,5})(?:\.(\d+))?(?:\.(\d+))?(?:\.(\d+))?` + composerStability)
	composerDate    = regexp.MustCompile(`^v?(\d{4}(?:[.:-]?\d{2}){1,6}(?:[.:-]?\d{1,3}){0,2})` + composerStability)
	nonDigits       = regexp.MustCompile(`\D+`)
)

// Words lie around the end of a release as PHP's version_compare has them: what
// is said to be a patch of it comes after it.
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

// composerPart is a number or, without digits, a word.
type composerPart struct {
	digits string
	word   int
}

// composer is a release of a PHP package. Build metadata does not count.
type composer []composerPart

// parseComposer reads a release in lower case, or reports that s is none.
func parseComposer(s string) (composer, bool) {
	var v composer
	var stability []string
	if found := composerNumbers.FindStringSubmatch(s); found != nil {
		for _, digits := range found[1:5] { // what is left out is 0
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

// at returns a part, or the end.
func (v composer) at(i int) composerPart {
	if i < len(v) {
		return v[i]
	}
	return composerPart{word: composerEnd}
}

// compareComposerParts orders two parts. A number comes after all words but a
// patch, and after the end.
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

// weight is where a part lies among words.
func (p composerPart) weight() int {
	if p.digits != "" {
		return composerEnd
	}
	return p.word
}
