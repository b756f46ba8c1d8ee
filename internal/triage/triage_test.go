package triage

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// small returns a world with three lineages: one on two refs, one on a single ref, and one of
// secrets.
func small() *world {
	w := &world{now: start, actor: model.Actor{Kind: "token", ID: "t1"}, lineages: map[int64]model.Lineage{}}
	w.members = []model.Member{{User: model.User{Name: "bob"}}, {User: model.User{Name: "carol", DisabledAt: start}}}
	for id := int64(1); id <= 3; id++ {
		w.lineages[id] = model.Lineage{ID: id, Triage: model.Triage{State: model.TriageUntriaged}}
	}
	w.findings = []model.Finding{
		{ID: 10, LineageID: 1, IssueType: model.SAST, Ref: "refs/heads/main", State: model.Unresolved, RelevantSince: start},
		{ID: 11, LineageID: 2, IssueType: model.SAST, Ref: "refs/heads/main", State: model.Fixed, RelevantSince: start.Add(time.Hour)},
		{ID: 12, LineageID: 1, IssueType: model.SAST, Ref: "refs/heads/dev", State: model.Unresolved, RelevantSince: start},
		{ID: 13, LineageID: 1, IssueType: model.SAST, Ref: "refs/heads/old", State: model.StateRemoved, RelevantSince: start},
		{ID: 14, LineageID: 3, IssueType: model.Secrets, Ref: "refs/heads/main", State: model.Unresolved, RelevantSince: start},
	}
	return w
}

// User names in requests.
var unassigned, bob, typed, stranger, disabled = "", "bob", " Bob ", "mallory", "carol"

func onMain(r Request) Request {
	r.HasFilter, r.Filter.IssueType, r.Filter.Ref = true, model.SAST, "refs/heads/main"
	return r
}

func byID(r Request, ids ...int64) Request {
	r.Filter.IssueType, r.Filter.HasIDs, r.Filter.IDs = model.SAST, true, ids
	return r
}

func TestCheck(t *testing.T) {
	ignore := Request{State: model.TriageIgnored}
	for name, test := range map[string]struct {
		request Request
		faults  []string
	}{
		"nothing at all":                 {Request{}, []string{"body.issue_type", "body.issue_ids", "body.new_triage_state"}},
		"neither ids nor filter":         {Request{State: model.TriageIgnored, Filter: model.FindingFilter{IssueType: model.SCA}}, []string{"body.issue_ids"}},
		"an empty list of ids":           {byID(ignore), []string{"body.issue_ids"}},
		"only what the caller may see":   {Request{State: model.TriageIgnored, Filter: model.FindingFilter{IssueType: model.SCA, Visible: model.ProjectGlobs{"a/*"}}}, []string{"body.issue_ids"}},
		"an empty list beside a filter":  {onMain(byID(ignore)), nil},
		"neither state nor note":         {onMain(Request{}), []string{"body.new_triage_state"}},
		"note alone":                     {onMain(Request{Note: "n"}), nil},
		"untriaged":                      {onMain(Request{State: model.TriageUntriaged}), []string{"body.new_triage_state"}},
		"a state there is not":           {onMain(Request{State: 17}), []string{"body.new_triage_state"}},
		"reason with ignored":            {onMain(Request{State: model.TriageIgnored, Reason: model.NoTime}), nil},
		"reason with fixing":             {onMain(Request{State: model.TriageFixing, Reason: model.NoTime}), []string{"body.new_triage_reason"}},
		"reason with a note alone":       {onMain(Request{Note: "n", Reason: model.NoTime}), []string{"body.new_triage_reason"}},
		"the longest note, in umlauts":   {onMain(Request{Note: strings.Repeat("ü", model.MaxNote)}), nil},
		"a note of a character too much": {onMain(Request{Note: strings.Repeat("n", model.MaxNote+1)}), []string{"body.new_note"}},
		"a note with NUL":                {onMain(Request{Note: "a\x00"}), []string{"body.new_note"}},
		"a note that is no text":         {onMain(Request{Note: "a\xff"}), []string{"body.new_note"}},
		"a note of nothing that shows":   {onMain(Request{Note: "\x1b\u009b\u202e"}), []string{"body.new_triage_state"}},
		"the highest limit":              {onMain(Request{Note: "n", Limit: model.MaxTriage}), nil},
		"a limit too high":               {onMain(Request{Note: "n", Limit: model.MaxTriage + 1}), []string{"body.limit"}},
		"a limit below zero":             {onMain(Request{Note: "n", Limit: -1}), []string{"body.limit"}},
		"an assignee alone":              {onMain(Request{Assign: &unassigned}), nil},
		"a person of another tenant":     {onMain(Request{Assign: &stranger}), []string{"body.new_assignee"}},
		"a person who is disabled":       {onMain(Request{Assign: &disabled}), []string{"body.new_assignee"}},
		"until a day to come":            {onMain(Request{State: model.TriageFixing, Until: start.Add(time.Hour)}), nil},
		"until now":                      {onMain(Request{State: model.TriageIgnored, Until: start}), []string{"body.new_triage_until"}},
		"until a day that is over":       {onMain(Request{State: model.TriageIgnored, Until: start.AddDate(0, 0, -1)}), []string{"body.new_triage_until"}},
		"reopened until a day":           {onMain(Request{State: model.TriageReopened, Until: start.Add(time.Hour)}), []string{"body.new_triage_until"}},
		"an end without a decision":      {onMain(Request{Note: "n", Until: start.Add(time.Hour)}), []string{"body.new_triage_until"}},
		"all faults at once":             {Request{State: model.TriageUntriaged, Reason: model.NoTime, Limit: -1}, []string{"body.issue_type", "body.issue_ids", "body.limit", "body.new_triage_state", "body.new_triage_reason"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := small()
			_, err := Apply(t.Context(), w, w, test.request)
			var faults []string
			if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
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
	ignore := Request{State: model.TriageIgnored}
	for name, test := range map[string]struct {
		request Request
		want    []int64
	}{
		"a ref, with the occurrences on others": {onMain(ignore), []int64{10, 11, 12}},
		"the newest one":                        {onMain(Request{State: model.TriageIgnored, Limit: 1}), []int64{11}},
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
	person := model.Actor{Kind: "token", ID: "t1"}
	earlier := start.Add(-time.Hour)
	ignored := model.Triage{State: model.TriageIgnored, Reason: model.NoTime, Comment: "later", At: earlier, By: person}
	byWorker := ignored
	byWorker.Automatic = true
	for name, test := range map[string]struct {
		before  model.Triage
		request Request
		want    model.Triage
	}{
		"ignored with a reason and a note": {
			model.Triage{State: model.TriageUntriaged},
			Request{State: model.TriageIgnored, Reason: model.FalsePositive, Note: "test code"},
			model.Triage{State: model.TriageIgnored, Reason: model.FalsePositive, Comment: "test code", At: start, By: person},
		},
		"reopened clears the reason and keeps the comment": {
			ignored,
			Request{State: model.TriageReopened},
			model.Triage{State: model.TriageReopened, Comment: "later", At: start, By: person},
		},
		"ignored again without its reason": {
			ignored,
			Request{State: model.TriageIgnored},
			model.Triage{State: model.TriageIgnored, Comment: "later", At: start, By: person},
		},
		"a note alone leaves state, reason and time": {
			ignored,
			Request{Note: "n"},
			model.Triage{State: model.TriageIgnored, Reason: model.NoTime, Comment: "n", At: earlier, By: person},
		},
		"a note alone without a decision": {
			model.Triage{State: model.TriageUntriaged},
			Request{Note: "n"},
			model.Triage{State: model.TriageUntriaged, Comment: "n"},
		},
		"ignored until a day, by a user": {
			model.Triage{State: model.TriageUntriaged},
			Request{State: model.TriageIgnored, Until: start.Add(time.Hour), Assign: &bob},
			model.Triage{State: model.TriageIgnored, At: start, By: person, Until: start.Add(time.Hour), Assignee: "bob"},
		},
		"another decision has no end, and leaves the assignee": {
			model.Triage{State: model.TriageIgnored, At: earlier, Until: start.Add(time.Hour), Assignee: "bob"},
			Request{State: model.TriageFixing},
			model.Triage{State: model.TriageFixing, At: start, By: person, Assignee: "bob"},
		},
		"an assignee alone, as typed, leaves state, end and time": {
			model.Triage{State: model.TriageIgnored, At: earlier, Until: start.Add(time.Hour), Automatic: true},
			Request{Assign: &typed},
			model.Triage{State: model.TriageIgnored, At: earlier, Until: start.Add(time.Hour), Automatic: true, Assignee: "bob"},
		},
		"taken away": {
			model.Triage{State: model.TriageUntriaged, Assignee: "bob"}, Request{Assign: &unassigned}, model.Triage{State: model.TriageUntriaged},
		},
		"the same again": {ignored, Request{State: model.TriageIgnored, Reason: model.NoTime}, ignored},
		"a worker after a person": {
			ignored, Request{State: model.TriageFixing, Automatic: true}, ignored,
		},
		"a worker's note after a person": {ignored, Request{Note: "n", Automatic: true}, ignored},
		"a worker after a worker": {
			byWorker,
			Request{State: model.TriageFixing, Automatic: true},
			model.Triage{State: model.TriageFixing, Comment: "later", At: start, By: person, Automatic: true},
		},
		"a person agrees with a worker": {
			byWorker,
			Request{State: model.TriageIgnored, Reason: model.NoTime},
			model.Triage{State: model.TriageIgnored, Reason: model.NoTime, Comment: "later", At: start, By: person},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := small()
			w.lineages[1] = model.Lineage{ID: 1, Triage: test.before}
			if _, err := Apply(t.Context(), w, w, byID(test.request, 10)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, w.lineages[1].Triage); diff != "" {
				t.Errorf("triage (-want +got):\n%s", diff)
			}
			var trail []model.TriageEvent
			if test.want != test.before {
				trail = []model.TriageEvent{{LineageID: 1, At: start, By: person, Before: test.before, After: test.want, Note: test.request.Note}}
			}
			if diff := cmp.Diff(trail, w.trail); diff != "" {
				t.Errorf("trail (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAutomaticResultOmitsSkippedFindings checks that findings skipped due to a user's decision are
// not in the result.
func TestAutomaticResultOmitsSkippedFindings(t *testing.T) {
	w := small()
	w.lineages[1] = model.Lineage{ID: 1, Triage: model.Triage{State: model.TriageReviewing}}
	got, err := Apply(t.Context(), w, w, onMain(Request{State: model.TriageIgnored, Automatic: true}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{11}, got.IDs); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestApplyReturnsErrors(t *testing.T) {
	for _, method := range []string{"Member", "Newest", "Lineages", "Occurrences", "UpdateTriage"} {
		w := small()
		w.fail = method
		if _, err := Apply(t.Context(), w, w, onMain(Request{State: model.TriageIgnored, Assign: &bob})); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v", method, err)
		}
		if len(w.trail) > 0 {
			t.Errorf("%s: something was written", method)
		}
	}
}

// TestDryRunChangesNothing checks that a dry run returns the result of the request without
// changes. Its selection restricts the request to that result.
func TestDryRunChangesNothing(t *testing.T) {
	w := small()
	request := onMain(Request{State: model.TriageIgnored, DryRun: true})
	before := w.lineages[1]
	dry, err := Apply(t.Context(), w, w, request)
	if err != nil || w.lineages[1].Triage != before.Triage || len(dry.IDs) == 0 || len(dry.Selection) != 64 {
		t.Fatalf("%+v, %v; the lineage is %+v", dry, err, w.lineages[1])
	}
	request.DryRun, request.Selection = false, dry.Selection
	for name, change := range map[string]func(*world){
		"a new decision": func(w *world) {
			l := w.lineages[2]
			l.Triage.State = model.TriageFixing
			w.lineages[2] = l
		},
		"a new assignee": func(w *world) {
			l := w.lineages[1]
			l.Triage.Assignee = "bob"
			w.lineages[1] = l
		},
		"one came": func(w *world) {
			w.findings = append(w.findings, model.Finding{ID: 20, LineageID: 2, IssueType: model.SAST, Ref: "refs/heads/x", State: model.Unresolved})
		},
		"one went, all but it": func(w *world) { w.findings = w.findings[1:2] },
		"all went":             func(w *world) { w.findings = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := small()
			change(w)
			after := maps.Clone(w.lineages)
			if out, err := Apply(t.Context(), w, w, request); !errors.Is(err, model.ErrConflict) || len(out.IDs) > 0 {
				t.Errorf("%+v, %v", out, err)
			}
			if diff := cmp.Diff(after, w.lineages); diff != "" {
				t.Errorf("it changed something: %s", diff)
			}
		})
	}
	out, err := Apply(t.Context(), w, w, request)
	if err != nil || !slices.Equal(out.IDs, dry.IDs) || w.lineages[1].Triage.State != model.TriageIgnored {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := Apply(t.Context(), w, w, request); !errors.Is(err, model.ErrConflict) {
		t.Errorf("the same selection holds twice: %v", err)
	}
}

// TestEmptySelectionReadsNoLineages checks that an empty selection reads no lineage, and that a request
// without changes stores nothing.
func TestEmptySelectionReadsNoLineages(t *testing.T) {
	w := small()
	w.fail = "Lineages"
	if got, err := Apply(t.Context(), w, w, byID(Request{State: model.TriageIgnored}, 99)); err != nil || len(got.IDs) != 0 {
		t.Errorf("of nothing: %+v, %v", got, err)
	}
	w.fail = "UpdateTriage"
	w.lineages[1] = model.Lineage{ID: 1, Triage: model.Triage{State: model.TriageIgnored, Reason: model.NoTime}}
	if got, err := Apply(t.Context(), w, w, byID(Request{State: model.TriageIgnored, Reason: model.NoTime}, 10)); err != nil || len(got.IDs) != 2 {
		t.Errorf("of what is so already: %+v, %v", got, err)
	}
}
