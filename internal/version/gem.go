package version

import (
	"regexp"
	"slices"
	"strings"
)

// gemRuns matches the segments of a gem's version: runs of digits or of letters.
var gemRuns = regexp.MustCompile(`[0-9]+|[A-Za-z]+`)

// gem is the version of a Ruby gem as segments. It omits insignificant zeros: those at the end and
// those before the first word.
type gem []string

// parseGem parses a version that matches gemShape. A hyphen begins a pre-release.
func parseGem(s string) gem {
	segments := gemRuns.FindAllString(strings.ReplaceAll(s, "-", ".pre."), -1)
	for i, segment := range segments {
		if isNumeric(segment) {
			segments[i] = number(segment)
		}
	}
	word := 0
	for word < len(segments) && isNumeric(segments[word]) {
		word++
	}
	release := withoutZeros(segments[:word])
	return append(slices.Clip(release), withoutZeros(segments[word:])...)
}

// withoutZeros removes trailing zeros.
func withoutZeros(segments []string) []string {
	for len(segments) > 0 && segments[len(segments)-1] == "0" {
		segments = segments[:len(segments)-1]
	}
	return segments
}

func (v gem) compare(other parsed) int {
	w := other.(gem)
	for i := range max(len(v), len(w)) {
		if sign := compareGemSegments(v.at(i), w.at(i)); sign != 0 {
			return sign
		}
	}
	return 0
}

// at returns a segment, or 0 after the last segment.
func (v gem) at(i int) string {
	if i < len(v) {
		return v[i]
	}
	return "0"
}

// compareGemSegments compares numbers by value and words by their bytes. A word is less than any
// number.
func compareGemSegments(a, b string) int {
	switch aNumeric, bNumeric := isNumeric(a), isNumeric(b); {
	case aNumeric && bNumeric:
		return compareDigits(a, b)
	case aNumeric:
		return 1
	case bNumeric:
		return -1
	}
	return strings.Compare(a, b)
}
