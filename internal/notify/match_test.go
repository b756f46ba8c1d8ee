package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestRuleMatching is a table of events and rules.
func TestRuleMatching(t *testing.T) {
	high := added{n: 2, severity: model.SeverityHigh}
	only := func(e model.NotificationEvent) model.NotificationEvents {
		return model.NotificationEvents(0).With(e)
	}
	wish := func(w *world, l []model.Lineage) (r model.Exception) {
		w.update(func(ctx context.Context, tx *store.Tx) error {
			u, err := tx.CreateUser(ctx, model.User{Name: "alice"}, model.RoleViewer)
			if err != nil {
				return err
			}
			findings := make([]model.Finding, len(l))
			for i, one := range l {
				findings[i] = model.Finding{ProjectID: one.ProjectID, LineageID: one.ID}
			}
			r, err = exceptions.Request(ctx, tx, model.Exception{Reason: "only tests", TriageReason: model.AcceptableRisk, CreatorID: u.ID}, findings)
			return err
		})
		return r
	}
	assign := func(w *world, l []model.Lineage, name string, until time.Time) {
		w.update(func(ctx context.Context, tx *store.Tx) error {
			var events []model.TriageEvent
			for _, one := range l {
				after := model.Triage{State: model.TriageUntriaged, Assignee: name, At: tx.Now()}
				if !until.IsZero() {
					after.State, after.Reason, after.Until = model.TriageIgnored, model.NoTime, until
				}
				events = append(events, model.TriageEvent{LineageID: one.ID, At: tx.Now(), By: tx.Actor(), Before: one.Triage, After: after})
			}
			return tx.UpdateTriage(ctx, events)
		})
	}
	for _, c := range []struct {
		name string
		rule model.NotificationRule
		do   func(w *world)
		want []string // titles
	}{
		{"any severity", model.NotificationRule{}, func(w *world) { w.found(added{n: 1, severity: model.SeverityLow}) }, []string{"1 new finding (1 low) in acme/api"}},
		{"of another type", model.NotificationRule{Products: model.Products(0).With(model.Secrets)}, func(w *world) { w.found(high) }, nil},
		{"by filter", model.NotificationRule{Filter: "severities=low&severities=high", MinSeverity: model.SeverityMedium}, func(w *world) {
			w.found(high)
			w.found(added{n: 1, severity: model.SeverityLow})
			w.found(added{n: 1, severity: model.SeverityMedium})
		}, []string{"2 new findings (2 high) in acme/api"}},
		{"excluded", model.NotificationRule{Filter: "-repos=acme/api"}, func(w *world) { w.found(high) }, nil},
		{"not known before", model.NotificationRule{}, func(w *world) {
			known := w.found(high)
			w.found(added{n: 2, severity: model.SeverityHigh, ref: "refs/heads/topic", of: known})
		}, []string{"2 new findings (2 high) in acme/api"}},
		{"new on the primary branch", model.NotificationRule{Filter: "branch=primary"}, func(w *world) {
			known := w.found(added{n: 2, severity: model.SeverityHigh, ref: "refs/heads/topic"})
			w.found(added{n: 2, severity: model.SeverityHigh, of: known})
		}, []string{"2 new findings (2 high) in acme/api"}},
		{"advisories", model.NotificationRule{Events: only(model.EventAdvisory)}, func(w *world) {
			w.found(added{n: 1, severity: model.SeverityHigh, kind: model.SCA, scan: 7})
			w.found(added{n: 1, severity: model.SeverityHigh, kind: model.SCA, scan: 7, unscanned: true})
		}, []string{"New advisories affect dependencies in use: 1 finding (1 high) in acme/api"}},
		{"assigned", model.NotificationRule{Events: only(model.EventAssigned)}, func(w *world) { assign(w, w.found(high), "alice", time.Time{}) }, []string{"2 findings assigned to alice in acme/api"}},
		{"asked for", model.NotificationRule{Events: only(model.EventExceptionRequested)}, func(w *world) { wish(w, w.found(high)) }, []string{"alice requested an exception for 2 findings in acme/api"}},
		{"asked for elsewhere", model.NotificationRule{Events: only(model.EventExceptionRequested), Filter: "repos=acme/other"}, func(w *world) { wish(w, w.found(high)) }, nil},
		{"approved", model.NotificationRule{Events: only(model.EventExceptionDecided)}, func(w *world) {
			r := wish(w, w.found(high))
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, _, err := exceptions.Approve(ctx, tx, r.ID, time.Time{}, "")
				return err
			})
		}, []string{"The exception requested by alice was approved, for 2 findings in acme/api"}},
		{"refused", model.NotificationRule{Events: only(model.EventExceptionDecided)}, func(w *world) {
			r := wish(w, w.found(high))
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := exceptions.Refuse(ctx, tx, r.ID, "no")
				return err
			})
		}, []string{"The exception requested by alice was refused, for 2 findings in acme/api"}},
		{"withdrawn", model.NotificationRule{Events: only(model.EventExceptionDecided)}, func(w *world) {
			r := wish(w, w.found(high))
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := exceptions.Withdraw(ctx, tx, r.ID, r.CreatorID)
				return err
			})
		}, nil},
		{"ended", model.NotificationRule{Events: only(model.EventDecisionEnded)}, func(w *world) {
			assign(w, w.found(high), "", w.clock.Now().Add(time.Hour))
			w.clock.Advance(2 * time.Hour)
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ExpireDecisions(ctx)
				return err
			})
		}, []string{"2 decisions ended; the findings are open again in acme/api"}},
		{"failed", model.NotificationRule{Events: only(model.EventScanFailed), Filter: "project_tags=other"}, func(w *world) { w.scan(model.ScanError, nil) }, nil},
		{"failed in a project", model.NotificationRule{Events: only(model.EventScanFailed), Filter: "repos=ACME/api"}, func(w *world) { w.scan(model.ScanError, nil) }, []string{"A scan failed in acme/api"}},
		{"failed before it was known", model.NotificationRule{Events: only(model.EventScanFailed)}, func(w *world) {
			w.update(func(ctx context.Context, tx *store.Tx) error { // as from a report that states a failure
				_, err := tx.AddScan(ctx, model.Scan{ProjectID: w.project.ID, Ref: "refs/heads/main", Source: "semgrep", Status: model.ScanError, StartedAt: tx.Now()})
				return err
			})
		}, []string{"A scan failed in acme/api"}},
		{"a run came to no scan", model.NotificationRule{Events: only(model.EventScanFailed)}, func(w *world) {
			w.run(model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: "the repository is gone"})
			w.run(model.RunOutcome{State: model.RunTimedOut, Reason: "it took longer"})
		}, []string{"A scan failed in acme/api", "A scan failed in acme/api"}},
		{"a run of another project", model.NotificationRule{Events: only(model.EventScanFailed), Filter: "repos=acme/other"}, func(w *world) {
			w.run(model.RunOutcome{State: model.RunTimedOut, Reason: "it took longer"})
		}, nil},
		{"a run failed that brought a scan of another source", model.NotificationRule{Events: only(model.EventScanFailed)}, func(w *world) {
			w.runScan(model.ScanCompleted, model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: "the scanner died"}, true)
		}, []string{"A scan failed in acme/api"}},
		{"a run failed as its scan did", model.NotificationRule{Events: only(model.EventScanFailed)}, func(w *world) {
			w.runScan(model.ScanError, model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: "exit code 2"}, true)
		}, []string{"A scan failed in acme/api"}},
		{"a run failed as its scan did, which it does not name", model.NotificationRule{Events: only(model.EventScanFailed)}, func(w *world) {
			w.runScan(model.ScanError, model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: "it wrote no result"}, false)
		}, []string{"A scan failed in acme/api"}},
		{"a run that is tried again, was stopped or came to a scan", model.NotificationRule{Events: only(model.EventScanFailed)}, func(w *world) {
			w.run(model.RunOutcome{State: model.RunCancelled, Reason: model.RunStopped})
			w.run(model.RunOutcome{State: model.RunSuperseded})
			w.run(model.RunOutcome{State: model.RunDone, ScanID: 41})
			w.run(model.RunOutcome{State: model.RunFailed, Failure: model.RunTransient})
		}, nil},
		{"blocked", model.NotificationRule{Events: only(model.EventBuildBlocked)}, func(w *world) {
			w.found(high)
			w.scan(model.ScanCompleted, &model.ScanGate{Reason: "2 findings block", Blocking: []model.Blocked{{FindingID: 1}, {FindingID: 2}}})
		}, []string{"A build was blocked by 2 findings in acme/api"}},
		{"blocked by what is nowhere kept", model.NotificationRule{Events: only(model.EventBuildBlocked)}, func(w *world) {
			w.scan(model.ScanCompleted, &model.ScanGate{Reason: "it blocks", Blocking: []model.Blocked{{FindingID: 0}}})
		}, []string{"A build was blocked in acme/api"}},
		{"blocked by what the filter leaves out", model.NotificationRule{Events: only(model.EventBuildBlocked), MinSeverity: model.SeverityCritical}, func(w *world) {
			w.found(high)
			w.scan(model.ScanCompleted, &model.ScanGate{Reason: "it blocks", Blocking: []model.Blocked{{FindingID: 1}}})
		}, nil},
		{"not blocked", model.NotificationRule{Events: only(model.EventBuildBlocked)}, func(w *world) { w.scan(model.ScanCompleted, nil) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "sqlite")
			w.addRule(func(r *model.NotificationRule) {
				if c.rule.Events != 0 {
					r.Events = c.rule.Events
				}
				r.Filter, r.MinSeverity, r.Products = c.rule.Filter, c.rule.MinSeverity, c.rule.Products
			})
			c.do(w)
			w.runDueJobs()
			var got []string
			for _, e := range w.receiver.events(t) {
				got = append(got, e.Data.Title)
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("told %q, want %q", got, c.want)
			}
		})
	}
}

// scan completes a scan of the project with a gate result.
func (w *world) scan(status model.ScanStatus, gate *model.ScanGate) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		s := model.Scan{ProjectID: w.project.ID, Ref: "refs/heads/main", Source: "semgrep", Status: model.ScanRunning, StartedAt: tx.Now()}
		id, err := tx.AddScan(ctx, s)
		if err != nil {
			return err
		}
		s.ID, s.Status, s.CompletedAt, s.Error = id, status, tx.Now(), "the scanner ended with exit code 2"
		if err := tx.FinishScan(ctx, s); err != nil || status == model.ScanError {
			return err
		}
		return tx.PutScanGate(ctx, id, gate)
	})
}

// run completes a managed run of the project with an outcome.
func (w *world) run(o model.RunOutcome) {
	w.Helper()
	w.runOf(func(context.Context, *store.Tx, model.Run) (model.RunOutcome, error) { return o, nil })
}

// runScan is run with a scan, which the outcome refers to if named is set.
func (w *world) runScan(status model.ScanStatus, o model.RunOutcome, named bool) {
	w.Helper()
	w.runOf(func(ctx context.Context, tx *store.Tx, r model.Run) (model.RunOutcome, error) {
		id, err := tx.AddScan(ctx, model.Scan{ProjectID: w.project.ID, RunID: r.ID, Ref: "refs/heads/main", Source: "lockfiles", Status: status, StartedAt: tx.Now(), CompletedAt: tx.Now()})
		if named {
			o.ScanID = id
		}
		return o, err
	})
}

// runOf executes do in a managed run of the project and completes the run with the returned
// outcome.
func (w *world) runOf(do func(context.Context, *store.Tx, model.Run) (model.RunOutcome, error)) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.QueueRun(ctx, model.Run{ProjectID: w.project.ID, Kind: model.RunFull, Cause: model.RunByHand}); err != nil {
			return err
		}
		r, ok, err := tx.LeaseRun(ctx, 1, nil)
		if err == nil && !ok {
			w.Error("there is no run to lease")
		}
		if err != nil {
			return err
		}
		o, err := do(ctx, tx, r)
		if err == nil {
			_, err = tx.FinishRun(ctx, r.ID, r.Claim, o)
		}
		return err
	})
	w.clock.Advance(time.Millisecond)
}

// TestFailedRunMessagesContainReason checks that messages about failed runs contain the reason and a link to
// the log.
func TestFailedRunMessagesContainReason(t *testing.T) {
	each(t, func(w *world) {
		w.addRule(func(r *model.NotificationRule) {
			r.Events = model.NotificationEvents(0).With(model.EventScanFailed)
		})
		w.run(model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: "the repository is gone"})
		w.runDueJobs()
		events := w.receiver.events(w.T)
		if len(events) != 1 || events[0].Data.Reason != "the repository is gone" || events[0].Data.RunID == 0 ||
			events[0].Data.URL != fmt.Sprintf("https://redoubt.example/orgs/acme/runs/%d", events[0].Data.RunID) {
			t.Errorf("told is %+v", events)
		}
	})
}

// TestOneImportIsOneMessage checks that an import causes one message for each rule, regardless of
// the number of findings.
func TestOneImportIsOneMessage(t *testing.T) {
	w := newWorld(t, "sqlite")
	for i := range 50 {
		w.addRule(func(r *model.NotificationRule) { r.Name = fmt.Sprint("rule ", i) })
	}
	w.found(added{n: 10_000, severity: model.SeverityHigh})
	w.runDueJobs()
	events := w.receiver.events(t)
	if len(events) != 50 {
		t.Fatalf("%d messages, want one a rule", len(events))
	}
	for _, e := range events {
		if e.Data.Count != 10_000 || len(e.Data.Findings) != model.MaxNotified {
			t.Errorf("it counts %d and names %d", e.Data.Count, len(e.Data.Findings))
		}
	}
}

// TestUntrustedTextCreatesNoChatMarkup checks that untrusted texts create no mentions or links.
func TestUntrustedTextCreatesNoChatMarkup(t *testing.T) {
	hostile := "@everyone <!channel> `[x](https://evil.example)` <https://evil.example|x> **b**"
	for channel, forbidden := range map[model.NotificationChannel][]string{
		model.ChannelSlack:      {"<!channel>", "<https://evil"},
		model.ChannelMattermost: {"`[x](https://evil.example)`"},
		model.ChannelDiscord:    {"`[x](https://evil.example)`"},
		model.ChannelTeams:      {`"TextBlock"`},
	} {
		t.Run(channel.String(), func(t *testing.T) {
			w := newWorld(t, "sqlite")
			w.receiver.respondWith(http.StatusOK)
			w.addRule(func(r *model.NotificationRule) { r.Channel = channel })
			w.found(added{n: 12, severity: model.SeverityHigh, rule: hostile})
			w.runDueJobs()
			got := w.receiver.drain()
			if len(got) != 1 {
				t.Fatalf("%d messages", len(got))
			}
			var payload map[string]any
			if err := json.Unmarshal(got[0].body, &payload); err != nil {
				t.Fatal(err)
			}
			text := texts(payload)
			for _, bad := range forbidden {
				if strings.Contains(text, bad) {
					t.Errorf("%q is in %s", bad, text)
				}
			}
			if !strings.Contains(text, "https://redoubt.example/orgs/acme/findings/") || !strings.Contains(text, "12 new findings") || !strings.Contains(text, "And 2 more") {
				t.Errorf("it says %s", text)
			}
			if channel == model.ChannelDiscord {
				if mentions, _ := payload["allowed_mentions"].(map[string]any); mentions["parse"] == nil || len(text) > 4000 {
					t.Errorf("anybody may be called: %v", payload)
				}
			}
		})
	}
}

// texts returns all strings of a JSON value, one per line.
func texts(v any) string {
	switch v := v.(type) {
	case string:
		return v + "\n"
	case []any:
		var b strings.Builder
		for _, one := range v {
			b.WriteString(texts(one))
		}
		return b.String()
	case map[string]any:
		var b strings.Builder
		for name, one := range v {
			if name == "type" {
				fmt.Fprintf(&b, "%q ", one)
				continue
			}
			b.WriteString(texts(one))
		}
		return b.String()
	}
	return ""
}
