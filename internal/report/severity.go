package report

import (
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
)

// severityWords are the words of all tools. Semgrep's are INFO, WARNING, ERROR
// and, newer, the four names (semantics §4); SARIF's are note, warning, error.
var severityWords = map[string]redoubt.Severity{
	"critical": redoubt.SeverityCritical,
	"high":     redoubt.SeverityHigh, "error": redoubt.SeverityHigh, "important": redoubt.SeverityHigh,
	"medium": redoubt.SeverityMedium, "moderate": redoubt.SeverityMedium, "warning": redoubt.SeverityMedium,
	"low": redoubt.SeverityLow, "info": redoubt.SeverityLow, "note": redoubt.SeverityLow, "none": redoubt.SeverityLow,
	"negligible": redoubt.SeverityLow, "experiment": redoubt.SeverityLow, "inventory": redoubt.SeverityLow,
}

// severityOf reads a word, whatever its case; 0 when it says nothing.
func severityOf(word string) redoubt.Severity {
	return severityWords[strings.ToLower(strings.TrimSpace(word))]
}

// severityOfNumber reads a score spelt out; 0 when it is none.
func severityOfNumber(s string) redoubt.Severity {
	score, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(score >= 0 && score <= 10) {
		return 0
	}
	return redoubt.SeverityOfScore(score)
}

// confidenceOf reads a word; 0 when it says nothing.
func confidenceOf(word string) redoubt.Confidence {
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "high", "very-high":
		return redoubt.ConfidenceHigh
	case "medium":
		return redoubt.ConfidenceMedium
	case "low":
		return redoubt.ConfidenceLow
	}
	return 0
}
