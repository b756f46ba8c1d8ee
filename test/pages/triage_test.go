package pages

import (
	"context"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// undoForm selects the form that undoes a decision, alone or after the selector of its banner.
const undoForm = ` form[action="/orgs/acme/triage/undo"]`

var hiddenField = regexp.MustCompile(`<input type="hidden" name="(version|type|ids|back|decision|severity|mode|sum)" value="([^"]*)">`)

// formOf returns the hidden fields of a page's form.
func formOf(page string) url.Values {
	form := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	return form
}

func (s *site) previewOf(query string) string {
	s.t.Helper()
	a := s.post("/triage/preview", url.Values{"type": {"sast"}, "query": {query}, "all": {"1"}})
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("preview: %s\n%s", a.Status, a.text)
	}
	return a.text
}

// follow submits a form and returns the page that it redirects to.
func (s *site) follow(path string, form url.Values) string {
	s.t.Helper()
	a := s.post(path, form)
	if a.StatusCode != http.StatusSeeOther {
		s.t.Fatalf("%s: %s\n%s\n%s", path, a.Status, a.text, s.log.String())
	}
	to, _, _ := strings.Cut(a.Header.Get("Location"), "#")
	return s.page(strings.TrimPrefix(to, "/orgs/acme"))
}

// did selects the banner of a decision about n findings.
func did(n int, what string) string {
	return fmt.Sprintf(".done[data-say=decided][data-count='%d'][data-did='%s']", n, what)
}

// selected returns the number of findings in a preview.
func selected(t testing.TB, preview string) string {
	t.Helper()
	return textAt(t, preview, "[data-selected]")
}

func open(projects ...string) model.FindingFilter {
	return model.FindingFilter{IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusOpen}, Projects: projects}
}

func TestBulkTriageByFilterAndUndo(t *testing.T) {
	s := demoSite(t)
	before := s.View().Count(open())
	chosen := s.View().Count(open("acme/payments"))
	preview := s.previewOf("repos=acme%2Fpayments")
	if n := selected(t, preview); n != strconv.Itoa(chosen) {
		t.Errorf("the preview counts %s findings, %d match", n, chosen)
	}
	containsAll(t, preview, "acme/payments", "main", "release/1.3")
	shows(t, preview, "[data-touched]")
	form := formOf(preview)
	form.Set("state", "ignored")
	form.Set("reason", "acceptable_risk")
	form.Set("note", "a demo <only>")
	after := s.follow("/triage", form)
	shows(t, after, did(chosen, "ignored")+undoForm)
	if n := visibleNumbers(textAt(t, after, ".done > span")); n != strconv.Itoa(chosen) {
		t.Errorf("the text names %s findings", n)
	}
	if n := s.View().Count(open("acme/payments")); n != 0 {
		t.Errorf("%d are still open", n)
	}
	if n := s.View().Count(open()); n != before-chosen {
		t.Errorf("%d are open in all, want %d", n, before-chosen)
	}
	undone := s.follow("/triage/undo", formOf(after))
	shows(t, undone, did(chosen, "undone"))
	if n := s.View().Count(open()); n != before {
		t.Errorf("%d are open after the undo, want %d", n, before)
	}
}

// TestConcurrentlyChangedFindingsAreSkipped checks concurrent decisions: the second one skips findings
// that the first one changed, and lists them.
func TestConcurrentlyChangedFindingsAreSkipped(t *testing.T) {
	s := demoSite(t)
	form := formOf(s.previewOf("repos=acme%2Fgateway"))
	form.Set("state", "fixing")
	chosen := s.View().Count(open("acme/gateway"))
	other, err := s.View().Newest(t.Context(), open("acme/gateway"), 1)
	if err != nil {
		t.Fatal(err)
	}
	s.decide(other[0].FindingID, model.TriageIgnored)
	page := s.follow("/triage", form)
	shows(t, page, did(chosen-1, "fixing")+`[data-left="1"] a[href="/orgs/acme/findings/`+ui.Decimal(other[0].FindingID)+`"]`)
	filter := model.FindingFilter{IssueType: model.SAST, HasIDs: true, IDs: []int64{other[0].FindingID}, Statuses: []model.Status{model.StatusIgnored}}
	if s.View().Count(filter) != 1 {
		t.Error("the other person's decision was overwritten")
	}
	s.decide(other[0].FindingID, model.TriageReviewing)
	undo := formOf(page)
	fixing := model.FindingFilter{IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusFixing}}
	one, err := s.View().Newest(t.Context(), fixing, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.decide(one[0].FindingID, model.TriageReviewing)
	shows(t, s.follow("/triage/undo", undo), did(chosen-2, "undone")+`[data-left="1"]`)
}

// decide makes a decision as another user.
func (s *site) decide(id int64, state model.TriageState) {
	s.t.Helper()
	err := s.store.Update(s.t.Context(), s.org.ID, model.Actor{Kind: "user", ID: "bob"}, func(ctx context.Context, tx *store.Tx) error {
		_, err := triage.Apply(ctx, tx, s.View(), triage.Request{Filter: model.FindingFilter{IssueType: model.SAST, HasIDs: true, IDs: []int64{id}}, State: state})
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestTriageOfSelectedRowsAndOneFinding(t *testing.T) {
	s := demoSite(t)
	id := firstFinding(s)
	a := s.post("/triage/preview", url.Values{"type": {"sast"}, "pick": {"1"}, "id": {id}})
	if n := selected(t, a.text); n != "1" {
		t.Errorf("the preview counts %s findings", n)
	}
	shows(t, a.text, "[data-say=picked-rows]")
	form := formOf(s.page("/findings/" + id))
	form.Set("state", "note")
	form.Set("note", "looked at it")
	page := s.follow("/triage", form)
	shows(t, page, did(1, "note"))
	containsAll(t, page, "looked at it", "Ada Lovelace")
	form = formOf(s.page("/findings/" + id))
	form.Set("state", "reviewing")
	shows(t, s.follow("/triage", form), did(1, "reviewing"), ".history [data-did=reviewing]")
}

func TestInvalidTriageRequests(t *testing.T) {
	s := demoSite(t)
	good := formOf(s.page("/findings/" + firstFinding(s)))
	good.Set("state", "fixing")
	for name, change := range map[string]func(url.Values){
		"no state or note": func(f url.Values) { f.Del("state") },
		"another state":    func(f url.Values) { f.Set("state", "gone") },
		"another reason":   func(f url.Values) { f.Set("state", "ignored"); f.Set("reason", "bored") },
		"no ids":           func(f url.Values) { f.Del("ids") },
		"damaged ids":      func(f url.Values) { f.Set("ids", "!!!") },
		"no version":       func(f url.Values) { f.Del("version") },
		"no type":          func(f url.Values) { f.Set("type", "dast") },
		"a past day":       func(f url.Values) { f.Set("until", "2000-01-01") },
		"a long note":      func(f url.Values) { f.Set("note", strings.Repeat("x", model.MaxNote+1)) },
	} {
		form := url.Values{}
		for k, v := range good {
			form[k] = slices.Clone(v)
		}
		change(form)
		a := s.post("/triage", form)
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
		lacks(t, a.text, "body.", "new_", "triage_") // the form has no such fields
	}
	ahead := url.Values{}
	maps.Copy(ahead, good)
	ahead.Set("version", "99999999")
	if a := s.post("/triage", ahead); a.StatusCode != http.StatusConflict {
		t.Errorf("a future version returns %d", a.StatusCode)
	}
	for _, token := range []string{"", "1", "1-2-3", "0-99", "99-1"} {
		if a := s.post("/triage/undo", url.Values{"decision": {token}}); a.StatusCode != http.StatusBadRequest {
			t.Errorf("undo %q: %d", token, a.StatusCode)
		}
	}
}

// TestUndoExcludesTriageOfOtherUsers checks that a forged address neither shows nor undoes the
// decisions of other users.
func TestUndoExcludesTriageOfOtherUsers(t *testing.T) {
	s := demoSite(t)
	form := formOf(s.page("/findings/" + firstFinding(s)))
	form.Set("state", "fixing")
	undo := formOf(s.follow("/triage", form))
	s.viewer.User = "eve"
	if a := s.post("/triage/undo", undo); a.StatusCode != http.StatusBadRequest {
		t.Errorf("another person's undo: %d", a.StatusCode)
	}
	form.Set("back", "https://evil.example/")
	form.Set("version", strconv.FormatInt(s.View().Version(), 10))
	if to := s.post("/triage", form).Header.Get("Location"); !strings.HasPrefix(to, "/orgs/acme/findings?") {
		t.Errorf("redirects to %q", to)
	}
}

// TestTriageNoticeIsShownToOtherUsers checks that the address after a decision shows other users
// the same notice with the actor. Only the actor may undo it.
func TestTriageNoticeIsShownToOtherUsers(t *testing.T) {
	s := demoSite(t)
	form := formOf(s.page("/findings/" + firstFinding(s)))
	form.Set("state", "fixing")
	to := strings.TrimPrefix(s.post("/triage", form).Header.Get("Location"), "/orgs/acme")
	shows(t, s.page(to), did(1, "fixing")+undoForm)
	s.viewer.User, s.viewer.DisplayName = "eve", "Eve"
	page := s.page(to)
	containsAll(t, textAt(t, page, did(1, "fixing")), "ada")
	hides(t, page, "[data-say=unchanged]", undoForm)
	// An address that names more than one decision shows no notice.
	form = formOf(s.page("/findings/" + firstFinding(s)))
	form.Set("state", "reviewing")
	s.clock.Advance(time.Minute)
	s.follow("/triage", form)
	hides(t, s.page("/findings?done=0-2-0"), ".done")
	shows(t, s.page("/findings?done=2-2-0"), ".done[data-say=unchanged][data-left='0']")
}

// TestReopenIgnoresHiddenExpiry checks that a leftover day in the form is ignored for decisions
// without an end.
func TestReopenIgnoresHiddenExpiry(t *testing.T) {
	s := demoSite(t)
	for _, state := range []string{"reopened", "note"} {
		form := formOf(s.page("/findings/" + firstFinding(s)))
		form.Set("state", state)
		form.Set("until", "2999-01-31")
		form.Set("note", "as it was")
		lacks(t, s.follow("/triage", form), "2999-01-31", "new_triage_until")
	}
}

var previewSeverity = regexp.MustCompile(`<span class="tag (critical|high|medium|low)">(\d+) `)

// TestPreviewCountsSelectedSeverities checks that the severities of a preview match the
// API, most severe first.
func TestPreviewCountsSelectedSeverities(t *testing.T) {
	s := demoSite(t)
	filter := open("acme/payments")
	var want []string
	sum := 0
	for severity := model.SeverityCritical; severity > 0; severity-- {
		filter.Severities = []model.Severity{severity}
		if n := s.View().Count(filter); n > 0 {
			want = append(want, severity.String()+" "+strconv.Itoa(n))
			sum += n
		}
	}
	page := s.previewOf("repos=acme%2Fpayments")
	var got []string
	for _, m := range previewSeverity.FindAllStringSubmatch(page, -1) {
		got = append(got, m[1]+" "+m[2])
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 2 {
		t.Errorf("severities of the preview (-API +page):\n%s", diff)
	}
	if n := selected(t, page); n != strconv.Itoa(sum) {
		t.Errorf("the preview counts %s findings, the sum of their severities is %d", n, sum)
	}
}

// TestTriageOfGroups checks that selected groups are previewed with the filter of the list, without
// other groups.
func TestTriageOfGroups(t *testing.T) {
	s := demoSite(t)
	page := s.page("/findings?group=rule&severities=high")
	containsAll(t, page, `name="group" value="B324"`, "SQL is formatted with fmt.Sprintf. Use placeholders.")
	form := url.Values{"type": {"sast"}, "query": {"group=rule&severities=high"}, "grouped": {"1"}, "group": {"B324", "CKV_AWS_3"}, "back": {"/orgs/acme/findings?group=rule&severities=high"}}
	preview := s.post("/triage/preview", form)
	want := s.View().Count(model.FindingFilter{
		IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusOpen}, Severities: []model.Severity{model.SeverityHigh}, Rules: []string{"B324", "CKV_AWS_3"},
	})
	if n := selected(t, preview.text); n != strconv.Itoa(want) {
		t.Errorf("the preview counts %s findings, %d match", n, want)
	}
	containsAll(t, preview.text, "B324", "CKV_AWS_3")
	if want == 0 {
		t.Fatal("the groups are empty")
	}
	decision := formOf(preview.text)
	decision.Set("state", "ignored:acceptable_risk")
	done := s.follow("/triage", decision)
	shows(t, done, did(want, "ignored"))
	lacks(t, done, `value="B324"`)
	form.Del("group")
	if a := s.post("/triage/preview", form); a.StatusCode != http.StatusBadRequest || document(t, a.text).Find("[role=alert]").Length() == 0 {
		t.Errorf("without a group filter: %d %s", a.StatusCode, a.text)
	}
	form.Set("query", "group=project")
	form["group"] = []string{"acme/gateway"}
	want = s.View().Count(model.FindingFilter{IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusOpen}, Projects: []string{"acme/gateway"}})
	if n := selected(t, s.post("/triage/preview", form).text); n != strconv.Itoa(want) {
		t.Errorf("the preview counts %s findings, %d match", n, want)
	}
}

// TestTriageOfRows checks that a decision about selected rows applies to the state that the page
// showed. Invalid rows, reasons and versions are rejected.
func TestTriageOfRows(t *testing.T) {
	s := demoSite(t)
	one, version := firstFinding(s), regexp.MustCompile(`name="version" value="(\d+)"`).FindStringSubmatch(s.page("/findings"))[1]
	form := func(change map[string]string) url.Values {
		f := url.Values{"type": {"sast"}, "version": {version}, "id": {one}, "state": {"ignored:no_time"}}
		for name, v := range change {
			f.Set(name, v)
		}
		return f
	}
	for _, bad := range []map[string]string{{"id": "x"}, {"version": ""}, {"state": "ignored:odd"}, {"state": "gone"}, {"type": "all"}} {
		if a := s.post("/triage", form(bad)); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %d", bad, a.StatusCode)
		}
	}
	n, err := strconv.ParseInt(one, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	s.decide(n, model.TriageReviewing)
	shows(t, s.follow("/triage", form(nil)), ".done[data-say=unchanged][data-left='1']")
}
