package pages

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/demo"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
	"github.com/redoubt/redoubt/internal/web/ui"
)

func TestMain(m *testing.M) {
	code := storetest.Tests{M: m}.Run()
	stopBrowser()
	os.Exit(code)
}

// site serves the pages of a deployment to a viewer.
type site struct {
	t      testing.TB
	store  *store.Store
	clock  *storetest.Clock
	index  *index.Index
	org    model.Deployment
	viewer *ui.Viewer           // signed-in user; nil without a session
	others map[string]ui.Viewer // by User-Agent, for further browsers
	pages  http.Handler
	log    bytes.Buffer

	codeHosts codeHosts
}

// Viewer implements ui.Viewers.
func (s *site) Viewer(r *http.Request) (ui.Viewer, error) {
	if s.viewer == nil {
		return ui.Viewer{}, ui.ErrNotSignedIn
	}
	viewer := *s.viewer
	if other, ok := s.others[r.UserAgent()]; ok {
		viewer = other
	}
	switch r.PathValue("deployment") {
	case "", "-", s.org.Slug:
		return viewer, nil
	}
	return ui.Viewer{}, model.ErrNotFound
}

// newSite returns a site with an empty deployment and a signed-in triager.
func newSite(t testing.TB) *site {
	t.Helper()
	clock := storetest.NewClock()
	s := storetest.Open(t, storetest.Database(t, "sqlite", clock))
	return siteOf(t, clock, s, storetest.Deployment(t, s))
}

// siteOf returns a site for a deployment in a store, with a signed-in triager.
func siteOf(t testing.TB, clock *storetest.Clock, st *store.Store, org model.Deployment) *site {
	t.Helper()
	s := &site{t: t, clock: clock, store: st, org: org}
	s.index = index.New(s.store, index.Options{BodyCache: 32 << 20, Clock: clock.Now})
	s.as(model.RoleTriager)
	pages, err := web.New(ui.Config{
		Store: s.store, Index: s.index, Clock: s.clock.Now, Logger: slog.New(slog.NewTextHandler(&s.log, nil)), Version: "test", Viewers: s, SigningKeys: httpx.OneKey([]byte("0123456789abcdef0123456789abcdef")), CodeHosts: &s.codeHosts,
		Notifier: newNotifier(t, s.store, clock.Now), Uploads: func() ui.Uploads { return noUploads{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.pages = pages.Handler()
	return s
}

// adaID and bobID are ids of users that no test creates.
const adaID, bobID = 900_001, 900_002

// as signs in a user with a role.
func (s *site) as(role model.Role) {
	s.viewer = &ui.Viewer{UserID: adaID, User: "ada", DisplayName: "Ada Lovelace", Role: role, Deployment: s.org}
}

// theDemo is a database with the history of the demo.
var theDemo storetest.Template

// demoSite returns a site with the history of the demo.
func demoSite(t testing.TB) *site {
	t.Helper()
	clock := storetest.NewClock()
	s := storetest.Open(t, theDemo.Database(t, clock, fillDemo))
	org, err := s.Deployment(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	return siteOf(t, clock, s, org)
}

// fillDemo creates a deployment and uploads the demo's reports.
func fillDemo(s *store.Store) error {
	ctx := context.Background()
	org, err := s.CreateDeployment(ctx, "acme", "Acme", storetest.Actor)
	if err != nil {
		return err
	}
	for _, step := range demo.Timeline() {
		reading := &report.Reading{}
		for _, file := range step.Files {
			text, err := demo.Samples.ReadFile(file.Path)
			if err != nil {
				return err
			}
			if err := reading.Add(bytes.NewReader(text), report.Options{Name: file.Name, Key: []byte("a key of the tests")}); err != nil {
				return err
			}
		}
		err := applyTo(ctx, s, org, ingest.Upload{
			Project: model.Project{Name: step.Project, URL: step.RepoURL, Tags: step.Tags},
			Ref:     step.Ref, Commit: step.Commit, Full: step.Full, DeclaredFull: step.Full, At: storetest.Epoch.Add(-step.Age),
		}, reading)
		if err != nil {
			return err
		}
	}
	return nil
}

// upload applies reports as an import does.
func (s *site) upload(u ingest.Upload, reading *report.Reading) {
	s.t.Helper()
	if err := applyTo(s.t.Context(), s.store, s.org, u, reading); err != nil {
		s.t.Fatal(err)
	}
}

func applyTo(ctx context.Context, s *store.Store, org model.Deployment, u ingest.Upload, reading *report.Reading) error {
	cleaned := reading.Clean(nil)
	return s.Update(ctx, org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		reports, err := conceal.Resolve(ctx, tx, cleaned)
		if err == nil {
			_, err = ingest.ApplyAll(ctx, tx, exceptions.ForImport{Store: tx}, u, reports)
		}
		return err
	})
}

// answer is a response with its text.
type answer struct {
	*http.Response
	text string
}

// send sends a same-origin request.
func (s *site) send(r *http.Request) answer {
	s.t.Helper()
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	w := httptest.NewRecorder()
	s.pages.ServeHTTP(w, r)
	text, err := io.ReadAll(w.Result().Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{w.Result(), string(text)}
}

// get requests a page below the deployment.
func (s *site) get(path string) answer {
	s.t.Helper()
	return s.send(httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/orgs/"+s.org.Slug+path, nil))
}

// page requests an existing page and returns its text.
func (s *site) page(path string) string {
	s.t.Helper()
	a := s.get(path)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %s\n%s\n%s", path, a.Status, a.text, s.log.String())
	}
	return a.text
}

// post submits a form.
func (s *site) post(path string, form url.Values) answer {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/orgs/"+s.org.Slug+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.send(r)
}

// shows fails the test unless the page has an element for each of the CSS selectors. Messages have
// a code in data-say, so that tests do not depend on their wording.
func shows(t testing.TB, page string, selectors ...string) {
	t.Helper()
	d := document(t, page)
	for _, s := range selectors {
		if d.Find(s).Length() == 0 {
			t.Errorf("the page has no %s:\n%s", s, page)
		}
	}
}

// hides fails the test if the page has an element for one of the selectors.
func hides(t testing.TB, page string, selectors ...string) {
	t.Helper()
	d := document(t, page)
	for _, s := range selectors {
		if d.Find(s+", html").Length() == 0 { // an invalid selector matches nothing
			t.Fatalf("%s is not a selector", s)
		}
		if found := d.Find(s); found.Length() > 0 {
			t.Errorf("the page has %s: %s", s, found.Text())
		}
	}
}

// textAt returns the text of the only element that the selector matches.
func textAt(t testing.TB, page, selector string) string {
	t.Helper()
	found := document(t, page).Find(selector)
	if found.Length() != 1 {
		t.Fatalf("the page has %d of %s:\n%s", found.Length(), selector, page)
	}
	return strings.Join(strings.Fields(found.Text()), " ")
}

var figure = regexp.MustCompile(`\b\d+\b`)

// visibleNumbers returns the visible numbers of a text, in order. Tests compare them with attributes.
func visibleNumbers(text string) string { return strings.Join(figure.FindAllString(text, -1), " ") }

func document(t testing.TB, page string) *goquery.Document {
	t.Helper()
	d, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// containsAll fails the test unless the text contains all words: names, ids and other data of the test.
// The meaning of sentences is checked by shows.
func containsAll(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("the page does not show %q:\n%s", w, text)
		}
	}
}
