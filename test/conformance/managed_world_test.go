package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// hostRing encrypts the credentials of all test servers.
var hostRing = keyring.New(storetest.Epoch)

// rightToken is the credential that the test host accepts.
const rightToken = "t0ken-of-the-host"

// codeHost is a code host in memory, opened with a credential.
type codeHost struct {
	scm.Host
	refuses error
}

// codeHosts returns the service for the connections of a site.
func codeHosts(t testing.TB, s *site, log *slog.Logger) *hosts.Service {
	t.Helper()
	sealer, err := hostRing.Sealer("connections")
	if err != nil {
		t.Fatal(err)
	}
	s.keeper = hosts.New(hosts.Config{
		Store: s.store, Vault: scm.NewVault(sealer), Hosts: codeHost{}, Clock: s.clock.Now, Logger: log, PublicURL: func() string { return "https://redoubt.example" }, HookURL: "https://redoubt.example", Instance: hostRing.Instance(),
	})
	return s.keeper
}

func (codeHost) Open(_ model.Connection, credential model.HostCredential) (scm.Host, error) {
	if credential.Secret != rightToken {
		return codeHost{refuses: errors.New("the host does not take the credential (401)")}, nil
	}
	return codeHost{}, nil
}

// Forget implements hosts.Opener.
func (codeHost) Forget(time.Time) {}

func (h codeHost) Who(context.Context) (scm.Account, error) {
	return scm.Account{ID: "1", Login: "redoubt-bot"}, h.refuses
}

// Hooks implements scm.Host. It returns none, as if they were always removed.
func (h codeHost) Hooks(context.Context, model.Repository) ([]scm.Hook, error) {
	return nil, h.refuses
}

// AddHook implements scm.Host. It fails for web-shop, of which the account is no administrator.
func (h codeHost) AddHook(_ context.Context, r model.Repository, address, secret string) (string, error) {
	if r.FullName == "acme/web-shop" || secret == "" || !strings.HasPrefix(address, "https://redoubt.example/api/webhooks/") {
		return "", &scm.HostError{Status: http.StatusForbidden}
	}
	return "41", h.refuses
}

// RemoveHook implements scm.Host.
func (h codeHost) RemoveHook(context.Context, model.Repository, string) error { return h.refuses }

func (h codeHost) User(_ context.Context, login string) (scm.Account, error) {
	return scm.Account{ID: "5", Login: login}, h.refuses
}

func (h codeHost) Repositories(_ context.Context, handle func([]model.Repository) error) error {
	var repositories []model.Repository
	for i, name := range []string{"acme/payments", "acme/web-shop", "group/tools", "other/archived"} {
		repositories = append(repositories, model.Repository{
			HostID: fmt.Sprint(i + 1), FullName: name, DefaultBranch: "main", Archived: name == "other/archived", CloneURL: "https://git.example/" + name + ".git", WebURL: "https://git.example/" + name,
		})
	}
	return errors.Join(h.refuses, handle(repositories))
}

// gitea returns the body for a connection to that host.
func gitea(name string, follow ...string) object {
	return object{"kind": "gitea", "name": name, "base_url": "https://git.example/", "credential": object{"kind": "token", "secret": rightToken}, "follow": append([]string{}, follow...)}
}

// connect returns the connection with a name, and creates it once.
func (s *site) connect(t testing.TB, name string) api.Connection {
	t.Helper()
	for _, c := range get[api.ListConnectionsResponse](t, s, "connections").Connections {
		if c.Name == name {
			return c
		}
	}
	return post[api.ConnectionResponse](t, s, "connections", gitea(name, "acme/*")).Connection
}

// projectOnly creates a project without any other data.
func (s *site) projectOnly(t testing.TB, name string) string {
	t.Helper()
	if _, err := s.api().GetProject(t.Context(), s.deployment.Slug, name); err != nil {
		post[api.ProjectResponse](t, s, "projects", object{"name": name})
	}
	return name
}

// queueOf queues a run of a project.
func (s *site) queueOf(t testing.TB, project string, kind model.RunKind, ref string) (r model.Run) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, project)
		if err == nil {
			r, err = tx.QueueRun(ctx, model.Run{ProjectID: p.ID, Ref: ref, Kind: kind, Cause: model.RunBySchedule})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s *site) queue(t testing.TB, kind model.RunKind, ref string) model.Run {
	t.Helper()
	return s.queueOf(t, "acme/payments", kind, ref)
}

// ended returns a canceled run.
func (s *site) ended(t testing.TB) model.Run {
	t.Helper()
	r := s.queue(t, model.RunFull, "refs/heads/ended")
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		return tx.CancelRun(ctx, r.ID, model.RunStopped)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// runnerTokens counts the tokens of runners, one per runner.
var runnerTokens atomic.Int64

// runner returns the runner with a name, and creates it once with its own token.
func (s *site) runner(t testing.TB, name string) (r model.Runner) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		known, err := tx.Runners(ctx)
		if at := slices.IndexFunc(known, func(k model.Runner) bool { return k.Name == name }); at >= 0 {
			r = known[at]
		}
		if err != nil || r.ID != 0 {
			return err
		}
		secret := fmt.Sprint("runner-", name, "-", runnerTokens.Add(1))
		token, err := tx.CreateToken(ctx, model.Token{Name: "runner " + name, PublicID: secret, Scopes: []model.Scope{model.ScopeRunner}}, storetest.TokenHash(secret))
		if err == nil {
			r, err = tx.RecordRunnerContact(ctx, model.Runner{Name: name, TokenID: token.ID, Labels: []string{"linux"}, Version: "0.9", Isolation: "bubblewrap"})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// managedWrites adds the writes of connections and runs, by operation.
func managedWrites(t testing.TB, w *world, writes map[string]keyedWrite) {
	t.Helper()
	at := fmt.Sprint("connections/", w.connect(t, "keyed").ID)
	run := "runs/" + fmt.Sprint(w.queue(t, model.RunFull, "refs/heads/keyed").ID)
	names := func(name string) object { return object{"names": []string{name}} }
	// Webhooks of web-shop are refused: a transient failure that is not stored.
	post[api.UnfollowRepositoriesResponse](t, w.site, at+"/repositories/unfollow", names("acme/web-shop"))
	maps.Copy(writes, map[string]keyedWrite{
		"createConnection":     {request{method: "POST", path: "connections", body: gitea("once")}, gitea("twice")},
		"updateConnection":     {request{method: "PATCH", path: at, body: object{"name": "another"}}, object{"name": "further"}},
		"testConnection":       {request: request{method: "POST", path: at + "/test"}},
		"makeWebhooks":         {request: request{method: "POST", path: at + "/webhooks"}},
		"followRepositories":   {request{method: "POST", path: at + "/repositories/follow", body: names("group/tools")}, names("acme/payments")},
		"unfollowRepositories": {request{method: "POST", path: at + "/repositories/unfollow", body: names("group/tools")}, names("acme/web-shop")},
		"startRun":             {request{method: "POST", path: "runs", body: object{"project": "acme/payments"}}, object{"project": "acme/payments", "ref": "topic"}},
		"cancelRun":            {request: request{method: "POST", path: run + "/cancel"}},
		"retryRun":             {request: request{method: "POST", path: run + "/retry"}},
		"revokeRunner":         {request: request{method: "DELETE", path: fmt.Sprint("runners/", w.runner(t, "keyed").ID)}},
		"deleteConnection":     {request: request{method: "DELETE", path: at}},
	})
}
