package advisory

import (
	"strings"

	cvss30 "github.com/pandatix/go-cvss/30"
	cvss31 "github.com/pandatix/go-cvss/31"
	cvss40 "github.com/pandatix/go-cvss/40"

	"github.com/redoubt/redoubt"
)

// maxVector bounds a CVSS vector, in bytes; the longest real one has 170.
const maxVector = 512

// ReadCVSS reads a CVSS vector of version 4.0, 3.1 or 3.0 and returns its base
// score, from 0 to 10; other versions and broken vectors are not ok.
func ReadCVSS(vector string) (score float64, evidence Evidence, ok bool) {
	vector = strings.TrimSpace(vector)
	if len(vector) > maxVector {
		return 0, NoEvidence, false
	}
	switch {
	case strings.HasPrefix(vector, "CVSS:4.0/"):
		if v, err := cvss40.ParseVector(vector); err == nil {
			return v.Score(), CVSS4, true
		}
	case strings.HasPrefix(vector, "CVSS:3.1/"):
		if v, err := cvss31.ParseVector(vector); err == nil {
			return v.BaseScore(), CVSS3, true
		}
	case strings.HasPrefix(vector, "CVSS:3.0/"):
		if v, err := cvss30.ParseVector(vector); err == nil {
			return v.BaseScore(), CVSS3, true
		}
	}
	return 0, NoEvidence, false
}

// severityWords are what databases call severities, in lower case.
var severityWords = map[string]redoubt.Severity{
	"critical": redoubt.SeverityCritical, "high": redoubt.SeverityHigh, "important": redoubt.SeverityHigh,
	"moderate": redoubt.SeverityMedium, "medium": redoubt.SeverityMedium,
	"low": redoubt.SeverityLow, "minor": redoubt.SeverityLow, "negligible": redoubt.SeverityLow, "unimportant": redoubt.SeverityLow,
}

// ratingOfWord rates by the database's own word, or not at all.
func ratingOfWord(word string) Rating {
	if s := severityWords[strings.ToLower(strings.TrimSpace(word))]; s != 0 {
		return Rating{DatabaseWord, s}
	}
	return Rating{}
}
