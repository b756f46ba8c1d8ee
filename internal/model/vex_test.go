package model

import (
	"fmt"
	"strings"
	"testing"
)

func TestVEXStatementTriage(t *testing.T) {
	tests := []struct {
		statement VEXStatement
		want      string // state, reason, comment
	}{
		{VEXStatement{Status: VEXNotAffected, Justification: "component_not_present"}, "ignored false_positive component_not_present"},
		{VEXStatement{Status: VEXNotAffected, Justification: "code_not_reachable", Detail: "x"}, "ignored false_positive code_not_reachable: x"},
		{VEXStatement{Status: VEXNotAffected, Justification: "vulnerable_code_cannot_be_controlled_by_adversary"}, "ignored acceptable_risk vulnerable_code_cannot_be_controlled_by_adversary"},
		{VEXStatement{Status: VEXNotAffected, Justification: "protected_by_compiler", Detail: "x"}, "ignored acceptable_risk protected_by_compiler: x"},
		{VEXStatement{Status: VEXNotAffected, Detail: "x"}, "ignored no_triage_reason not_affected: x"},
		{VEXStatement{Status: VEXNotAffected}, "ignored no_triage_reason not_affected"},
		{VEXStatement{Status: VEXFalsePositive, Detail: "x"}, "ignored false_positive x"},
		{VEXStatement{Status: VEXFalsePositive}, "ignored false_positive "},
		{VEXStatement{Status: VEXFixed, Detail: "backported"}, "ignored false_positive fixed: backported"},
		{VEXStatement{Status: VEXUnderInvestigation, Detail: "x"}, "reviewing  x"},
		{VEXStatement{Status: VEXAffected, Detail: "Update."}, "reopened  affected: Update."},
		{VEXStatement{Status: VEXAffected, Own: &VEXTriage{State: TriageFixing, Comment: "soon"}}, "fixing  soon"},
	}
	for _, tt := range tests {
		got := tt.statement.Triage()
		if text := fmt.Sprintf("%s %s %s", got.State, got.Reason, got.Comment); text != tt.want {
			t.Errorf("%+v makes %q, want %q", tt.statement, text, tt.want)
		}
		if tt.statement.Own != nil {
			continue
		}
		parsed, ok := VEXOf(Triage{State: got.State, Reason: got.Reason, Comment: got.Comment})
		if !ok || parsed.Status != tt.statement.Status || parsed.Justification != tt.statement.Justification || parsed.Detail != tt.statement.Detail {
			t.Errorf("%q is parsed as %+v (%t), was %+v", tt.want, parsed, ok, tt.statement)
		}
	}
	for _, long := range []VEXStatement{
		{Status: VEXFixed, Detail: strings.Repeat("é", MaxNote)},
		{Status: VEXAffected, Own: &VEXTriage{State: TriageFixing, Comment: strings.Repeat("é", MaxNote+1)}},
	} {
		if got := []rune(long.Triage().Comment); len(got) != MaxNote || got[MaxNote-1] != '…' {
			t.Errorf("a long text makes a comment of %d characters", len(got))
		}
	}
}

func TestVEXOmitsOpenFindings(t *testing.T) {
	for _, triage := range []Triage{{}, {State: TriageUntriaged}, {State: TriageReopened}, {State: TriageReopened, Comment: "component_not_present: no"}} {
		if s, ok := VEXOf(triage); ok {
			t.Errorf("%+v is exported as %+v", triage, s)
		}
	}
}

func TestVEXJustificationsExistInBothFormats(t *testing.T) {
	for _, j := range vexJustifications {
		for _, word := range []string{j.openVEX, j.cycloneDX} {
			openVEX, cycloneDX, ok := VEXJustification(word)
			if !ok || openVEX != word && cycloneDX != word || openVEX == "" || cycloneDX == "" {
				t.Errorf("%s is %q in OpenVEX and %q in CycloneDX", word, openVEX, cycloneDX)
			}
		}
	}
	if _, _, ok := VEXJustification(""); ok {
		t.Error("no word is a justification")
	}
}

func TestProjectMatchesItsNames(t *testing.T) {
	p := Project{Name: "Acme/Pay", URL: "https://git.example.com/acme/pay"}
	for _, name := range []string{
		"acme/pay", "pkg:github/acme/pay", "pkg:github/Acme/Pay@v1?x=y#sub", "pkg:generic/acme/pay", "https://git.example.com/acme/pay.git",
		"http://git.example.com/Acme/pay/", "pkg:golang/git.example.com/acme/pay@v1.2.3",
	} {
		if !p.IsCalled(name) {
			t.Errorf("it does not answer to %s", name)
		}
	}
	for _, name := range []string{"", "pay", "pkg:npm/acme/pay", "pkg:github/acme/pay2", "pkg:oci/pay", "https://other.example.com/acme/pay", "pkg:", "pkg:golang/x"} {
		if p.IsCalled(name) {
			t.Errorf("it answers to %q", name)
		}
	}
	if (Project{Name: "a/b"}).IsCalled("") {
		t.Error("a project without an address answers to nothing")
	}
}
