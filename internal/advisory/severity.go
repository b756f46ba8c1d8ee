package advisory

import (
	"strings"

	cvss30 "github.com/pandatix/go-cvss/30"
	cvss31 "github.com/pandatix/go-cvss/31"
	cvss40 "github.com/pandatix/go-cvss/40"

	"github.com/redoubt/redoubt/internal/model"
)

// maxVector limits a CVSS vector, in bytes. The longest real one has 170.
const maxVector = 512

// ReadCVSS parses a CVSS vector of version 4.0, 3.1 or 3.0 and returns its base score, from 0 to
// 10. For other versions and invalid vectors, ok is false.
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

// severityWords maps the severity names of databases, in lower case.
var severityWords = map[string]model.Severity{
	"critical": model.SeverityCritical, "high": model.SeverityHigh, "important": model.SeverityHigh,
	"moderate": model.SeverityMedium, "medium": model.SeverityMedium,
	"low": model.SeverityLow, "minor": model.SeverityLow,
	"negligible": model.SeverityLow, "unimportant": model.SeverityLow,
}

// ratingOfWord returns the rating for a database's severity name, or the zero Rating.
func ratingOfWord(word string) Rating {
	if s := severityWords[strings.ToLower(strings.TrimSpace(word))]; s != 0 {
		return Rating{DatabaseWord, s}
	}
	return Rating{}
}
