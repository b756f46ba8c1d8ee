package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// connect creates a connection with a repository for each project, and returns the first project.
func (s *site) connect() (p model.Project) {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGitea, Name: "ours", BaseURL: "https://git.example", Account: "redoubt-bot", Follow: []string{"acme/*"}}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
		if err != nil {
			return err
		}
		projects, err := tx.Projects(ctx, store.ProjectQuery{})
		if err != nil {
			return err
		}
		repositories := []model.Repository{{HostID: "lonely", FullName: "acme/lonely", CloneURL: "https://git.example/acme/lonely"}}
		for _, one := range projects {
			repositories = append(repositories, model.Repository{HostID: one.Name, FullName: one.Name, DefaultBranch: "main", CloneURL: "https://git.example/" + one.Name})
		}
		list, err := tx.SaveRepositories(ctx, c.ID, repositories, true)
		if err != nil {
			return err
		}
		_, err = tx.AssignProjects(ctx, list, func(name string) bool { return name != "acme/lonely" })
		p = projects[0]
		return err
	})
	return p
}

// work leases the queued run as a runner does, and writes to its log.
func (s *site) work(log string) (run model.Run) {
	s.t.Helper()
	s.clock.Advance(time.Second)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		secret := fmt.Sprint("runner", s.clock.Now().UnixNano())
		token, err := tx.CreateToken(ctx, model.Token{Name: "runner", PublicID: secret, Scopes: []model.Scope{model.ScopeRunner}}, storetest.TokenHash(secret))
		if err != nil {
			return err
		}
		runner, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "build-7", TokenID: token.ID, Version: "1.2", Isolation: "bubblewrap"})
		if err == nil {
			run, _, err = tx.LeaseRun(ctx, runner.ID, nil)
		}
		return err
	})
	s.appendLog(run, 0, log)
	return run
}

// appendLog appends to the log of a run.
func (s *site) appendLog(run model.Run, offset int64, log string) {
	s.t.Helper()
	err := s.store.ProgressRun(s.t.Context(), s.org.ID, run.ID, run.Claim, store.RunProgress{State: model.RunScanning, Offset: offset, Log: []byte(log)})
	if err != nil {
		s.t.Fatal(err)
	}
}

// finish ends a run.
func (s *site) finish(run model.Run, o model.RunOutcome) {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.FinishRun(ctx, run.ID, run.Claim, o)
		return err
	})
}

// managedStateSelector selects the state of a project's managed scans on a page.
func managedStateSelector(code string) string { return "[data-standing=" + code + "]" }

// TestProjectManagedScans checks the shown state and the next step, from a project without
// configuration to a failed scan.
func TestProjectManagedScans(t *testing.T) {
	s := demoSite(t)
	page := first(s, "/projects", "/projects/")
	at := "/projects/" + page
	const scanNow = "form[action$='/scan']"
	shows(t, s.page(at), managedStateSelector("off"), scanNow)
	a := s.post(at+"/scan", url.Values{})
	if a.StatusCode != http.StatusConflict {
		t.Errorf("without a connection: %s", a.Status)
	}
	shows(t, a.text, "main [role=alert]")
	s.as(model.RoleAdmin)
	form := url.Values{"visibility": {"unknown"}, "managed_full": {"on"}, "schedule": {"daily"}}
	shows(t, s.follow(at, form), "p:has("+managedStateSelector("no_connection")+`) a[href="/orgs/acme/settings/connections"]`, "option[value=daily][selected]")
	shows(t, s.page("/overview"), "[data-say=unmanaged] "+managedStateSelector("no_connection"))
	s.connect()
	shows(t, s.page(at), "p:has("+managedStateSelector("no_runner")+`) a[href="/orgs/acme/settings/runners"]`)
	s.as(model.RoleTriager)
	shows(t, s.page(at), "p:has("+managedStateSelector("no_runner")+") [data-say=ask-admin]")
	run := s.follow(at+"/scan", url.Values{})
	shows(t, run, "h1 [data-state=queued]", "[data-say=waits-for-runner]", "[data-cause=manual]", "#stop")
	doing := s.work("fetching\n")
	shows(t, s.page(at), managedStateSelector("running"), fmt.Sprintf("a[href$='/runs/%d']", doing.ID))
	s.finish(doing, model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: "the branch is gone"})
	failing := "p:has(" + managedStateSelector("failing") + ")"
	containsAll(t, textAt(t, s.page(at), failing), "he branch is gone")
	shows(t, s.page(at), fmt.Sprintf("%s a[href$='/runs/%d']", failing, doing.ID))
	containsAll(t, textAt(t, s.page("/overview"), "[data-say=unmanaged]"), "he branch is gone")
	containsAll(t, textAt(t, s.page("/runs"), "tr:has([data-state=failed])"), "the branch is gone", "build-7")
	shows(t, s.follow(fmt.Sprint("/runs/", doing.ID, "/retry"), url.Values{}), "h1 [data-state=queued]")
	s.finish(s.work("again\n"), model.RunOutcome{State: model.RunDone})
	containsAll(t, textAt(t, s.page(at), "p:has("+managedStateSelector("scheduled")+")"), "daily")
	hides(t, s.page(at), "[data-say=no-sandbox]")
	s.change(func(ctx context.Context, tx *store.Tx) error {
		runners, err := tx.Runners(ctx)
		if err == nil {
			loose := runners[0]
			loose.Isolation = model.NoSandbox + "bubblewrap (bwrap) is not installed"
			_, err = tx.RecordRunnerContact(ctx, loose)
		}
		return err
	})
	shows(t, s.page(at), managedStateSelector("scheduled"))
	containsAll(t, textAt(t, s.page(at), "[data-say=no-sandbox]"), "build-7", "bubblewrap (bwrap) is not installed")
	hides(t, s.page("/overview"), "[data-say=unmanaged]")
	s.as(model.RoleViewer)
	hides(t, s.page(at), scanNow)
	if a := s.post(at+"/scan", url.Values{}); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer: %s", a.Status)
	}
}

// TestRunLogIsReadInParts checks that a script receives only new log text, and reloads for
// another attempt. A reload contains the complete log.
func TestRunLogIsReadInParts(t *testing.T) {
	s := demoSite(t)
	p := s.connect()
	s.follow(fmt.Sprint("/projects/", p.ID, "/scan"), url.Values{})
	run := s.work("fetching <script>\n")
	at := fmt.Sprint("/runs/", run.ID)
	full := s.page(at)
	shows(t, full, "h1 [data-state=scanning]")
	containsAll(t, full, "fetching &lt;script&gt;\n", "attempt=1&amp;offset=18", "<noscript>")
	s.appendLog(run, 18, "three findings\n")
	piece := s.part(at + "?offset=18&attempt=1")
	containsAll(t, piece, `<pre hx-swap-oob="beforeend:#log">three findings`, "attempt=1&amp;offset=33")
	lacks(t, piece, "fetching", "<html")
	containsAll(t, s.page(at+"?offset=18&attempt=1"), "fetching &lt;script&gt;\nthree findings")
	shows(t, s.follow(at+"/cancel", url.Values{}), "h1 [data-state=cancelled]", "#runlive p.say[role=status]", "#retry")
	last := s.part(at + "?offset=33&attempt=1")
	lacks(t, last, "hx-get", "hx-swap-oob")
	shows(t, s.follow(at+"/cancel", url.Values{}), "h1 [data-state=cancelled]") // repeated, as by two concurrent users
	other := s.partOf(at + "?offset=33&attempt=2")
	if other.Header.Get("HX-Refresh") != "true" {
		t.Errorf("another attempt appends to this log: %v", other.Header)
	}
}

// part returns the partial response that a script receives.
func (s *site) part(path string) string {
	s.t.Helper()
	a := s.partOf(path)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s", path, a.Status)
	}
	return a.text
}

func (s *site) partOf(path string) answer {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "/orgs/acme"+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("HX-Request", "true")
	return s.send(r)
}

// TestRunLogUpdatesWithoutReload checks in a browser that new log text and the end of a run
// appear on the open page.
func TestRunLogUpdatesWithoutReload(t *testing.T) {
	s := demoSite(t)
	p := s.connect()
	s.follow(fmt.Sprint("/projects/", p.ID, "/scan"), url.Values{})
	run := s.work("first line\n")
	b := s.browse(1280, 900)
	b.open(fmt.Sprint("/runs/", run.ID))
	s.appendLog(run, 11, "second line\n")
	b.do(chromedp.WaitVisible(`#runlive[hx-get*="offset=23"]`))
	s.appendLog(run, 23, "third line\n")
	s.finish(run, model.RunOutcome{State: model.RunDone})
	b.do(chromedp.WaitVisible(`#retry`))
	if got := read[string](b, `document.querySelector("#log").textContent`); got != "first line\nsecond line\nthird line\n" {
		t.Errorf("the log is %q", got)
	}
}

// TestManagedPagesAreAccessible checks the pages on wide and narrow screens, in both themes.
func TestManagedPagesAreAccessible(t *testing.T) {
	s := demoSite(t)
	p := s.connect()
	s.as(model.RoleAdmin)
	at := fmt.Sprint("/projects/", p.ID)
	s.follow(at, url.Values{"visibility": {"unknown"}, "managed_full": {"on"}, "schedule": {"weekly"}})
	s.follow(at+"/scan", url.Values{})
	run := s.work(strings.Repeat("a line of the log that is long enough to be wrapped where the page is narrow\n", 80))
	connection := ui.ConnectionsPath + "/" + first(s, ui.ConnectionsPath, ui.ConnectionsPath+"/")
	pages := []string{at, "/runs", fmt.Sprint("/runs/", run.ID), "/overview", ui.ConnectionsPath, connection, ui.RunnersPath}
	for _, width := range []int{1280, 390} {
		b := s.browse(width, 900)
		for _, page := range pages {
			b.open(page)
			faults := append(read[[]string](b, touching), read[[]string](b, `document.documentElement.scrollWidth > innerWidth ? ["the page is wider than its window"] : []`)...)
			b.run(axe)
			faults = append(faults, b.axe(allRules)...)
			b.run(`document.documentElement.dataset.theme = "dark"`)
			for _, fault := range append(faults, b.axe(colourRules)...) {
				t.Errorf("%s at %d: %s", page, width, fault)
			}
		}
	}
}
