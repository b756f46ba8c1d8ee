package format

import (
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// severityWords maps the words of all tools. Semgrep uses INFO, WARNING, ERROR and, in newer
// versions, the four names (docs/reference/findings.md); SARIF uses note, warning and error.
var severityWords = map[string]model.Severity{
	"critical": model.SeverityCritical,
	"high":     model.SeverityHigh, "error": model.SeverityHigh, "important": model.SeverityHigh,
	"medium": model.SeverityMedium, "moderate": model.SeverityMedium, "warning": model.SeverityMedium,
	"low": model.SeverityLow, "info": model.SeverityLow, "note": model.SeverityLow, "none": model.SeverityLow,
	"negligible": model.SeverityLow, "experiment": model.SeverityLow, "inventory": model.SeverityLow,
}

// SeverityOf returns the severity of a word, ignoring case, or 0 if it is unknown.
func SeverityOf(word string) model.Severity {
	return severityWords[strings.ToLower(strings.TrimSpace(word))]
}

// SeverityOfNumber returns the severity of a score between 0 and 10, or 0 if it is invalid.
func SeverityOfNumber(s string) model.Severity {
	score, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(score >= 0 && score <= 10) {
		return 0
	}
	return model.SeverityOfScore(score)
}

// ConfidenceOf returns the confidence of a word, or 0 if it is unknown.
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
