package triage

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
)

// small is a world of one lineage on two refs, one on one, and one of secrets.
func small() *world {
	w := &world{now: start, actor: redoubt.Actor{Kind: "token", ID: "t1"}, lineages: map[int64]redoubt.Lineage{}}
	w.members = []redoubt.Member{{User: redoubt.User{Name: "bob"}}, {User: redoubt.User{Name: "carol", DisabledAt: start}}}
	for id := int64(1); id <= 3; id++ {
		w.lineages[id] = redoubt.Lineage{ID: id, Triage: redoubt.Triage{State: redoubt.TriageUntriaged}}
	}
	w.findings = []redoubt.Finding{
		{ID: 10, LineageID: 1, IssueType: redoubt.SAST, Ref: "refs/heads/main", State: redoubt.Unresolved, RelevantSince: start},
		{ID: 11, LineageID: 2, IssueType: redoubt.SAST, Ref: "refs/heads/main", State: redoubt.Fixed, RelevantSince: start.Add(time.Hour)},
		{ID: 12, LineageID: 1, IssueType: redoubt.SAST, Ref: "refs/heads/dev", State: redoubt.Unresolved, RelevantSince: start},
		{ID: 13, LineageID: 1, IssueType: redoubt.SAST, Ref: "refs/heads/old", State: redoubt.StateRemoved, RelevantSince: start},
		{ID: 14, LineageID: 3, IssueType: redoubt.Secrets, Ref: "refs/heads/main", State: redoubt.Unresolved, RelevantSince: start},
	}
	return w
}

// People, as requests name them.
var nobody, bob, typed, stranger, disabled = "", "bob", " Bob ", "mallory", "carol"

func onMain(r Request) Request {
	r.HasFilter, r.Filter.IssueType, r.Filter.Ref = true, redoubt.SAST, "refs/heads/main"
	return r
}

func byID(r Request, ids ...int64) Request {
	r.Filter.IssueType, r.Filter.HasIDs, r.Filter.IDs = redoubt.SAST, true, ids
	return r
}

func TestCheck(t *testing.T) {
	ignore := Request{State: redoubt.TriageIgnored}
	for name, test := range map[string]struct {
		request Request
		faults  []string
	}{
		"nothing at all":                 {Request{}, []string{"body.issue_type", "body.issue_ids", "body.new_triage_state"}},
		"neither ids nor filter":         {Request{State: redoubt.TriageIgnored, Filter: redoubt.FindingFilter{IssueType: redoubt.SCA}}, []string{"body.issue_ids"}},
		"an empty list of ids":           {byID(ignore), []string{"body.issue_ids"}},
		"only what the caller may see":   {Request{State: redoubt.TriageIgnored, Filter: redoubt.FindingFilter{IssueType: redoubt.SCA, Visible: redoubt.ProjectGlobs{"a/*"}}}, []string{"body.issue_ids"}},
		"an empty list beside a filter":  {onMain(byID(ignore)), nil},
		"neither state nor note":         {onMain(Request{}), []string{"body.new_triage_state"}},
		"note alone":                     {onMain(Request{Note: "n"}), nil},
		"untriaged":                      {onMain(Request{State: redoubt.TriageUntriaged}), []string{"body.new_triage_state"}},
		"a state there is not":           {onMain(Request{State: 17}), []string{"body.new_triage_state"}},
		"reason with ignored":            {onMain(Request{State: redoubt.TriageIgnored, Reason: redoubt.NoTime}), nil},
		"reason with fixing":             {onMain(Request{State: redoubt.TriageFixing, Reason: redoubt.NoTime}), []string{"body.new_triage_reason"}},
		"reason with a note alone":       {onMain(Request{Note: "n", Reason: redoubt.NoTime}), []string{"body.new_triage_reason"}},
		"the longest note, in umlauts":   {onMain(Request{Note: strings.Repeat("ü", redoubt.MaxNote)}), nil},
		"a note of a character too much": {onMain(Request{Note: strings.Repeat("n", redoubt.MaxNote+1)}), []string{"body.new_note"}},
		"a note with NUL":                {onMain(Request{Note: "a\x00"}), []string{"body.new_note"}},
		"a note that is no text":         {onMain(Request{Note: "a\xff"}), []string{"body.new_note"}},
		"a note of nothing that shows":   {onMain(Request{Note: "\x1b\u009b\u202e"}), []string{"body.new_triage_state"}},
		"the highest limit":              {onMain(Request{Note: "n", Limit: redoubt.MaxTriage}), nil},
		"a limit too high":               {onMain(Request{Note: "n", Limit: redoubt.MaxTriage + 1}), []string{"body.limit"}},
		"a limit below zero":             {onMain(Request{Note: "n", Limit: -1}), []string{"body.limit"}},
		"an assignee alone":              {onMain(Request{Assign: &nobody}), nil},
		"a person of another tenant":     {onMain(Request{Assign: &stranger}), []string{"body.new_assignee"}},
		"a person who is disabled":       {onMain(Request{Assign: &disabled}), []string{"body.new_assignee"}},
		"until a day to come":            {onMain(Request{State: redoubt.TriageFixing, Until: start.Add(time.Hour)}), nil},
		"until now":                      {onMain(Request{State: redoubt.TriageIgnored, Until: start}), []string{"body.new_triage_until"}},
		"until a day that is over":       {onMain(Request{State: redoubt.TriageIgnored, Until: start.AddDate(0, 0, -1)}), []string{"body.new_triage_until"}},
		"reopened until a day":           {onMain(Request{State: redoubt.TriageReopened, Until: start.Add(time.Hour)}), []string{"body.new_triage_until"}},
		"an end without a decision":      {onMain(Request{Note: "n", Until: start.Add(time.Hour)}), []string{"body.new_triage_until"}},
		"all faults at once":             {Request{State: redoubt.TriageUntriaged, Reason: redoubt.NoTime, Limit: -1}, []string{"body.issue_type", "body.issue_ids", "body.limit", "body.new_triage_state", "body.new_triage_reason"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := small()
			_, err := Apply(t.Context(), w, w, test.request)
			var faults []string
			if invalid, ok := errors.AsType[*redoubt.InvalidError](err); ok {
				for _, f := range invalid.Fields {
					faults = append(faults, f.Location)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.faults, faults); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
			if faults != nil && len(w.trail) > 0 {
				t.Error("something was written")
			}
		})
	}
}

func TestSelection(t *testing.T) {
	ignore := Request{State: redoubt.TriageIgnored}
	for name, test := range map[string]struct {
		request Request
		want    []int64
	}{
		"a ref, with the occurrences on others": {onMain(ignore), []int64{10, 11, 12}},
		"the newest one":                        {onMain(Request{State: redoubt.TriageIgnored, Limit: 1}), []int64{11}},
		"ids, unknown ones skipped":             {byID(ignore, 99, 12), []int64{10, 12}},
		"a removed one":                         {byID(ignore, 13), []int64{}},
		"ids of another issue type":             {byID(ignore, 14), []int64{}},
		"ids and a filter":                      {onMain(byID(ignore, 11, 12)), []int64{11}},
	} {
		t.Run(name, func(t *testing.T) {
			w := small()
			got, err := Apply(t.Context(), w, w, test.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.IDs); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransitions(t *testing.T) {
	person := redoubt.Actor{Kind: "token", ID: "t1"}
	earlier := start.Add(-time.Hour)
	ignored := redoubt.Triage{State: redoubt.TriageIgnored, Reason: redoubt.NoTime, Comment: "later", At: earlier, By: person}
	byWorker := ignored
	byWorker.Automatic = true
	for name, test := range map[string]struct {
		before  redoubt.Triage
		request Request
		want    redoubt.Triage
	}{
		"ignored with a reason and a note": {
			redoubt.Triage{State: redoubt.TriageUntriaged},
			Request{State: redoubt.TriageIgnored, Reason: redoubt.FalsePositive, Note: "test code"},
			redoubt.Triage{State: redoubt.TriageIgnored, Reason: redoubt.FalsePositive, Comment: "test code", At: start, By: person},
		},
		"reopened clears the reason and keeps the comment": {
			ignored,
			Request{State: redoubt.TriageReopened},
			redoubt.Triage{State: redoubt.TriageReopened, Comment: "later", At: start, By: person},
		},
		"ignored again without its reason": {
			ignored,
			Request{State: redoubt.TriageIgnored},
			redoubt.Triage{State: redoubt.TriageIgnored, Comment: "later", At: start, By: person},
		},
		"a note alone leaves state, reason and time": {
			ignored,
			Request{Note: "n"},
			redoubt.Triage{State: redoubt.TriageIgnored, Reason: redoubt.NoTime, Comment: "n", At: earlier, By: person},
		},
		"a note alone on what nobody decided": {
			redoubt.Triage{State: redoubt.TriageUntriaged},
			Request{Note: "n"},
			redoubt.Triage{State: redoubt.TriageUntriaged, Comment: "n"},
		},
		"ignored until a day, by somebody": {
			redoubt.Triage{State: redoubt.TriageUntriaged},
			Request{State: redoubt.TriageIgnored, Until: start.Add(time.Hour), Assign: &bob},
			redoubt.Triage{State: redoubt.TriageIgnored, At: start, By: person, Until: start.Add(time.Hour), Assignee: "bob"},
		},
		"another decision has no end, and leaves the assignee": {
			redoubt.Triage{State: redoubt.TriageIgnored, At: earlier, Until: start.Add(time.Hour), Assignee: "bob"},
			Request{State: redoubt.TriageFixing},
			redoubt.Triage{State: redoubt.TriageFixing, At: start, By: person, Assignee: "bob"},
		},
		"an assignee alone, as typed, leaves state, end and time": {
			redoubt.Triage{State: redoubt.TriageIgnored, At: earlier, Until: start.Add(time.Hour), Automatic: true},
			Request{Assign: &typed},
			redoubt.Triage{State: redoubt.TriageIgnored, At: earlier, Until: start.Add(time.Hour), Automatic: true, Assignee: "bob"},
		},
		"taken away": {
			redoubt.Triage{State: redoubt.TriageUntriaged, Assignee: "bob"}, Request{Assign: &nobody}, redoubt.Triage{State: redoubt.TriageUntriaged},
		},
		"the same again": {ignored, Request{State: redoubt.TriageIgnored, Reason: redoubt.NoTime}, ignored},
		"a worker after a person": {
			ignored, Request{State: redoubt.TriageFixing, Automatic: true}, ignored,
		},
		"a worker's note after a person": {ignored, Request{Note: "n", Automatic: true}, ignored},
		"a worker after a worker": {
			byWorker,
			Request{State: redoubt.TriageFixing, Automatic: true},
			redoubt.Triage{State: redoubt.TriageFixing, Comment: "later", At: start, By: person, Automatic: true},
		},
		"a person agrees with a worker": {
			byWorker,
			Request{State: redoubt.TriageIgnored, Reason: redoubt.NoTime},
			redoubt.Triage{State: redoubt.TriageIgnored, Reason: redoubt.NoTime, Comment: "later", At: start, By: person},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := small()
			w.lineages[1] = redoubt.Lineage{ID: 1, Triage: test.before}
			if _, err := Apply(t.Context(), w, w, byID(test.request, 10)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, w.lineages[1].Triage); diff != "" {
				t.Errorf("triage (-want +got):\n%s", diff)
			}
			var trail []redoubt.TriageEvent
			if test.want != test.before {
				trail = []redoubt.TriageEvent{{LineageID: 1, At: start, By: person, Before: test.before, After: test.want, Note: test.request.Note}}
			}
			if diff := cmp.Diff(trail, w.trail); diff != "" {
				t.Errorf("trail (-want +got):\n%s", diff)
			}
		})
	}
}

// What was passed over for a person's decision is not among the answered ids.
func TestAutomaticAnswersOnlyWhatItDecided(t *testing.T) {
	w := small()
	w.lineages[1] = redoubt.Lineage{ID: 1, Triage: redoubt.Triage{State: redoubt.TriageReviewing}}
	got, err := Apply(t.Context(), w, w, onMain(Request{State: redoubt.TriageIgnored, Automatic: true}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{11}, got.IDs); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestFailuresAreHandedOn(t *testing.T) {
	for _, method := range []string{"Member", "Newest", "Lineages", "Occurrences", "UpdateTriage"} {
		w := small()
		w.fail = method
		if _, err := Apply(t.Context(), w, w, onMain(Request{State: redoubt.TriageIgnored, Assign: &bob})); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v", method, err)
		}
		if len(w.trail) > 0 {
			t.Errorf("%s: something was written", method)
		}
	}
}

// TestADryRunChangesNothing: it answers what the request would, and a selection
// that holds the request to just that.
func TestADryRunChangesNothing(t *testing.T) {
	w := small()
	request := onMain(Request{State: redoubt.TriageIgnored, DryRun: true})
	before := w.lineages[1]
	dry, err := Apply(t.Context(), w, w, request)
	if err != nil || w.lineages[1].Triage != before.Triage || len(dry.IDs) == 0 || len(dry.Selection) != 64 {
		t.Fatalf("%+v, %v; the lineage is %+v", dry, err, w.lineages[1])
	}
	request.DryRun, request.Selection = false, dry.Selection
	for name, change := range map[string]func(*world){
		"somebody decided": func(w *world) {
			l := w.lineages[2]
			l.Triage.State = redoubt.TriageFixing
			w.lineages[2] = l
		},
		"somebody took it over": func(w *world) {
			l := w.lineages[1]
			l.Triage.Assignee = "bob"
			w.lineages[1] = l
		},
		"one came": func(w *world) {
			w.findings = append(w.findings, redoubt.Finding{ID: 20, LineageID: 2, IssueType: redoubt.SAST, Ref: "refs/heads/x", State: redoubt.Unresolved})
		},
		"one went, all but it": func(w *world) { w.findings = w.findings[1:2] },
		"all went":             func(w *world) { w.findings = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := small()
			change(w)
			after := maps.Clone(w.lineages)
			if out, err := Apply(t.Context(), w, w, request); !errors.Is(err, redoubt.ErrConflict) || len(out.IDs) > 0 {
				t.Errorf("%+v, %v", out, err)
			}
			if diff := cmp.Diff(after, w.lineages); diff != "" {
				t.Errorf("it changed something: %s", diff)
			}
		})
	}
	out, err := Apply(t.Context(), w, w, request)
	if err != nil || !slices.Equal(out.IDs, dry.IDs) || w.lineages[1].Triage.State != redoubt.TriageIgnored {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := Apply(t.Context(), w, w, request); !errors.Is(err, redoubt.ErrConflict) {
		t.Errorf("the same selection holds twice: %v", err)
	}
}

// TestNothingIsAskedForNothing: what selects nothing reads no lineage, and what
// changes nothing writes nothing.
func TestNothingIsAskedForNothing(t *testing.T) {
	w := small()
	w.fail = "Lineages"
	if got, err := Apply(t.Context(), w, w, byID(Request{State: redoubt.TriageIgnored}, 99)); err != nil || len(got.IDs) != 0 {
		t.Errorf("of nothing: %+v, %v", got, err)
	}
	w.fail = "UpdateTriage"
	w.lineages[1] = redoubt.Lineage{ID: 1, Triage: redoubt.Triage{State: redoubt.TriageIgnored, Reason: redoubt.NoTime}}
	if got, err := Apply(t.Context(), w, w, byID(Request{State: redoubt.TriageIgnored, Reason: redoubt.NoTime}, 10)); err != nil || len(got.IDs) != 2 {
		t.Errorf("of what is so already: %+v, %v", got, err)
	}
}
