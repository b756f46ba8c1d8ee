package hosts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const (
	first  = "1111111111111111111111111111111111111111"
	second = "2222222222222222222222222222222222222222"
	third  = "3333333333333333333333333333333333333333"
)

// fakeHost is a host in memory.
type fakeHost struct {
	scm.Host
	mu           sync.Mutex
	slow         chan struct{} // if set, SetStatus blocks until it is closed
	blocked      chan struct{} // receives the blocked requests
	down         error         // error of all requests
	cut          error         // error in place of the response to a comment
	listed       int           // number of listings of comments
	repositories []model.Repository
	open         []model.ChangeRequest
	heads        map[string]string // newest commits by branch name
	polled       []string          // requests for heads or change requests
	statuses     []string
	comments     []scm.Comment
	outside      map[int]bool // lines outside of the change
	resolves     bool
	edits        int
	hooks        []string   // addresses of webhooks, created and removed
	hooked       []scm.Hook // webhooks of acme/payments
	makesWithout string     // events that created webhooks lack
	lost         error      // error in place of the response to a creation
	issues       tickets
	may          map[string]scm.Permission
	ids          map[string]string // current ids by login; default: idOf
	forbidden    error             // error of requests for permissions
	refuses      error             // error of answers
	meanwhile    func()            // called during requests for permissions
	broken       map[int64]error   // errors of comments by change request
	permissions  int               // number of requests for permissions
	replies      []string          // comment and text of each
	forgotten    time.Time         // argument of Forget
}

func (h *fakeHost) Open(model.Connection, model.HostCredential) (scm.Host, error) { return h, nil }

func (h *fakeHost) Forget(before time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgotten = before
}

func (h *fakeHost) Who(context.Context) (scm.Account, error) {
	return scm.Account{ID: "1", Login: "Bot"}, h.down
}

func (h *fakeHost) Repositories(_ context.Context, handle func([]model.Repository) error) error {
	return errors.Join(h.down, handle(h.repositories))
}

func (h *fakeHost) Branch(_ context.Context, r model.Repository, name string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polled = append(h.polled, r.FullName+" "+name)
	if h.heads[name] == "" {
		return "", model.ErrNotFound
	}
	return h.heads[name], h.down
}

func (h *fakeHost) ChangeRequests(_ context.Context, r model.Repository) ([]model.ChangeRequest, error) {
	h.mu.Lock()
	h.polled = append(h.polled, r.FullName)
	h.mu.Unlock()
	return h.open, h.down
}

func (h *fakeHost) ChangeRequest(_ context.Context, _ model.Repository, number int64) (model.ChangeRequest, error) {
	i := slices.IndexFunc(h.open, func(c model.ChangeRequest) bool { return c.Number == number })
	if i < 0 {
		return model.ChangeRequest{}, model.ErrNotFound
	}
	return h.open[i], h.down
}

func (h *fakeHost) SetStatus(_ context.Context, r model.Repository, commit string, s scm.Status) error {
	if h.slow != nil {
		h.blocked <- struct{}{}
		<-h.slow
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down == nil {
		h.statuses = append(h.statuses, fmt.Sprintf("%s %.4s %d %s %s", r.FullName, commit, s.State, s.Text, s.URL))
	}
	return h.down
}

func (h *fakeHost) Comments(_ context.Context, _ model.Repository, number int64) ([]scm.Comment, error) {
	h.listed++
	if err := h.broken[number]; err != nil {
		return nil, err
	}
	list := slices.Clone(h.comments)
	for i := range list {
		if list[i].Author != "" && list[i].AuthorID == "" {
			list[i].AuthorID = idOf(list[i].Author)
		}
		if list[i].At.IsZero() {
			list[i].At = storetest.Epoch.Add(24 * time.Hour)
		}
	}
	return list, h.down
}

func (h *fakeHost) AddComment(_ context.Context, _ model.Repository, _ model.ChangeRequest, c scm.Comment) (scm.Comment, error) {
	if h.outside[c.Line] {
		return c, fmt.Errorf("no such line: %w", model.ErrConflict)
	}
	c.ID, c.Author = fmt.Sprint(len(h.comments)+1), "bot"
	if c.Path != "" {
		c.Thread = "t" + c.ID
	}
	h.comments = append(h.comments, c)
	return c, errors.Join(h.down, h.cut)
}

func (h *fakeHost) EditComment(_ context.Context, _ model.Repository, _ int64, c scm.Comment) error {
	h.edits++
	for i := range h.comments {
		if h.comments[i].ID == c.ID {
			h.comments[i].Body = c.Body
		}
	}
	return h.down
}

func (h *fakeHost) ResolveComment(_ context.Context, _ model.Repository, _ int64, c scm.Comment) error {
	if !h.resolves {
		return scm.ErrUnsupported
	}
	for i := range h.comments {
		h.comments[i].Resolved = h.comments[i].Resolved || h.comments[i].ID == c.ID
	}
	return nil
}

func (h *fakeHost) RemoveHook(_ context.Context, _ model.Repository, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks = append(h.hooks, id)
	h.hooked = slices.DeleteFunc(h.hooked, func(one scm.Hook) bool { return one.ID == id })
	return h.down
}

func (h *fakeHost) Hooks(_ context.Context, r model.Repository) ([]scm.Hook, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.FullName == "acme/web" {
		return nil, &scm.HostError{Status: http.StatusForbidden}
	}
	return slices.Clone(h.hooked), h.down
}

// AddHook records the address of a webhook. It refuses acme/web.
func (h *fakeHost) AddHook(_ context.Context, r model.Repository, address, secret string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.FullName == "acme/web" {
		return "", &scm.HostError{Status: http.StatusForbidden}
	}
	if secret == "" {
		return "", errors.New("no secret")
	}
	h.hooks = append(h.hooks, address)
	id := fmt.Sprint(41 + len(h.hooks) - 1)
	h.hooked = append(h.hooked, scm.Hook{ID: id, Address: address, Lacks: h.makesWithout})
	return id, errors.Join(h.down, h.lost)
}

// world is a deployment with a service of its connections.
type world struct {
	t        *testing.T
	s        *store.Store
	d        model.Deployment
	host     *fakeHost
	keeper   *hosts.Service
	proposed []string
	pushed   []string
	now      time.Time
	found    int
}

func newWorld(t *testing.T, s *store.Store) *world {
	t.Helper()
	sealer, err := keyring.New(storetest.Epoch).Sealer("connections")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: storetest.Epoch.Add(24 * time.Hour), t: t, s: s, d: storetest.Deployment(t, s), host: &fakeHost{repositories: []model.Repository{newRepository("1", "acme/payments"), newRepository("2", "acme/web"), newRepository("3", "other/x")}}}
	w.keeper = hosts.New(hosts.Config{
		Store: s, Vault: scm.NewVault(sealer), Hosts: w.host, Clock: func() time.Time { return w.now }, Logger: slog.New(slog.DiscardHandler),
		PublicURL: func() string { return "https://redoubt.example" }, Instance: "1b9ff0c2d4a55e77",
		Proposed: func(_ context.Context, _ *store.Tx, r model.Repository, c model.ChangeRequest) error {
			w.proposed = append(w.proposed, fmt.Sprintf("%s#%d %.4s", r.FullName, c.Number, c.HeadCommit))
			return nil
		},
	})
	return w
}

func newRepository(id, name string) model.Repository {
	return model.Repository{HostID: id, FullName: name, DefaultBranch: "trunk", CloneURL: "https://git.example/" + name + ".git"}
}

var credential = model.HostCredential{Kind: model.CredentialToken, Secret: "t0ken"}

// connect creates the connection that follows acme.
func (w *world) connect() model.Connection {
	w.t.Helper()
	c, err := w.keeper.Add(w.t.Context(), w.d.ID, storetest.Actor, model.Connection{Kind: model.HostGitea, Name: "ours", BaseURL: "https://git.example", Follow: []string{"acme/*"}}, credential)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) view(read func(ctx context.Context, tx *store.Tx) error) {
	w.t.Helper()
	if err := w.s.View(w.t.Context(), w.d.ID, read); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) update(write func(ctx context.Context, tx *store.Tx) error) {
	w.t.Helper()
	if err := w.s.Update(w.t.Context(), w.d.ID, storetest.Actor, write); err != nil {
		w.t.Fatal(err)
	}
}

// find creates an unresolved finding of acme/payments on a branch.
func (w *world) find(rule string, line int) (f model.Finding) {
	w.t.Helper()
	return w.findIn("acme/payments", rule, line)
}

// findIn is find in another project.
func (w *world) findIn(project, rule string, line int) (f model.Finding) {
	w.t.Helper()
	w.found++
	w.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, project)
		if err != nil {
			return err
		}
		ids, err := tx.NewFindingIDs(ctx, 1)
		if err != nil {
			return err
		}
		lineages, err := tx.NewLineageIDs(ctx, 1)
		if err != nil {
			return err
		}
		rules, err := tx.PutRules(ctx, []*model.Rule{{Name: rule, IssueType: model.SAST, Message: "m"}})
		if err != nil {
			return err
		}
		f = model.Finding{
			ID: ids[0], IssueType: model.SAST, ProjectID: p.ID, Ref: "refs/heads/fix", Source: "semgrep", Identity: model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{byte(w.found)}},
			LineageID: lineages[0], RuleID: rules[0], RuleName: rule, Path: "a.go", Line: line, State: model.Unresolved, Severity: model.SeverityHigh, CreatedAt: tx.Now(), RelevantSince: tx.Now(),
		}
		if err := tx.AddLineages(ctx, []model.Lineage{{ID: f.LineageID, ProjectID: p.ID, Triage: model.Triage{State: model.TriageUntriaged}}}); err != nil {
			return err
		}
		return tx.AddFindings(ctx, []model.FindingWrite{{Finding: f, Body: []byte(`"rule_message":"call \"it\" [off](x)"`)}})
	})
	return f
}

func (w *world) ignore(f model.Finding) {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		return tx.UpdateTriage(ctx, []model.TriageEvent{{
			LineageID: f.LineageID, At: tx.Now(), By: tx.Actor(), Before: model.Triage{State: model.TriageUntriaged},
			After: model.Triage{State: model.TriageIgnored, Reason: model.NoTime, At: tx.Now(), By: tx.Actor()},
		}})
	})
}

// scan completes a scan of the branch that blocks on findings, and returns the report job.
func (w *world) scan(commit string, blocking ...model.Finding) (j model.Job) {
	w.t.Helper()
	return w.scanOn("refs/heads/fix", commit, blocking...)
}

// scanOn is scan of another ref.
func (w *world) scanOn(ref, commit string, blocking ...model.Finding) (j model.Job) {
	w.t.Helper()
	w.scanBy("semgrep", ref, commit, blocking...)
	return w.claim()
}

// claim claims the next report job.
func (w *world) claim() model.Job {
	w.t.Helper()
	claimed, err := storetest.Claim(w.t.Context(), w.s, time.Minute, store.StatusJob)
	if err != nil || claimed == nil {
		w.t.Fatalf("nothing is sent: %v", err)
	}
	return *claimed
}

// scanBy completes a scan of a source.
func (w *world) scanBy(source, ref, commit string, blocking ...model.Finding) {
	w.t.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/payments")
		if err != nil {
			return err
		}
		id, err := tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: ref, Commit: commit, Source: source, StartedAt: tx.Now(), CompletedAt: tx.Now(), Status: model.ScanCompleted, Outcome: model.ScanApplied})
		if err != nil {
			return err
		}
		var gate *model.ScanGate
		if len(blocking) > 0 {
			gate = &model.ScanGate{Reason: "blocked"}
		}
		for _, f := range blocking {
			gate.Blocking = append(gate.Blocking, model.Blocked{FindingID: f.ID, Rule: f.RuleName, Path: f.Path, Line: f.Line})
		}
		return tx.PutScanGate(ctx, id, gate)
	})
}

// newestScan returns the newest scan of acme/payments.
func (w *world) newestScan() (id int64) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/payments")
		if err != nil {
			return err
		}
		facts, err := tx.CommitFacts(ctx, p.ID, first)
		later, err2 := tx.CommitFacts(ctx, p.ID, second)
		for _, s := range append(facts.Scans, later.Scans...) {
			id = max(id, s.ID)
		}
		return errors.Join(err, err2)
	})
	return id
}

// runStatusJob runs the job.
func (w *world) runStatusJob(j model.Job) error {
	w.t.Helper()
	_, _, err := queue.Do(w.keeper.ReportStatus)(w.t.Context(), j)
	if err == nil {
		err = w.s.FinishJob(w.t.Context(), j, nil, "")
	}
	return err
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func input(v any) []byte {
	text, _ := json.Marshal(v)
	return text
}
