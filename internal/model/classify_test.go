package model

import "testing"

// TestEnumNamesRoundTrip checks that each name of an enumeration is parsed as its value. No name may be
// parsed as the zero value.
func TestEnumNamesRoundTrip(t *testing.T) {
	roundTrip(t, "issue type", Secrets, ParseIssueType)
	roundTrip(t, "severity", SeverityCritical, ParseSeverity)
	roundTrip(t, "confidence", ConfidenceHigh, ParseConfidence)
	roundTrip(t, "reachability", ReachabilityUnknown, ParseReachability)
	roundTrip(t, "transitivity", TransitivityUnknown, ParseTransitivity)
	roundTrip(t, "validation state", ValidationError, ParseValidationState)
	roundTrip(t, "EPSS band", EPSSHigh, ParseEPSSBand)
	roundTrip(t, "status", StatusFixing, ParseStatus)
	roundTrip(t, "triage state", TriageReopened, ParseTriageState)
	roundTrip(t, "triage reason", NoTriageReason, ParseTriageReason)
	roundTrip(t, "verdict", VerdictFalsePositive, ParseVerdict)
	roundTrip(t, "policy mode", ModeBlock, ParsePolicyMode)
	roundTrip(t, "scan status", ScanNeverFinished, ParseScanStatus)
}

type enumeration interface {
	~uint8
	String() string
}

func roundTrip[T enumeration](t *testing.T, what string, last T, parse func(string) (T, bool)) {
	t.Helper()
	for v := T(1); v <= last; v++ {
		if v.String() == "" {
			t.Errorf("%s %d has no word", what, v)
		}
		if got, ok := parse(v.String()); !ok || got != v {
			t.Errorf("%s %q reads back as %d, want %d", what, v.String(), got, v)
		}
	}
	if word := (last + 1).String(); word != "" {
		t.Errorf("%s has a word %q after its last value", what, word)
	}
	for _, word := range []string{"", "nonsense", "LOW"} {
		if got, ok := parse(word); ok {
			t.Errorf("%s read %q as %v", what, word, got)
		}
	}
}

func TestShortValidationStates(t *testing.T) {
	for word, want := range map[string]ValidationState{"valid": ConfirmedValid, "invalid": ConfirmedInvalid} {
		if got, ok := ParseValidationState(word); !ok || got != want {
			t.Errorf("%q reads as %v, want %v", word, got, want)
		}
	}
}

func TestRuleBoardsAreTheModes(t *testing.T) {
	want := map[string]PolicyMode{
		"rule-board-audit": ModeMonitor, "rule-board-pr-comments": ModeComment, "rule-board-block": ModeBlock,
	}
	for word, mode := range want {
		if got, ok := ParseRuleBoard(word); !ok || got != mode {
			t.Errorf("%q reads as %v, want %v", word, got, mode)
		}
	}
}

// TestStatusOf checks the complete table of docs/reference/findings.md.
func TestStatusOf(t *testing.T) {
	triages := []TriageState{TriageUntriaged, TriageIgnored, TriageReviewing, TriageFixing, TriageReopened}
	want := map[State][]Status{
		Unresolved:   {StatusOpen, StatusIgnored, StatusReviewing, StatusFixing, StatusOpen},
		Fixed:        {StatusFixed, StatusFixed, StatusFixed, StatusFixed, StatusFixed},
		Muted:        {StatusIgnored, StatusIgnored, StatusIgnored, StatusIgnored, StatusIgnored},
		StateRemoved: {0, 0, 0, 0, 0},
	}
	for state, row := range want {
		for i, triage := range triages {
			if got := StatusOf(state, triage); got != row[i] {
				t.Errorf("%s and %s show as %q, want %q", state, triage, got, row[i])
			}
		}
	}
}

func TestBandOf(t *testing.T) {
	score := func(f float64) *EPSS { return &EPSS{Score: f} }
	for _, c := range []struct {
		epss *EPSS
		want EPSSBand
	}{
		{nil, EPSSNone},
		{score(0), EPSSLow},
		{score(0.0999), EPSSLow},
		{score(0.1), EPSSMedium},
		{score(0.4999), EPSSMedium},
		{score(0.5), EPSSHigh},
		{score(1), EPSSHigh},
	} {
		if got := BandOf(c.epss); got != c.want {
			t.Errorf("band of %+v is %s, want %s", c.epss, got, c.want)
		}
	}
}

func TestSeverityOfScore(t *testing.T) {
	for score, want := range map[float64]Severity{
		0: SeverityLow, 3.9: SeverityLow, 4: SeverityMedium, 6.9: SeverityMedium, 7: SeverityHigh, 8.9: SeverityHigh, 9: SeverityCritical, 10: SeverityCritical,
	} {
		if got := SeverityOfScore(score); got != want {
			t.Errorf("%v is %v, want %v", score, got, want)
		}
	}
}
