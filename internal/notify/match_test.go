package notify_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/store"
)

// TestWhichRulesAreTold is the table of events against rules.
func TestWhichRulesAreTold(t *testing.T) {
	high := added{n: 2, severity: redoubt.SeverityHigh}
	only := func(e redoubt.NotificationEvent) redoubt.NotificationEvents {
		return redoubt.NotificationEvents(0).With(e)
	}
	wish := func(w *world, l []redoubt.Lineage) (r redoubt.Exception) {
		w.update(func(ctx context.Context, tx *store.Tx) error {
			u, err := tx.CreateUser(ctx, redoubt.User{Name: "alice"}, redoubt.RoleViewer)
			if err != nil {
				return err
			}
			findings := make([]redoubt.Finding, len(l))
			for i, one := range l {
				findings[i] = redoubt.Finding{ProjectID: one.ProjectID, LineageID: one.ID}
			}
			r, err = exceptions.Request(ctx, tx, redoubt.Exception{Reason: "only tests", TriageReason: redoubt.AcceptableRisk, CreatorID: u.ID}, findings)
			return err
		})
		return r
	}
	assign := func(w *world, l []redoubt.Lineage, name string, until time.Time) {
		w.update(func(ctx context.Context, tx *store.Tx) error {
			var events []redoubt.TriageEvent
			for _, one := range l {
				after := redoubt.Triage{State: redoubt.TriageUntriaged, Assignee: name, At: tx.Now()}
				if !until.IsZero() {
					after.State, after.Reason, after.Until = redoubt.TriageIgnored, redoubt.NoTime, until
				}
				events = append(events, redoubt.TriageEvent{LineageID: one.ID, At: tx.Now(), By: tx.Actor(), Before: one.Triage, After: after})
			}
			return tx.UpdateTriage(ctx, events)
		})
	}
	for _, c := range []struct {
		name string
		rule redoubt.NotificationRule
		do   func(w *world)
		want []string // titles
	}{
		{"any severity", redoubt.NotificationRule{}, func(w *world) { w.found(added{n: 1, severity: redoubt.SeverityLow}) }, []string{"1 new finding (1 low) in acme/api"}},
		{"of another type", redoubt.NotificationRule{Products: redoubt.Products(0).With(redoubt.Secrets)}, func(w *world) { w.found(high) }, nil},
		{"by filter", redoubt.NotificationRule{Filter: "severities=low&severities=high", MinSeverity: redoubt.SeverityMedium}, func(w *world) {
			w.found(high)
			w.found(added{n: 1, severity: redoubt.SeverityLow})
			w.found(added{n: 1, severity: redoubt.SeverityMedium})
		}, []string{"2 new findings (2 high) in acme/api"}},
		{"excluded", redoubt.NotificationRule{Filter: "-repos=acme/api"}, func(w *world) { w.found(high) }, nil},
		{"not known before", redoubt.NotificationRule{}, func(w *world) {
			known := w.found(high)
			w.found(added{n: 2, severity: redoubt.SeverityHigh, ref: "refs/heads/topic", of: known})
		}, []string{"2 new findings (2 high) in acme/api"}},
		{"new on the primary branch", redoubt.NotificationRule{Filter: "branch=primary"}, func(w *world) {
			known := w.found(added{n: 2, severity: redoubt.SeverityHigh, ref: "refs/heads/topic"})
			w.found(added{n: 2, severity: redoubt.SeverityHigh, of: known})
		}, []string{"2 new findings (2 high) in acme/api"}},
		{"advisories", redoubt.NotificationRule{Events: only(redoubt.EventAdvisory)}, func(w *world) {
			w.found(added{n: 1, severity: redoubt.SeverityHigh, kind: redoubt.SCA, scan: 7})
			w.found(added{n: 1, severity: redoubt.SeverityHigh, kind: redoubt.SCA, scan: 7, unscanned: true})
		}, []string{"New advisories affect what is in use: 1 finding (1 high) in acme/api"}},
		{"assigned", redoubt.NotificationRule{Events: only(redoubt.EventAssigned)}, func(w *world) { assign(w, w.found(high), "alice", time.Time{}) }, []string{"2 findings assigned to alice in acme/api"}},
		{"asked for", redoubt.NotificationRule{Events: only(redoubt.EventExceptionAsked)}, func(w *world) { wish(w, w.found(high)) }, []string{"alice asked for an exception for 2 findings in acme/api"}},
		{"asked for elsewhere", redoubt.NotificationRule{Events: only(redoubt.EventExceptionAsked), Filter: "repos=acme/other"}, func(w *world) { wish(w, w.found(high)) }, nil},
		{"approved", redoubt.NotificationRule{Events: only(redoubt.EventExceptionDecided)}, func(w *world) {
			r := wish(w, w.found(high))
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, _, err := exceptions.Approve(ctx, tx, r.ID, time.Time{}, "")
				return err
			})
		}, []string{"The exception that alice asked for was approved, for 2 findings in acme/api"}},
		{"refused", redoubt.NotificationRule{Events: only(redoubt.EventExceptionDecided)}, func(w *world) {
			r := wish(w, w.found(high))
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := exceptions.Refuse(ctx, tx, r.ID, "no")
				return err
			})
		}, []string{"The exception that alice asked for was refused, for 2 findings in acme/api"}},
		{"withdrawn", redoubt.NotificationRule{Events: only(redoubt.EventExceptionDecided)}, func(w *world) {
			r := wish(w, w.found(high))
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := exceptions.Withdraw(ctx, tx, r.ID, r.CreatorID)
				return err
			})
		}, nil},
		{"ended", redoubt.NotificationRule{Events: only(redoubt.EventDecisionEnded)}, func(w *world) {
			assign(w, w.found(high), "", w.clock.Now().Add(time.Hour))
			w.clock.Advance(2 * time.Hour)
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ExpireDecisions(ctx)
				return err
			})
		}, []string{"2 decisions ended, and the findings are open again in acme/api"}},
		{"failed", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed), Filter: "project_tags=other"}, func(w *world) { w.scan(redoubt.ScanError, nil) }, nil},
		{"failed in a project", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed), Filter: "repos=ACME/api"}, func(w *world) { w.scan(redoubt.ScanError, nil) }, []string{"A scan failed in acme/api"}},
		{"failed before it was known", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed)}, func(w *world) {
			w.update(func(ctx context.Context, tx *store.Tx) error { // as of a report that says so
				_, err := tx.AddScan(ctx, redoubt.Scan{ProjectID: w.project.ID, Ref: "refs/heads/main", Source: "semgrep", Status: redoubt.ScanError, StartedAt: tx.Now()})
				return err
			})
		}, []string{"A scan failed in acme/api"}},
		{"a run came to no scan", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed)}, func(w *world) {
			w.run(redoubt.RunOutcome{State: redoubt.RunFailed, Failure: redoubt.RunPermanent, Reason: "the repository is gone"})
			w.run(redoubt.RunOutcome{State: redoubt.RunTimedOut, Reason: "it took longer"})
		}, []string{"A scan failed in acme/api", "A scan failed in acme/api"}},
		{"a run of another project", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed), Filter: "repos=acme/other"}, func(w *world) {
			w.run(redoubt.RunOutcome{State: redoubt.RunTimedOut, Reason: "it took longer"})
		}, nil},
		{"a run failed that brought a scan of another source", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed)}, func(w *world) {
			w.runScan(redoubt.ScanCompleted, redoubt.RunOutcome{State: redoubt.RunFailed, Failure: redoubt.RunPermanent, Reason: "the scanner died"}, true)
		}, []string{"A scan failed in acme/api"}},
		{"a run failed as its scan did", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed)}, func(w *world) {
			w.runScan(redoubt.ScanError, redoubt.RunOutcome{State: redoubt.RunFailed, Failure: redoubt.RunPermanent, Reason: "exit code 2"}, true)
		}, []string{"A scan failed in acme/api"}},
		{"a run failed as its scan did, which it does not name", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed)}, func(w *world) {
			w.runScan(redoubt.ScanError, redoubt.RunOutcome{State: redoubt.RunFailed, Failure: redoubt.RunPermanent, Reason: "it wrote no result"}, false)
		}, []string{"A scan failed in acme/api"}},
		{"a run that is tried again, was stopped or came to a scan", redoubt.NotificationRule{Events: only(redoubt.EventScanFailed)}, func(w *world) {
			w.run(redoubt.RunOutcome{State: redoubt.RunCancelled, Reason: redoubt.RunStopped})
			w.run(redoubt.RunOutcome{State: redoubt.RunSuperseded})
			w.run(redoubt.RunOutcome{State: redoubt.RunDone, ScanID: 41})
			w.run(redoubt.RunOutcome{State: redoubt.RunFailed, Failure: redoubt.RunTransient})
		}, nil},
		{"blocked", redoubt.NotificationRule{Events: only(redoubt.EventBuildBlocked)}, func(w *world) {
			w.found(high)
			w.scan(redoubt.ScanCompleted, &redoubt.ScanGate{Reason: "2 findings block", Blocking: []redoubt.Blocked{{FindingID: 1}, {FindingID: 2}}})
		}, []string{"A build was blocked by 2 findings in acme/api"}},
		{"blocked by what is nowhere kept", redoubt.NotificationRule{Events: only(redoubt.EventBuildBlocked)}, func(w *world) {
			w.scan(redoubt.ScanCompleted, &redoubt.ScanGate{Reason: "it blocks", Blocking: []redoubt.Blocked{{FindingID: 0}}})
		}, []string{"A build was blocked in acme/api"}},
		{"blocked by what the filter leaves out", redoubt.NotificationRule{Events: only(redoubt.EventBuildBlocked), MinSeverity: redoubt.SeverityCritical}, func(w *world) {
			w.found(high)
			w.scan(redoubt.ScanCompleted, &redoubt.ScanGate{Reason: "it blocks", Blocking: []redoubt.Blocked{{FindingID: 1}}})
		}, nil},
		{"not blocked", redoubt.NotificationRule{Events: only(redoubt.EventBuildBlocked)}, func(w *world) { w.scan(redoubt.ScanCompleted, nil) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, "sqlite")
			w.ask(func(r *redoubt.NotificationRule) {
				if c.rule.Events != 0 {
					r.Events = c.rule.Events
				}
				r.Filter, r.MinSeverity, r.Products = c.rule.Filter, c.rule.MinSeverity, c.rule.Products
			})
			c.do(w)
			w.settle()
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

// scan ends a scan of the project, with what the gate says.
func (w *world) scan(status redoubt.ScanStatus, gate *redoubt.ScanGate) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		s := redoubt.Scan{ProjectID: w.project.ID, Ref: "refs/heads/main", Source: "semgrep", Status: redoubt.ScanRunning, StartedAt: tx.Now()}
		id, err := tx.AddScan(ctx, s)
		if err != nil {
			return err
		}
		s.ID, s.Status, s.CompletedAt, s.Error = id, status, tx.Now(), "the scanner ended with exit code 2"
		if err := tx.FinishScan(ctx, s); err != nil || status == redoubt.ScanError {
			return err
		}
		return tx.PutScanGate(ctx, id, gate)
	})
}

// run has a managed run of the project come to an outcome.
func (w *world) run(o redoubt.RunOutcome) {
	w.Helper()
	w.runOf(func(context.Context, *store.Tx, redoubt.Run) (redoubt.RunOutcome, error) { return o, nil })
}

// runScan is run, of one that brings a scan before, and names it or does not.
func (w *world) runScan(status redoubt.ScanStatus, o redoubt.RunOutcome, named bool) {
	w.Helper()
	w.runOf(func(ctx context.Context, tx *store.Tx, r redoubt.Run) (redoubt.RunOutcome, error) {
		id, err := tx.AddScan(ctx, redoubt.Scan{ProjectID: w.project.ID, RunID: r.ID, Ref: "refs/heads/main", Source: "lockfiles", Status: status, StartedAt: tx.Now(), CompletedAt: tx.Now()})
		if named {
			o.ScanID = id
		}
		return o, err
	})
}

// runOf has a managed run of the project do something, and come to what that returns.
func (w *world) runOf(do func(context.Context, *store.Tx, redoubt.Run) (redoubt.RunOutcome, error)) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.QueueRun(ctx, redoubt.Run{ProjectID: w.project.ID, Kind: redoubt.RunFull, Cause: redoubt.RunByHand}); err != nil {
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

// TestRunsThatFailTellWhy, and lead to their log.
func TestRunsThatFailTellWhy(t *testing.T) {
	each(t, func(w *world) {
		w.ask(func(r *redoubt.NotificationRule) {
			r.Events = redoubt.NotificationEvents(0).With(redoubt.EventScanFailed)
		})
		w.run(redoubt.RunOutcome{State: redoubt.RunFailed, Failure: redoubt.RunPermanent, Reason: "the repository is gone"})
		w.settle()
		events := w.receiver.events(w.T)
		if len(events) != 1 || events[0].Data.Reason != "the repository is gone" || events[0].Data.RunID == 0 ||
			events[0].Data.URL != fmt.Sprintf("https://redoubt.example/orgs/acme/runs/%d", events[0].Data.RunID) {
			t.Errorf("told is %+v", events)
		}
	})
}

// TestOneImportIsOneMessage, however much is new and however many rules look at it.
func TestOneImportIsOneMessage(t *testing.T) {
	w := newWorld(t, "sqlite")
	for i := range 50 {
		w.ask(func(r *redoubt.NotificationRule) { r.Name = fmt.Sprint("rule ", i) })
	}
	w.found(added{n: 10_000, severity: redoubt.SeverityHigh})
	w.settle()
	events := w.receiver.events(t)
	if len(events) != 50 {
		t.Fatalf("%d messages, want one a rule", len(events))
	}
	for _, e := range events {
		if e.Data.Count != 10_000 || len(e.Data.Findings) != redoubt.MaxNotified {
			t.Errorf("it counts %d and names %d", e.Data.Count, len(e.Data.Findings))
		}
	}
}

// TestTextsOfOthersAreNotObeyedByChats: what scanners write calls nobody, and makes no links.
func TestTextsOfOthersAreNotObeyedByChats(t *testing.T) {
	hostile := "@everyone <!channel> `[x](https://evil.example)` <https://evil.example|x> **b**"
	for channel, forbidden := range map[redoubt.NotificationChannel][]string{
		redoubt.ChannelSlack:      {"<!channel>", "<https://evil"},
		redoubt.ChannelMattermost: {"`[x](https://evil.example)`"},
		redoubt.ChannelDiscord:    {"`[x](https://evil.example)`"},
		redoubt.ChannelTeams:      {`"TextBlock"`},
	} {
		t.Run(channel.String(), func(t *testing.T) {
			w := newWorld(t, "sqlite")
			w.receiver.takes(http.StatusOK)
			w.ask(func(r *redoubt.NotificationRule) { r.Channel = channel })
			w.found(added{n: 12, severity: redoubt.SeverityHigh, rule: hostile})
			w.settle()
			got := w.receiver.take()
			if len(got) != 1 {
				t.Fatalf("%d messages", len(got))
			}
			var told map[string]any
			if err := json.Unmarshal(got[0].body, &told); err != nil {
				t.Fatal(err)
			}
			text := texts(told)
			for _, bad := range forbidden {
				if strings.Contains(text, bad) {
					t.Errorf("%q is in %s", bad, text)
				}
			}
			if !strings.Contains(text, "https://redoubt.example/orgs/acme/findings/") || !strings.Contains(text, "12 new findings") || !strings.Contains(text, "And 2 more") {
				t.Errorf("it says %s", text)
			}
			if channel == redoubt.ChannelDiscord {
				if mentions, _ := told["allowed_mentions"].(map[string]any); mentions["parse"] == nil || len(text) > 4000 {
					t.Errorf("anybody may be called: %v", told)
				}
			}
		})
	}
}

// texts are all texts of a JSON value, on lines.
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
