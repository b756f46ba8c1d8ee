package format

import (
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// severityWords are the words of all tools. Semgrep's are INFO, WARNING, ERROR
// and, newer, the four names (docs/reference/findings.md); SARIF's are note, warning, error.
var severityWords = map[string]model.Severity{
	"critical": model.SeverityCritical,
	"high":     model.SeverityHigh, "error": model.SeverityHigh, "important": model.SeverityHigh,
	"medium": model.SeverityMedium, "moderate": model.SeverityMedium, "warning": model.SeverityMedium,
	"low": model.SeverityLow, "info": model.SeverityLow, "note": model.SeverityLow, "none": model.SeverityLow,
	"negligible": model.SeverityLow, "experiment": model.SeverityLow, "inventory": model.SeverityLow,
}

// SeverityOf reads a word, whatever its case; 0 when it says nothing.
func SeverityOf(word string) model.Severity {
	return severityWords[strings.ToLower(strings.TrimSpace(word))]
}

// SeverityOfNumber reads a score spelt out; 0 when it is none.
func SeverityOfNumber(s string) model.Severity {
	score, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(score >= 0 && score <= 10) {
		return 0
	}
	return model.SeverityOfScore(score)
}

// ConfidenceOf reads a word; 0 when it says nothing.
func ConfidenceOf(word string) model.Confidence {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "high", "very-high":
		return model.ConfidenceHigh
	case "medium":
		return model.ConfidenceMedium
	case "low":
		return model.ConfidenceLow
	}
	return 0
}
