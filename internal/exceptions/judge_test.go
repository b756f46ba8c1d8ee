package exceptions

import (
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// TestFutureVEXDateCountsAsReceiptDate checks that a date in the future counts as the date of
// receipt.
func TestFutureVEXDateCountsAsReceiptDate(t *testing.T) {
	day := func(n int) time.Time { return now.AddDate(0, 0, n) }
	ahead := model.VEXDocument{IssuedAt: now.AddDate(73, 0, 0), ReceivedAt: day(0)}
	for name, tt := range map[string]struct {
		d, than model.VEXDocument
		want    bool
	}{
		"issued after it came":      {model.VEXDocument{IssuedAt: day(1), ReceivedAt: day(1)}, ahead, true},
		"issued before it came":     {model.VEXDocument{IssuedAt: day(-1), ReceivedAt: day(1)}, ahead, false},
		"it comes again":            {model.VEXDocument{IssuedAt: ahead.IssuedAt, ReceivedAt: day(1)}, ahead, true},
		"it comes with a new clock": {model.VEXDocument{IssuedAt: day(9), ReceivedAt: day(1)}, ahead, true},
		"ahead of one that is not":  {ahead, model.VEXDocument{IssuedAt: day(-1), ReceivedAt: day(-1)}, true},
		"the version comes first":   {model.VEXDocument{Version: 1, ReceivedAt: day(1)}, ahead, true},
		"not known when they came":  {model.VEXDocument{IssuedAt: day(1)}, model.VEXDocument{IssuedAt: day(2)}, false},
	} {
		if got := newer(&tt.d, &tt.than); got != tt.want {
			t.Errorf("%s: newer is %t", name, got)
		}
	}
}

// judged is a finding of npm package p, version 1, with CVE-1 on main.
type judged struct {
	before     model.Triage
	exceptions []model.Exception
	claims     []model.VEXClaim
	elsewhere  []model.VEXClaim // claims on the same finding on dev; nil if it does not exist there
}

var now = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)

func (j judged) judge() (model.TriageEvent, bool) {
	occurrence := func(ref string, claims []model.VEXClaim) *model.ExceptionOccurrence {
		return &model.ExceptionOccurrence{Ref: ref, Rule: "CVE-1", Names: []string{"CVE-1"}, State: model.Unresolved, Ecosystem: "npm", Package: "p", Version: "1", Claims: claims}
	}
	c := model.ExceptionCase{Lineage: model.Lineage{ID: 7, Triage: j.before}, Project: model.Project{ID: 3, Name: "acme/pay"}}
	c.Occurrences = append(c.Occurrences, occurrence("refs/heads/main", j.claims))
	if j.elsewhere != nil {
		c.Occurrences = append(c.Occurrences, occurrence("refs/heads/dev", j.elsewhere))
	}
	for _, e := range j.exceptions {
		if e.OfFindings() {
			c.NamedBy = append(c.NamedBy, e.ID)
		}
	}
	return NewJudge(j.exceptions, now).Decide(&c)
}

// newClaim returns a claim of a document, made some days ago.
func newClaim(document int64, status model.VEXStatus, days int, edit ...func(*model.VEXDocument, *model.VEXStatement)) model.VEXClaim {
	d := &model.VEXDocument{ID: document, Name: "urn:d", Format: "OpenVEX", ReceivedAt: now}
	s := &model.VEXStatement{Names: []string{"CVE-1"}, Status: status, At: now.AddDate(0, 0, -days)}
	for _, e := range edit {
		e(d, s)
	}
	return model.VEXClaim{Document: d, Statement: s}
}

func ofProject(d *model.VEXDocument, _ *model.VEXStatement) { d.ProjectID = 3 }
func inProduct(_ *model.VEXDocument, s *model.VEXStatement) { s.Product = []string{"pkg:oci/x"} }

func inSoleProduct(_ *model.VEXDocument, s *model.VEXStatement) {
	s.Product, s.Sole = []string{"pkg:oci/x"}, true
}

func pkg(key, version string) func(*model.VEXDocument, *model.VEXStatement) {
	return func(_ *model.VEXDocument, s *model.VEXStatement) {
		s.Packages = []model.VEXPackage{{Key: key, Version: version}}
	}
}

func TestDecide(t *testing.T) {
	by := func(kind string, id int, state model.TriageState) model.Triage {
		return model.Triage{State: state, By: model.Actor{Kind: kind, ID: fmt.Sprint(id)}, Automatic: true}
	}
	ignored := by("vex", 1, model.TriageIgnored)
	except := []model.Exception{{State: model.ExceptionActive, ID: 5, Target: "CVE-1", Reason: "why", TriageReason: model.AcceptableRisk}}
	named := []model.Exception{except[0], {State: model.ExceptionActive, ID: 6, ProjectID: 3, Reason: "why", TriageReason: model.AcceptableRisk, DecidedAt: now.AddDate(0, 0, -1)}}
	regranted := []model.Exception{{State: model.ExceptionActive, ID: 4, ProjectID: 3, Reason: "why", TriageReason: model.AcceptableRisk, DecidedAt: now.AddDate(0, 0, -3)}, named[1]}
	user := func(state model.TriageState, days int) model.Triage {
		return model.Triage{State: state, By: model.Actor{Kind: "user"}, At: now.AddDate(0, 0, -days)}
	}
	tests := map[string]struct {
		judged judged
		want   string // state and actor; empty if nothing changes
	}{
		"it says so":                          {judged{claims: []model.VEXClaim{newClaim(1, model.VEXNotAffected, 1)}}, "ignored vex:1"},
		"a person decided":                    {judged{before: model.Triage{State: model.TriageReopened, By: model.Actor{Kind: "user"}}, claims: []model.VEXClaim{newClaim(1, model.VEXNotAffected, 1)}}, ""},
		"another worker ignored it":           {judged{before: by("autotriage", 1, model.TriageIgnored), claims: []model.VEXClaim{newClaim(1, model.VEXAffected, 1)}}, ""},
		"the newer counts":                    {judged{claims: []model.VEXClaim{newClaim(1, model.VEXNotAffected, 1), newClaim(2, model.VEXAffected, 2)}}, "ignored vex:1"},
		"whatever their order":                {judged{claims: []model.VEXClaim{newClaim(2, model.VEXAffected, 2), newClaim(1, model.VEXNotAffected, 1)}}, "ignored vex:1"},
		"of two alike the more cautious":      {judged{claims: []model.VEXClaim{newClaim(1, model.VEXAffected, 1), newClaim(2, model.VEXNotAffected, 1)}}, "reopened vex:1"},
		"a day ahead counts as its arrival":   {judged{claims: []model.VEXClaim{newClaim(1, model.VEXNotAffected, -9), newClaim(2, model.VEXAffected, 0)}}, "reopened vex:2"},
		"that of the project comes first":     {judged{claims: []model.VEXClaim{newClaim(1, model.VEXAffected, 9, ofProject), newClaim(2, model.VEXNotAffected, 1)}}, "reopened vex:1"},
		"of another project":                  {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, func(d *model.VEXDocument, _ *model.VEXStatement) { d.ProjectID = 4 })}}, ""},
		"of other projects":                   {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, func(d *model.VEXDocument, _ *model.VEXStatement) { d.Projects = model.ProjectGlobs{"other/*"} })}}, ""},
		"of another branch":                   {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, ofProject, func(d *model.VEXDocument, _ *model.VEXStatement) { d.Ref = "refs/heads/dev" })}}, ""},
		"of the package":                      {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, pkg("npm/p", ""))}}, "ignored vex:1"},
		"of the version":                      {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, pkg("npm/p", "1"))}}, "ignored vex:1"},
		"of another version":                  {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, pkg("npm/p", "2"))}}, ""},
		"of another package":                  {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, pkg("pypi/p", ""))}}, ""},
		"in an unknown product":               {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, ofProject, inProduct)}}, ""},
		"in the only one of the document":     {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, ofProject, inSoleProduct)}}, "ignored vex:1"},
		"in the only one, for many projects":  {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1, inSoleProduct)}}, ""},
		"it lives elsewhere too":              {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1)}, elsewhere: []model.VEXClaim{}}, ""},
		"elsewhere another says another":      {judged{claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1)}, elsewhere: []model.VEXClaim{newClaim(2, model.VEXUnderInvestigation, 1)}}, "reviewing vex:2"},
		"an exception comes first":            {judged{exceptions: except, claims: []model.VEXClaim{newClaim(1, model.VEXAffected, 1)}}, "ignored exception:5"},
		"also where a document ignored it":    {judged{before: ignored, exceptions: except, claims: []model.VEXClaim{newClaim(1, model.VEXNotAffected, 1)}}, "ignored exception:5"},
		"one that names it comes first":       {judged{exceptions: named}, "ignored exception:6"},
		"the one that ignored it keeps it":    {judged{before: by("exception", 5, model.TriageIgnored), exceptions: named}, ""},
		"one that names it, of a fix":         {judged{before: user(model.TriageFixing, 2), exceptions: named}, "ignored exception:6"},
		"a person decided after the approval": {judged{before: user(model.TriageReopened, 0), exceptions: named}, ""},
		"approved again after a reopening":    {judged{before: user(model.TriageReopened, 2), exceptions: regranted}, "ignored exception:6"},
		"a person ignored it before":          {judged{before: user(model.TriageIgnored, 2), exceptions: named}, ""},
		"an exception ended":                  {judged{before: by("exception", 5, model.TriageIgnored), claims: []model.VEXClaim{newClaim(1, model.VEXFixed, 1)}}, "ignored vex:1"},
		"nothing holds any more":              {judged{before: ignored}, "reopened vex:1"},
		"nothing of a review holds":           {judged{before: by("vex", 1, model.TriageReviewing)}, "reopened vex:1"},
		"no match, and the event is known":    {judged{before: by("vex", 1, model.TriageReopened)}, ""},
		"nothing holds of an ended exception": {judged{before: by("exception", 5, model.TriageReopened)}, ""},
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
			if e.LineageID != 7 || !e.After.Automatic || !e.After.At.Equal(now) || e.Note == "" || e.Before != tt.judged.before {
				t.Errorf("the event is %+v", e)
			}
			tt.judged.before = e.After
			if second, changed := tt.judged.judge(); changed {
				t.Errorf("judged again it changes again: %+v", second)
			}
		})
	}
}
