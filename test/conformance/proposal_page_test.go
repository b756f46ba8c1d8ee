package conformance

import (
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web"
)

// triager is the viewer of the pages of a site, with the triager role.
type triager struct{ *site }

func (v triager) Viewer(*http.Request) (web.Viewer, error) {
	return web.Viewer{User: "ada", Role: model.RoleTriager, Deployment: v.deployment}, nil
}

// page returns a page below the deployment as a triager sees it.
func (s *site) page(t *testing.T, path string) string {
	t.Helper()
	pages, err := web.New(web.Config{
		Store: s.store, Index: index.New(s.store, index.Options{BodyCache: 1 << 20}), Clock: s.clock.Now, Logger: slog.New(slog.DiscardHandler),
		Version: "test", Viewers: triager{s}, SigningKeys: httpx.OneKey(signingKey),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	pages.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orgs/"+s.deployment.Slug+path, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s returns %d: %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}

// shownStatements matches the rows of a document's page.
var shownStatements = regexp.MustCompile(`(?s)<tr id="s-([0-9a-f]{64})"><td class="mono">(.*?)</td><td class="mono">(.*?)</td><td class="long">(.*?)(?:<p class="note">(.*?)</p>)?</td><td data-state="(\w+)".*?<td class="num">(\d+|<span)`)

// TestProposalsByAPIAndPage checks that the API and the page list, show and decide proposals of a
// build alike. A decision must have the previewed effect.
func TestProposalsByAPIAndPage(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.imported(t, "project=acme/pay&ref=main&filename=audit.json", []byte(`{"dependencies": [
			{"name": "django", "version": "2.0", "vulns": [{"id": "CVE-2026-1", "fix_versions": [], "description": "x"}, {"id": "CVE-2026-2", "fix_versions": [], "description": "x"}]},
			{"name": "flask", "version": "1.0", "vulns": [{"id": "CVE-2026-3", "fix_versions": [], "description": "x"}]}]}`))
		statement := func(cve, product, rest string) string {
			return fmt.Sprintf(`{"vulnerability": {"name": %q}, "products": [{"@id": %q}], %s}`, cve, product, rest)
		}
		document := []byte(`{"@context": "https://openvex.dev/ns/v0.2.0", "@id": "urn:acme", "author": "Acme & sons", "version": 7, "statements": [` +
			statement("CVE-2026-1", "pkg:pypi/django", `"status": "not_affected", "justification": "component_not_present", "impact_statement": "It is <gone>."`) + "," +
			statement("CVE-2026-2", "pkg:pypi/django@2.0", `"status": "under_investigation"`) + "," +
			statement("CVE-2026-3", "pkg:pypi/flask", `"status": "affected", "action_statement": "Update."`) + "," +
			statement("CVE-2026-4", "pkg:pypi/none", `"status": "fixed"`) + `]}`)
		mine := s.token
		s.token = s.newToken(t, model.Token{Name: "uploads", Scopes: []model.Scope{model.ScopeCI}})
		id, err := strconv.ParseInt(s.imported(t, "project=acme/pay&ref=main", document).VEX[0].ID, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		s.token = mine

		list := all(t, s.api().Exceptions(t.Context(), s.deployment.Slug, api.ExceptionsQuery{Kind: "document", State: "requested", Limit: 1}))
		if len(list) != 1 || list[0].ID != id || *list[0].Document.Changes != 3 || list[0].Document.Statements != 4 || !strings.HasPrefix(list[0].CreatedBy, "token:") {
			t.Fatalf("proposed is %+v", list)
		}
		read := func() *api.ExceptionResponse {
			t.Helper()
			one, err := s.api().GetException(t.Context(), s.deployment.Slug, id, api.ExceptionQuery{})
			if err != nil {
				t.Fatal(err)
			}
			s.sameOnThePage(t, one)
			return one
		}
		one := read()
		if d := one.Exception.Document; *d.Changes != *list[0].Document.Changes || d.Author != "Acme & sons" || d.Version != 7 || one.Exception.Project != "acme/pay" {
			t.Errorf("%+v", one)
		}
		approve := func(statements ...string) *api.ExceptionChangeResponse {
			t.Helper()
			got, err := s.api().ApproveException(t.Context(), s.deployment.Slug, id, api.ApproveExceptionRequest{Statements: statements})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if got := approve(one.Statements[0].ID); got.Changed != *one.Statements[0].Changes || !got.Waits || got.Exception.State != "active" {
			t.Errorf("one approved: %+v", got)
		}
		got, err := s.api().RefuseException(t.Context(), s.deployment.Slug, id, api.RefuseExceptionRequest{Statements: []string{one.Statements[3].ID}})
		if err != nil || got.Refused != 1 || !got.Waits {
			t.Errorf("one refused: %+v, %v", got, err)
		}
		one = read()
		if len(one.Statements) != 3 || !one.Statements[0].Counts || *one.Exception.Document.Changes != 2 {
			t.Errorf("then %+v", one)
		}
		walked := all(t, s.api().VEXStatements(t.Context(), s.deployment.Slug, id, api.ExceptionQuery{Limit: 2}))
		if len(walked) != 3 || walked[2].ID != one.Statements[2].ID {
			t.Errorf("in pages %+v", walked)
		}
		at := fmt.Sprint("exceptions/", id, "/approve")
		refused(t, s.send(t, request{method: "POST", path: at, body: object{"statements": []string{"x"}}}), 400, api.CodeInvalidArgument)
		if got := approve(); got.Changed != *one.Exception.Document.Changes || got.Waits {
			t.Errorf("the rest approved: %+v", got)
		}
		refused(t, s.send(t, request{method: "POST", path: at, body: object{}}), 404, api.CodeNotFound)
		s.deleteDocument(t)
	})
}

// deleteDocument deletes the active document.
func (s *site) deleteDocument(t *testing.T) {
	t.Helper()
	documents := func() []api.Exception {
		return all(t, s.api().Exceptions(t.Context(), s.deployment.Slug, api.ExceptionsQuery{Kind: "document"}))
	}
	stored := documents()
	if len(stored) != 1 || stored[0].State != "active" || stored[0].Document.Changes != nil || stored[0].Ignores != 3 || stored[0].Document.Statements != 3 {
		t.Fatalf("stored is %+v", stored)
	}
	refused(t, s.send(t, request{method: "POST", path: fmt.Sprint("exceptions/", stored[0].ID, "/refuse"), body: object{}}), 409, api.CodeConflict)
	if gone, err := s.api().DeleteException(t.Context(), s.deployment.Slug, stored[0].ID, api.DeleteExceptionQuery{}); err != nil || gone.Changed != 3 {
		t.Errorf("deleted: %+v, %v", gone, err)
	}
	if left := documents(); len(left) != 1 || left[0].State != "ended" {
		t.Errorf("left: %+v", left)
	}
	for action, want := range map[string]int{"vex.create": 2, "vex.refuse": 1, "vex.update": 2, "vex.delete": 2} {
		if got := s.audited(t, action); len(got) != want {
			t.Errorf("%s is in the audit log %d times: %q", action, len(got), got)
		}
	}
}

// sameOnThePage checks that the page of a proposal contains the same statements as the API, in
// order.
func (s *site) sameOnThePage(t *testing.T, one *api.ExceptionResponse) {
	t.Helper()
	text := s.page(t, fmt.Sprint("/exceptions/", one.Exception.ID))
	if want := fmt.Sprintf("<b data-changes>%d</b>", *one.Exception.Document.Changes); !strings.Contains(text, want) {
		t.Errorf("the page does not show %s", want)
	}
	rows := shownStatements.FindAllStringSubmatch(text, -1)
	if len(rows) != len(one.Statements) {
		t.Fatalf("the page has %d rows, the API returns %d: %s", len(rows), len(one.Statements), text)
	}
	for i, statement := range one.Statements {
		row := rows[i]
		for j := range row {
			row[j] = html.UnescapeString(row[j])
		}
		status := strings.TrimSpace(strings.ReplaceAll(statement.Status+" "+statement.Justification, "_", " "))
		changes := "<span" // active
		if !statement.Counts {
			changes = fmt.Sprint(*statement.Changes)
		}
		want := []string{statement.ID, strings.Join(statement.Vulnerabilities, ", "), statement.About, status, statement.Detail, statement.TriageState, changes}
		row[6] = strings.ToLower(row[6])
		if got := row[1:]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the page shows %q, the API %q", got, want)
		}
	}
}
