package redoubt

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWhatVEXStatementsMakeOfFindings(t *testing.T) {
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
		again, ok := VEXOf(Triage{State: got.State, Reason: got.Reason, Comment: got.Comment})
		if !ok || again.Status != tt.statement.Status || again.Justification != tt.statement.Justification || again.Detail != tt.statement.Detail {
			t.Errorf("%q is told as %+v (%t), was %+v", tt.want, again, ok, tt.statement)
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

func TestVEXSaysNothingOfWhatIsOpen(t *testing.T) {
	for _, triage := range []Triage{{}, {State: TriageUntriaged}, {State: TriageReopened}, {State: TriageReopened, Comment: "component_not_present: no"}} {
		if s, ok := VEXOf(triage); ok {
			t.Errorf("%+v is told as %+v", triage, s)
		}
	}
}

func TestVEXJustificationsHaveAWordInEitherFormat(t *testing.T) {
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

func TestProjectsAnswerToTheirNames(t *testing.T) {
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

// TestAVEXDateAheadDoesNotLastForEver: it counts as the day when it came.
func TestAVEXDateAheadDoesNotLastForEver(t *testing.T) {
	day := func(n int) time.Time { return vexNow.AddDate(0, 0, n) }
	ahead := VEXDocument{IssuedAt: vexNow.AddDate(73, 0, 0), ReceivedAt: day(0)}
	for name, tt := range map[string]struct {
		d, than VEXDocument
		want    bool
	}{
		"issued after it came":      {VEXDocument{IssuedAt: day(1), ReceivedAt: day(1)}, ahead, true},
		"issued before it came":     {VEXDocument{IssuedAt: day(-1), ReceivedAt: day(1)}, ahead, false},
		"it comes again":            {VEXDocument{IssuedAt: ahead.IssuedAt, ReceivedAt: day(1)}, ahead, true},
		"it comes with a new clock": {VEXDocument{IssuedAt: day(9), ReceivedAt: day(1)}, ahead, true},
		"ahead of one that is not":  {ahead, VEXDocument{IssuedAt: day(-1), ReceivedAt: day(-1)}, true},
		"the version comes first":   {VEXDocument{Version: 1, ReceivedAt: day(1)}, ahead, true},
		"not known when they came":  {VEXDocument{IssuedAt: day(1)}, VEXDocument{IssuedAt: day(2)}, false},
	} {
		if got := tt.d.Newer(&tt.than); got != tt.want {
			t.Errorf("%s: newer is %t", name, got)
		}
	}
}

// vexJudged is what happens to a finding of npm's p, version 1, of CVE-1 on main.
type vexJudged struct {
	before     Triage
	exceptions Exceptions
	claims     []VEXClaim
	elsewhere  []VEXClaim // of the same finding on dev; nil is where it does not live
}

var vexNow = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

func (j vexJudged) judge() (TriageEvent, bool) {
	place := func(ref string, claims []VEXClaim) *ExcusedPlace {
		return &ExcusedPlace{Ref: ref, Rule: "CVE-1", Names: []string{"CVE-1"}, State: Unresolved, Ecosystem: "npm", Package: "p", Version: "1", Claims: claims}
	}
	c := Excused{Lineage: Lineage{ID: 7, Triage: j.before}, Project: Project{ID: 3, Name: "acme/pay"}}
	c.Places = append(c.Places, place("refs/heads/main", j.claims))
	if j.elsewhere != nil {
		c.Places = append(c.Places, place("refs/heads/dev", j.elsewhere))
	}
	return j.exceptions.Judge(&c, vexNow)
}

// says is a claim of a document, made some days ago.
func says(document int64, status VEXStatus, days int, edit ...func(*VEXDocument, *VEXStatement)) VEXClaim {
	d := &VEXDocument{ID: document, Name: "urn:d", Format: "OpenVEX", ReceivedAt: vexNow}
	s := &VEXStatement{Names: []string{"CVE-1"}, Status: status, At: vexNow.AddDate(0, 0, -days)}
	for _, e := range edit {
		e(d, s)
	}
	return VEXClaim{d, s}
}

func ofProject(d *VEXDocument, _ *VEXStatement)     { d.ProjectID = 3 }
func inProduct(_ *VEXDocument, s *VEXStatement)     { s.Product = []string{"pkg:oci/x"} }
func inSoleProduct(_ *VEXDocument, s *VEXStatement) { s.Product, s.Sole = []string{"pkg:oci/x"}, true }

func pkg(key, version string) func(*VEXDocument, *VEXStatement) {
	return func(_ *VEXDocument, s *VEXStatement) { s.Packages = []VEXPackage{{Key: key, Version: version}} }
}

func TestJudgeWithVEX(t *testing.T) {
	by := func(kind string, id int, state TriageState) Triage {
		return Triage{State: state, By: Actor{Kind: kind, ID: fmt.Sprint(id)}, Automatic: true}
	}
	ignored := by("vex", 1, TriageIgnored)
	except := Exceptions{{ID: 5, Target: "CVE-1", Reason: "why", TriageReason: AcceptableRisk}}
	tests := map[string]struct {
		judged vexJudged
		want   string // state and actor; empty where nothing changes
	}{
		"it says so":                          {vexJudged{claims: []VEXClaim{says(1, VEXNotAffected, 1)}}, "ignored vex:1"},
		"a person decided":                    {vexJudged{before: Triage{State: TriageReopened, By: Actor{Kind: "user"}}, claims: []VEXClaim{says(1, VEXNotAffected, 1)}}, ""},
		"another worker ignored it":           {vexJudged{before: by("autotriage", 1, TriageIgnored), claims: []VEXClaim{says(1, VEXAffected, 1)}}, ""},
		"the newer counts":                    {vexJudged{claims: []VEXClaim{says(1, VEXNotAffected, 1), says(2, VEXAffected, 2)}}, "ignored vex:1"},
		"whatever their order":                {vexJudged{claims: []VEXClaim{says(2, VEXAffected, 2), says(1, VEXNotAffected, 1)}}, "ignored vex:1"},
		"of two alike the more cautious":      {vexJudged{claims: []VEXClaim{says(1, VEXAffected, 1), says(2, VEXNotAffected, 1)}}, "reopened vex:1"},
		"a day ahead counts as its arrival":   {vexJudged{claims: []VEXClaim{says(1, VEXNotAffected, -9), says(2, VEXAffected, 0)}}, "reopened vex:2"},
		"that of the project comes first":     {vexJudged{claims: []VEXClaim{says(1, VEXAffected, 9, ofProject), says(2, VEXNotAffected, 1)}}, "reopened vex:1"},
		"of another project":                  {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, func(d *VEXDocument, _ *VEXStatement) { d.ProjectID = 4 })}}, ""},
		"of other projects":                   {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, func(d *VEXDocument, _ *VEXStatement) { d.Projects = ProjectGlobs{"other/*"} })}}, ""},
		"of another branch":                   {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, ofProject, func(d *VEXDocument, _ *VEXStatement) { d.Ref = "refs/heads/dev" })}}, ""},
		"of the package":                      {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, pkg("npm/p", ""))}}, "ignored vex:1"},
		"of the version":                      {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, pkg("npm/p", "1"))}}, "ignored vex:1"},
		"of another version":                  {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, pkg("npm/p", "2"))}}, ""},
		"of another package":                  {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, pkg("pypi/p", ""))}}, ""},
		"in an unknown product":               {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, ofProject, inProduct)}}, ""},
		"in the only one of the document":     {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, ofProject, inSoleProduct)}}, "ignored vex:1"},
		"in the only one, for many projects":  {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1, inSoleProduct)}}, ""},
		"it lives elsewhere too":              {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1)}, elsewhere: []VEXClaim{}}, ""},
		"elsewhere another says another":      {vexJudged{claims: []VEXClaim{says(1, VEXFixed, 1)}, elsewhere: []VEXClaim{says(2, VEXUnderInvestigation, 1)}}, "reviewing vex:2"},
		"an exception comes first":            {vexJudged{exceptions: except, claims: []VEXClaim{says(1, VEXAffected, 1)}}, "ignored exception:5"},
		"also where a document ignored it":    {vexJudged{before: ignored, exceptions: except, claims: []VEXClaim{says(1, VEXNotAffected, 1)}}, "ignored exception:5"},
		"an exception ended":                  {vexJudged{before: by("exception", 5, TriageIgnored), claims: []VEXClaim{says(1, VEXFixed, 1)}}, "ignored vex:1"},
		"nothing holds any more":              {vexJudged{before: ignored}, "reopened vex:1"},
		"nothing of a review holds":           {vexJudged{before: by("vex", 1, TriageReviewing)}, "reopened vex:1"},
		"nothing holds, and that is told":     {vexJudged{before: by("vex", 1, TriageReopened)}, ""},
		"nothing holds of an ended exception": {vexJudged{before: by("exception", 5, TriageReopened)}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e, changed := tt.judged.judge()
			got := ""
			if changed {
				got = e.After.State.String() + " " + e.By.String()
			}
			if got != tt.want {
				t.Fatalf("it becomes %q, want %q", got, tt.want)
			}
			if !changed {
				return
			}
			if e.LineageID != 7 || !e.After.Automatic || !e.After.At.Equal(vexNow) || e.Note == "" || e.Before != tt.judged.before {
				t.Errorf("the event is %+v", e)
			}
			tt.judged.before = e.After
			if again, changed := tt.judged.judge(); changed {
				t.Errorf("judged again it changes again: %+v", again)
			}
		})
	}
}
