package model

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestConditionText(t *testing.T) {
	for _, c := range []struct {
		of             PolicyCondition
		text, sentence string
	}{
		{
			PolicyCondition{Mode: ModeBlock, Severity: SeverityHigh, Fixable: true, GraceDays: 14, Scope: PolicyScope{Projects: ProjectGlobs{"acme/*"}}},
			"high or worse, with a fix, known for 14 days, in acme/*",
			"blocks when severity is high or worse, a fix exists and it has been known for 14 days or more, in acme/*",
		},
		{
			PolicyCondition{Mode: ModeComment, Severity: SeverityCritical, Reachable: true},
			"critical, reachable", "comments when severity is critical and it is reachable",
		},
		{
			PolicyCondition{Mode: ModeMonitor, EPSS: 0.25, Scope: PolicyScope{Tags: []string{"pci", "web"}}, Branches: ProjectGlobs{"main"}},
			"EPSS 0.25 or more, tagged pci or web, on main", "records when the EPSS score is 0.25 or more, tagged pci or web, on main",
		},
		{
			PolicyCondition{Mode: ModeBlock, Exploited: true, Malicious: true, Direct: true, GraceDays: 1},
			"known to be exploited, malicious, direct, known for a day",
			"blocks when it is known to be exploited, the package is malicious, the package is a direct dependency and it has been known for a day or more",
		},
		{
			PolicyCondition{Mode: ModeBlock, Severity: SeverityMedium, Confidence: ConfidenceMedium},
			"medium or worse, confidence medium or higher", "blocks when severity is medium or worse and confidence is medium or higher",
		},
		{PolicyCondition{Mode: ModeBlock, Confidence: ConfidenceHigh}, "confidence high", "blocks when confidence is high"},
	} {
		if err := c.of.Check(SCA); err != nil {
			t.Error(err)
		}
		if got := c.of.String(); got != c.text {
			t.Errorf("%q, want %q", got, c.text)
		}
		if got := c.of.Sentence(); got != c.sentence {
			t.Errorf("%q, want %q", got, c.sentence)
		}
	}
}

func TestInvalidConditions(t *testing.T) {
	for why, edit := range map[string]func(*PolicyCondition){
		"the mode must be":                   func(c *PolicyCondition) { c.Mode = 9 },
		"the EPSS score must be from 0 to 1": func(c *PolicyCondition) { c.EPSS = math.NaN() },
		"EPSS score must be from":            func(c *PolicyCondition) { c.EPSS = -0.1 },
		"the days of grace must be from":     func(c *PolicyCondition) { c.GraceDays = -1 },
		"the severity must be":               func(c *PolicyCondition) { c.Severity = 9 },
		"the confidence must be":             func(c *PolicyCondition) { c.Confidence = 9 },
		"the condition is empty":             func(c *PolicyCondition) { c.Severity = 0 },
		`invalid glob ""`:                    func(c *PolicyCondition) { c.Scope.Projects = ProjectGlobs{""} },
		`invalid glob "a\nb"`:                func(c *PolicyCondition) { c.Branches = ProjectGlobs{"a\nb"} },
		"tag":                                func(c *PolicyCondition) { c.Scope.Tags = []string{strings.Repeat("x", 65)} },
	} {
		c := PolicyCondition{Mode: ModeBlock, Severity: SeverityHigh}
		edit(&c)
		if err := c.Check(SCA); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%v, want %q", err, why)
		}
	}
}

// TestConditionsByProduct checks that criteria for dependencies are rejected for other products,
// with their name.
func TestConditionsByProduct(t *testing.T) {
	for member, c := range map[string]PolicyCondition{
		"reachable": {Reachable: true}, "epss": {EPSS: 0.5}, "exploited": {Exploited: true},
		"malicious": {Malicious: true}, "fixable": {Fixable: true}, "direct": {Direct: true},
	} {
		c.Mode, c.Severity = ModeBlock, SeverityHigh
		for product, valid := range map[IssueType]bool{SAST: false, Secrets: false, SCA: true} {
			err := c.Check(product)
			var invalid *InvalidError
			if valid != (err == nil) || !valid && (!errors.As(err, &invalid) || invalid.Fields[0].Location != member) {
				t.Errorf("%s for %s: %v", member, product, err)
			}
		}
	}
	for _, product := range []IssueType{SAST, Secrets, SCA} {
		c := PolicyCondition{Mode: ModeComment, Severity: SeverityLow, Confidence: ConfidenceLow, GraceDays: 3}
		if err := c.Check(product); err != nil {
			t.Errorf("%s: %v", product, err)
		}
	}
}
