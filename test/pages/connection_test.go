package pages

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// codeHosts is a code host that accepts one credential.
type codeHosts struct {
	refuses     error
	unreachable bool // no address for webhooks is configured

	hook func(ctx context.Context, id, repositoryID int64) error // creates webhooks; nil: the host refuses
}

// The accepted credential and the error messages of the host.
const (
	hostSecret = "t0ken-of-the-host"
	refused    = "the host does not take the credential (401)"
	noHooks    = "acme/new: the account may not make webhooks"
)

func (h *codeHosts) PrepareAdd(_ context.Context, c model.Connection, credential model.HostCredential) (store.SaveConnection, error) {
	if err := model.CheckConnection(c); err != nil {
		return nil, err
	}
	if credential.Secret != hostSecret {
		return nil, model.Invalid("base_url", refused)
	}
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		made, err := tx.AddConnection(ctx, c, func(int64) (store.Sealed, error) { return store.Sealed{Credential: []byte("sealed")}, nil })
		if err != nil {
			return made, err
		}
		list, err := tx.SaveRepositories(ctx, made.ID, []model.Repository{
			{HostID: "1", FullName: "acme/new", CloneURL: "https://git.example/acme/new"}, {HostID: "2", FullName: "other/x", CloneURL: "https://git.example/other/x", Private: true},
		}, true)
		if err == nil {
			_, err = tx.AssignProjects(ctx, list, made.Follows)
		}
		return made, err
	}, nil
}

func (h *codeHosts) PrepareCheck(_ context.Context, _, id int64) (save store.SaveConnection, hostErr, err error) {
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		problem := ""
		if h.refuses != nil {
			problem = h.refuses.Error()
		}
		return model.Connection{}, tx.NoteConnectionCheck(ctx, id, "redoubt-bot", problem)
	}, h.refuses, nil
}

func (h *codeHosts) PrepareUpdate(_ context.Context, _, id int64, change model.ConnectionChange) (store.SaveConnection, error) {
	if change.Credential != nil && change.Credential.Secret != hostSecret {
		return nil, model.Invalid("base_url", refused)
	}
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		c, err := tx.Connection(ctx, id)
		if err != nil {
			return c, err
		}
		return tx.UpdateConnection(ctx, change.Of(c), store.Sealed{})
	}, nil
}

func (h *codeHosts) PrepareRemove(_ context.Context, _, id int64) (store.SaveConnection, error) {
	return func(ctx context.Context, tx *store.Tx) (model.Connection, error) {
		return model.Connection{}, tx.DeleteConnection(ctx, id)
	}, nil
}

func (h *codeHosts) Hook(ctx context.Context, _ int64, _ model.Actor, id, repositoryID int64) (n int, refused, err error) {
	if h.hook != nil {
		return 1, nil, h.hook(ctx, id, repositoryID)
	}
	return 0, errors.New(noHooks), nil
}

func (h *codeHosts) HooksAt() string {
	if h.unreachable {
		return ""
	}
	return "https://redoubt.example"
}

// works selects the state of a working connection, and makeHooks the form that creates webhooks.
const works, makeHooks = "[data-state=works]", "#make-hooks"

// followed selects the number of followed repositories, of two.
func followed(n int) string { return fmt.Sprintf("[data-followed='%d'][data-seen='2']", n) }

// TestConnectionLifecycle checks that the host is contacted before a connection is
// stored, and that no page shows the credential. Followed repositories become projects.
func TestConnectionLifecycle(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	form := url.Values{"name": {"ours"}, "kind": {"gitea"}, "base_url": {"https://git.example/"}, "secret": {"wrong-secret"}, "follow": {"acme/*"}}
	a := s.post(ui.ConnectionsPath, form)
	shows(t, a.text, "[data-say=no-connections]")
	containsAll(t, textAt(t, a.text, "[role=alert]"), refused)
	containsAll(t, a.text, `value="ours"`, `value="https://git.example"`, "acme/*")
	lacks(t, a.text, "wrong-secret")
	if a.StatusCode != http.StatusBadRequest {
		t.Errorf("%s", a.Status)
	}
	form.Set("secret", " "+hostSecret+"\n")
	page := s.follow(ui.ConnectionsPath, form)
	shows(t, page, "[data-say=connected]", works, "[data-kind=gitea]", "[data-say=not-followed]", "[data-private]", followed(1))
	containsAll(t, page, "https://git.example", "acme/new", "other/x")
	lacks(t, page, hostSecret)
	if a := s.post(ui.ConnectionsPath, form); a.StatusCode != http.StatusBadRequest {
		t.Errorf("of the same name: %s", a.Status)
	}
	at := ui.ConnectionsPath + "/" + first(s, ui.ConnectionsPath, ui.ConnectionsPath+"/")
	if a := s.post(at+"/repositories", url.Values{"do": {"followed"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("nothing was chosen: %s", a.Status)
	}
	shows(t, s.follow(at+"/repositories", url.Values{"do": {"followed"}, "name": {"other/x"}}), followed(2), "[data-say=followed]")
	page = s.follow(at+"/repositories", url.Values{"do": {"left"}, "name": {"acme/new"}})
	shows(t, page, followed(1))
	containsAll(t, page, "!acme/new")
	s.codeHosts.refuses = errors.New("the host says 401: the token was revoked")
	for _, page := range []string{s.follow(at+"/test", url.Values{}), s.page(ui.ConnectionsPath)} {
		shows(t, page, "[data-state=fails]")
		hides(t, page, works)
		containsAll(t, page, "the token was revoked")
	}
	s.codeHosts.refuses = nil
	page = s.follow(at+"/test", url.Values{})
	shows(t, page, works)
	containsAll(t, page, "redoubt-bot")
	page = s.follow(at, url.Values{"name": {"theirs"}, "follow": {"**"}})
	shows(t, page, "[data-say=connection-saved]")
	containsAll(t, textAt(t, page, "h1"), "theirs")
	people := s.post(at, url.Values{"name": {"theirs"}, "replies": {"linked"}, "people": {"octocat = missing-user"}})
	shows(t, people.text, "[role=alert]")
	containsAll(t, textAt(t, people.text, "[role=alert]"), "missing-user")
	containsAll(t, people.text, "octocat = missing-user")
	for _, bad := range []string{"octocat", "octo cat = ada", " = ada", "octocat = ADA!"} {
		if a := s.post(at, url.Values{"name": {"theirs"}, "replies": {"linked"}, "people": {bad}}); a.StatusCode != http.StatusBadRequest {
			t.Errorf("people %q: %s", bad, a.Status)
		}
	}
	if a := s.post(at, url.Values{"name": {"theirs"}, "replies": {"everybody"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("replies of everybody: %s", a.Status)
	}
	if err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateUser(ctx, model.User{Name: "linked-ada"}, model.RoleTriager)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	containsAll(t, s.follow(at, url.Values{"name": {"theirs"}, "replies": {"collaborators"}, "people": {"OctoCat = linked-ada"}}), "octocat = linked-ada", `<option value="collaborators" selected>`)
	containsAll(t, textAt(t, s.post(at, url.Values{"name": {"theirs"}, "secret": {"wrong-secret"}}).text, "[role=alert]"), refused)
	containsAll(t, textAt(t, s.post(at+"/hooks", url.Values{}).text, "[role=alert]"), noHooks)
	shows(t, s.follow(at+"/remove", url.Values{}), "[data-say=disconnected]", "[data-say=no-connections]")
	containsAll(t, s.page("/projects"), "other/x")
	s.as(model.RoleTriager)
	if a := s.get(ui.ConnectionsPath); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager: %s", a.Status)
	}
}

// TestHostKindLabels checks the labels in the form, so that a credential is not sent
// to another host.
func TestHostKindLabels(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	page := s.page(ui.ConnectionsPath)
	named := map[string]model.HostKind{}
	for _, kind := range model.HostKinds() {
		_, label, _ := strings.Cut(page, fmt.Sprintf(`<option value="%s"`, kind))
		_, label, _ = strings.Cut(label, ">")
		label, _, _ = strings.Cut(label, "<")
		if other, exists := named[label]; exists || label == "" {
			t.Errorf("%s has the name %q, as has %s", kind, label, other)
		}
		named[label] = kind
	}
	shows(t, page, "option[value=jira]", "#secret")
	containsAll(t, page, "connections create --app")
}

// TestConnectionOffersWebhooksIfHostSupportsThem checks that webhooks are offered if the host
// supports them and the server's address is known. Otherwise the page names the missing setting.
func TestConnectionOffersWebhooksIfHostSupportsThem(t *testing.T) {
	for _, kind := range model.HostKinds() {
		for name, unreachable := range map[string]bool{"": false, " without an address": true} {
			t.Run(kind.String()+name, func(t *testing.T) {
				s := newSite(t)
				s.as(model.RoleAdmin)
				s.codeHosts.unreachable = unreachable
				page := s.follow(ui.ConnectionsPath, url.Values{"name": {"ours"}, "kind": {kind.String()}, "base_url": {"https://git.example"}, "secret": {hostSecret}})
				has := kind != model.HostGit && kind != model.HostJira
				if offered := document(t, page).Find(makeHooks).Length() > 0; offered != (has && !unreachable) {
					t.Errorf("webhooks are offered: %v", offered)
				}
				if named := strings.Contains(page, "<code>--public-url</code>"); named != (has && unreachable) {
					t.Errorf("the missing setting is named: %v", named)
				}
			})
		}
	}
}

// TestRunnersPage checks that a new token is shown once, and that the page lists the runners.
func TestRunnersPage(t *testing.T) {
	s := demoSite(t)
	s.crew()
	p := s.connect()
	s.as(model.RoleAdmin)
	shows(t, s.page(ui.RunnersPath), "[data-say=no-runners]")
	containsAll(t, s.page(ui.RunnersPath), "redoubt serve --runner")
	a := s.post(ui.RunnersPath, url.Values{})
	if a.StatusCode != http.StatusSeeOther || len(a.Cookies()) != 1 {
		t.Fatalf("%s %v", a.Status, a.Cookies())
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.Header.Get("Location"), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(a.Cookies()[0])
	containsAll(t, s.send(r).text, "export REDOUBT_TOKEN=rdt_", "redoubt runner --url")
	lacks(t, s.page(ui.RunnersPath), "rdt_")
	s.change(func(ctx context.Context, tx *store.Tx) error {
		tokens, err := tx.Tokens(ctx)
		for _, token := range tokens {
			if token.Has(model.ScopeRunner) && (len(token.Scopes) != 1 || token.ExpiresAt.IsZero() || token.UserID == 0) {
				t.Errorf("the token may %+v", token)
			}
		}
		return err
	})
	s.follow(fmt.Sprint("/projects/", p.ID, "/scan"), url.Values{})
	run := s.work("x\n")
	page := s.page(ui.RunnersPath)
	containsAll(t, page, "build-7", "bubblewrap")
	shows(t, page, fmt.Sprintf(`a[href$="/runs/%d"]`, run.ID))
	hides(t, page, "[data-say=no-runners]")
	shows(t, s.follow(ui.RunnersPath+"/"+ui.Decimal(run.RunnerID)+"/revoke", url.Values{}), "[data-say=runner-revoked]", "[data-say=no-runners]")
}

// TestBrokenWebhookShowsWarning checks that the connection's page and the list show a broken webhook
// with the missing events.
func TestBrokenWebhookShowsWarning(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	s.follow(ui.ConnectionsPath, url.Values{"name": {"ours"}, "kind": {"gitea"}, "base_url": {"https://git.example/"}, "secret": {hostSecret}, "follow": {"acme/*"}})
	at := ui.ConnectionsPath + "/" + first(s, ui.ConnectionsPath, ui.ConnectionsPath+"/")
	note := func(do func(ctx context.Context, tx *store.Tx, r model.Repository) error) {
		t.Helper()
		s.clock.Advance(10 * time.Minute)
		err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Connections(ctx)
			if err != nil {
				return err
			}
			r, err := tx.RepositoryByHostID(ctx, list[0].ID, "1")
			if err != nil {
				return err
			}
			return do(ctx, tx, r)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	note(func(ctx context.Context, tx *store.Tx, r model.Repository) error {
		return tx.SetRepositoryHook(ctx, r.ID, "41", "https://redoubt.example/api/webhooks/1/1")
	})
	note(func(ctx context.Context, tx *store.Tx, r model.Repository) error {
		return tx.NotePoll(ctx, r.ID, tx.Now())
	})
	note(func(ctx context.Context, tx *store.Tx, r model.Repository) error {
		return tx.NoteMissed(ctx, r, strings.Repeat("1", 40), "the push of 1111 to <trunk>")
	})
	const broken, recreate = `data-webhook="broken"`, `<button form="recreate" name="repository" value="`
	lacks(t, s.page(at), broken, recreate)
	s.clock.Advance(6 * time.Minute)
	containsAll(t, s.page(at), broken, recreate, `<form id="recreate" method="post" action="/orgs/`+s.org.Slug+at+`/hooks">`)
	for _, page := range []string{s.page(at), s.page(ui.ConnectionsPath)} {
		containsAll(t, textAt(t, page, "[data-say=webhook-silent]"), "acme/new", "the push of 1111 to <trunk>")
		containsAll(t, page, "the push of 1111 to &lt;trunk&gt;")
	}

	s.codeHosts.unreachable = true
	unreachable := s.page(at)
	containsAll(t, unreachable, broken)
	lacks(t, unreachable, recreate)
	s.codeHosts.unreachable = false

	s.codeHosts.hook = func(ctx context.Context, id, repositoryID int64) error {
		return s.store.Update(ctx, s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			r, err := tx.RepositoryByID(ctx, repositoryID)
			if err != nil || r.ConnectionID != id || r.FullName != "acme/new" {
				t.Errorf("created at connection %d: %+v, %v", id, r, err)
			}
			return tx.SetRepositoryHook(ctx, r.ID, "42", "https://redoubt.example/api/webhooks/1/1")
		})
	}
	_, id, _ := strings.Cut(s.page(at), recreate)
	id, _, _ = strings.Cut(id, `"`)
	for _, bad := range []string{"", "0", "x"} {
		if a := s.post(at+"/hooks", url.Values{"repository": {bad}}); a.StatusCode != http.StatusNotFound {
			t.Errorf("of repository %q: %s", bad, a.Status)
		}
	}
	lacks(t, s.follow(at+"/hooks", url.Values{"repository": {id}}), broken, recreate)

	hides(t, s.page(at), "[data-say=told-elsewhere]")
	note(func(ctx context.Context, tx *store.Tx, r model.Repository) error {
		return tx.SetRepositoryHook(ctx, r.ID, "41", "https://other.example/api/webhooks/1/1")
	})
	shows(t, s.page(at), makeHooks)
	containsAll(t, textAt(t, s.page(at), "[data-say=told-elsewhere]"), "https://other.example/api/webhooks/1/1", "https://redoubt.example")
}
