package main

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestHousekeepingEndsExceptions advances the clock past the last day of an exception. Only then,
// and without an upload, its findings are reopened with a triage event.
func TestHousekeepingEndsExceptions(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			clock := storetest.NewClock()
			var logged bytes.Buffer
			s := &service{store: storetest.Open(t, storetest.Database(t, engine, clock)), log: slog.New(slog.NewTextHandler(&logged, nil))}
			d := storetest.Deployment(t, s.store)
			update := func(fn func(context.Context, *store.Tx) error) {
				t.Helper()
				if err := s.store.Update(t.Context(), d.ID, storetest.Actor, fn); err != nil {
					t.Fatal(err)
				}
			}
			update(func(ctx context.Context, tx *store.Tx) error {
				rule := &model.Rule{Name: "eqeq", IssueType: model.SAST, Severity: model.SeverityHigh}
				_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{
					Project: model.Project{Name: "acme/app"}, Ref: "main", Full: true, Report: &model.Report{Tool: "semgrep", Rules: []*model.Rule{rule}, Results: []model.Result{
						{Rule: rule, Path: "a.py", Location: model.Location{Line: 1}, Code: "x == x", Severity: model.SeverityHigh},
					}},
				})
				return err
			})
			var made model.Exception
			update(func(ctx context.Context, tx *store.Tx) (err error) {
				e := model.Exception{Target: "eqeq", Reason: "for now", TriageReason: model.AcceptableRisk, Until: tx.Now().Add(24 * time.Hour)}
				made, _, err = exceptions.Add(ctx, tx, e)
				return err
			})
			state := func() (now model.Triage, trail []model.TriageEvent) {
				t.Helper()
				err := s.store.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
					o, err := tx.Finding(ctx, 1)
					if err != nil {
						return err
					}
					now = o.Lineage.Triage
					trail, err = tx.TriageTrail(ctx, o.LineageID)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				return now, trail
			}
			end := func() {
				t.Helper()
				if err := s.followExceptions(t.Context(), d); err != nil {
					t.Fatal(err)
				}
			}
			clock.Advance(23 * time.Hour)
			end()
			if now, trail := state(); now.State != model.TriageIgnored || len(trail) != 1 || logged.Len() > 0 {
				t.Fatalf("before its end: %+v, %d lines, said %q", now, len(trail), &logged)
			}
			clock.Advance(2 * time.Hour)
			end()
			now, trail := state()
			if now.State != model.TriageReopened || len(trail) != 2 || trail[1].By != made.Actor() || trail[1].Note == "" || !strings.Contains(logged.String(), "findings=1") {
				t.Errorf("after its end: %+v, trail %+v, said %q", now, trail, &logged)
			}
			end()
			if _, trail := state(); len(trail) != 2 {
				t.Errorf("once more: %d lines", len(trail))
			}
		})
	}
}
