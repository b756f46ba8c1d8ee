package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// received is a request to a receiver.
type received struct {
	path   string
	header http.Header
	body   []byte
}

// receiver is an HTTP server that receives notifications.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	answer func(w http.ResponseWriter, r *http.Request)
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.got = append(r.got, received{q.URL.Path, q.Header, body})
		answer := r.answer
		r.mu.Unlock()
		answer(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(answer func(w http.ResponseWriter, r *http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func (r *receiver) respondWith(status int) {
	r.answers(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
}

// drain returns the received requests and clears them.
func (r *receiver) drain() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.got
	r.got = nil
	return out
}

// event is the body of a webhook.
type event struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Sequence string `json:"sequence"`
	Source   string `json:"source"`
	Data     struct {
		Title      string         `json:"title"`
		Reason     string         `json:"reason"`
		Count      int            `json:"count"`
		Severities map[string]int `json:"severities"`
		URL        string         `json:"url"`
		RunID      int64          `json:"run_id"`
		Findings   []struct {
			ID   int64  `json:"id"`
			Rule string `json:"rule"`
			URL  string `json:"url"`
		} `json:"findings"`
		Projects []struct {
			Name string `json:"name"`
		} `json:"projects"`
	} `json:"data"`
}

func (r *receiver) events(t *testing.T) (list []event) {
	t.Helper()
	for _, got := range r.drain() {
		var e event
		if err := json.Unmarshal(got.body, &e); err != nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		list = append(list, e)
	}
	return list
}

// world is a deployment with a notifier.
type world struct {
	*testing.T
	s        *store.Store
	clock    *storetest.Clock
	d        model.Deployment
	n        *notify.Notifier
	receiver *receiver
	rule     int64 // of findings
	project  model.Project
	reach    scm.Reach
	mail     notify.Mail
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

func each(t *testing.T, test func(w *world)) {
	t.Helper()
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) { test(newWorld(t, engine)) })
	}
}

func newWorld(t *testing.T, engine string) *world {
	t.Helper()
	clock := storetest.NewClock()
	s := storetest.Open(t, storetest.Database(t, engine, clock))
	w := &world{T: t, s: s, clock: clock, d: storetest.Deployment(t, s), receiver: newReceiver(t), reach: scm.Reach{NoPrivate: true, Also: loopback, Flag: "--notify-to"}}
	w.start()
	w.furnish()
	return w
}

// furnish creates the project and the rule of the findings.
func (w *world) furnish() {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		if w.project, err = tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/api", Tags: []string{"team"}}); err != nil {
			return err
		}
		ids, err := tx.PutRules(ctx, []*model.Rule{{Name: "sqli", IssueType: model.SAST, Message: "concatenated"}})
		if err == nil {
			w.rule = ids[0]
		}
		return err
	})
}

// ring encrypts the targets of rules; it is shared by all restarts of a world.
var ring = keyring.New(storetest.Epoch)

// start creates a new notifier, like a process that restarts.
func (w *world) start() {
	w.Helper()
	sealer, err := ring.Sealer("notifications")
	if err != nil {
		w.Fatal(err)
	}
	w.n = notify.New(notify.Config{
		Store: w.s, Index: index.New(w.s, index.Options{Clock: w.clock.Now}), Filter: web.FindingFilter, Sealer: sealer, Reach: w.reach, Mail: w.mail, Clock: w.clock.Now,
		PublicURL: func() string { return "https://redoubt.example" }, Name: "redoubt/test",
	})
}

func (w *world) update(fn func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	if err := w.s.Update(w.Context(), w.d.ID, storetest.Actor, fn); err != nil {
		w.Fatal(err)
	}
}

func (w *world) view(fn func(ctx context.Context, tx *store.Tx) error) {
	w.Helper()
	if err := w.s.View(w.Context(), w.d.ID, fn); err != nil {
		w.Fatal(err)
	}
}

// newRule returns a rule about new findings, modified by change.
func (w *world) newRule(change func(r *model.NotificationRule)) model.NotificationRule {
	r := model.NotificationRule{Name: "on call", Events: model.NotificationEvents(0).With(model.EventNewFinding), Channel: model.ChannelWebhook, Digest: model.DigestNone}
	if change != nil {
		change(&r)
	}
	return r
}

// addRule creates a rule about new findings, modified by change, and returns it with its secret.
func (w *world) addRule(change func(r *model.NotificationRule)) (made model.NotificationRule, secret string) {
	w.Helper()
	return w.addRuleAt(w.receiver.URL+"/hook", change)
}

// addRuleAt is ask with an address, which mail rules ignore.
func (w *world) addRuleAt(address string, change func(r *model.NotificationRule)) (made model.NotificationRule, secret string) {
	w.Helper()
	r := w.newRule(change)
	if r.Channel == model.ChannelEmail {
		address = ""
	}
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		made, secret, err = w.n.Add(ctx, tx, r, address)
		return err
	})
	return made, secret
}

// another creates another deployment on the same server.
func (w *world) another() *world {
	w.Helper()
	out := *w
	var err error
	if out.d, err = w.s.CreateDeployment(w.Context(), "other", "Other", storetest.Actor); err != nil {
		w.Fatal(err)
	}
	out.furnish()
	return &out
}

// added describes findings to create.
type added struct {
	n        int
	severity model.Severity
	ref      string
	of       []model.Lineage // existing lineages; none: new ones
	rule     string
	scan     int64
	kind     model.IssueType
	// unscanned: the findings result from new advisories
	unscanned bool
}

// add creates findings like an upload does, within a transaction.
func (w *world) add(ctx context.Context, tx *store.Tx, a added) ([]model.Lineage, error) {
	if a.ref == "" {
		a.ref = "refs/heads/main"
	}
	if a.rule == "" {
		a.rule = "sqli"
	}
	if a.kind == 0 {
		a.kind = model.SAST
	}
	ids, err := tx.NewFindingIDs(ctx, a.n)
	if err != nil {
		return nil, err
	}
	lineages := a.of
	if lineages == nil {
		news, err := tx.NewLineageIDs(ctx, a.n)
		if err != nil {
			return nil, err
		}
		for _, id := range news {
			lineages = append(lineages, model.Lineage{ID: id, ProjectID: w.project.ID, Triage: model.Triage{State: model.TriageUntriaged}})
		}
		if err := tx.AddLineages(ctx, lineages); err != nil {
			return nil, err
		}
	}
	list := make([]model.FindingWrite, a.n)
	for i, id := range ids {
		var hash model.Digest
		copy(hash[:], fmt.Sprint(id, a.ref))
		list[i] = model.FindingWrite{Body: []byte(`"rule_message":"x"`), Unscanned: a.unscanned, Finding: model.Finding{
			ID: id, IssueType: a.kind, ProjectID: w.project.ID, Ref: a.ref, Source: "semgrep", Identity: model.Identity{Kind: model.IdentityMatchBased, Hash: hash},
			LineageID: lineages[i].ID, RuleID: w.rule, RuleName: a.rule, Path: "src/a.go", Line: i + 1, State: model.Unresolved, Severity: a.severity,
			Confidence: model.ConfidenceHigh, CreatedAt: tx.Now(), RelevantSince: tx.Now(), StateUpdatedAt: tx.Now(), FirstScanID: a.scan,
		}}
	}
	return lineages, tx.AddFindings(ctx, list)
}

func (w *world) found(a added) (lineages []model.Lineage) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) (err error) {
		lineages, err = w.add(ctx, tx, a)
		return err
	})
	return lineages
}

// runDueJobs runs all due jobs until none is left, and returns their number.
func (w *world) runDueJobs() (jobs int) {
	w.Helper()
	for w.step(store.NotifyJob, store.DeliverJob) {
		if jobs++; jobs == 10_000 {
			w.Fatal("the work does not end")
		}
	}
	return jobs
}

// step runs one job of the given kinds, and reports whether one was due.
func (w *world) step(kinds ...string) bool {
	w.Helper()
	j, err := storetest.Claim(w.Context(), w.s, time.Minute, kinds...)
	if err != nil {
		w.Fatal(err)
	}
	if j == nil {
		return false
	}
	work := map[string]queue.Work{store.NotifyJob: queue.Do(w.n.Match), store.DeliverJob: queue.Do(w.n.Deliver)}
	if _, _, err := work[j.Kind](w.Context(), *j); err != nil {
		w.Fatalf("%s: %v", j.Kind, err)
	}
	if err := w.s.FinishJob(w.Context(), *j, nil, ""); err != nil {
		w.Fatal(err)
	}
	return true
}

// log lists the messages of a rule, oldest first.
func (w *world) log(id int64) (list []model.Notification) {
	w.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) (err error) {
		list, _, err = tx.Notifications(ctx, store.NotificationQuery{RuleID: id, Limit: 1000})
		return err
	})
	return list
}
