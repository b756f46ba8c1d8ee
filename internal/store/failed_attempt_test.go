package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestFailedAttemptMergesSteps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for _, a := range []model.FailedAttempt{
			{DeploymentID: d.ID, Name: "agent-scan", Step: model.FailedSignIn, Cause: "the token was revoked", TokenID: "tok_a", Repository: "acme/shop", Address: "192.0.2.7"},
			{DeploymentID: d.ID, Name: "agent-scan", Step: model.FailedOpen, Cause: "exit code 13", ExitCode: 13, ScanID: 4, Ref: "refs/heads/x", TokenID: "tok_b"},
			{DeploymentID: d.ID, Name: "agent-scan", Step: model.FailedOpen, Cause: "exit code 13", ExitCode: 2},
			{DeploymentID: 0, Name: "agent-scan", Step: model.FailedSignIn, Cause: "unknown"},
		} {
			if err := s.AddFailedAttempt(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.FailedAttempts(ctx, 10)
			if len(list) != 1 {
				t.Fatalf("%d attempts, %v", len(list), err)
			}
			want := model.FailedAttempt{
				DeploymentID: d.ID, Name: "agent-scan", At: list[0].At, Step: model.FailedSignIn, ExitCode: 13, Cause: "the token was revoked; exit code 13",
				ScanID: 4, TokenID: "tok_a", Repository: "acme/shop", Ref: "refs/heads/x", Address: "192.0.2.7",
			}
			same(t, "one run, its steps together", list[0], want)
			return err
		})
		stray, err := s.UnattributedAttempts(t.Context(), 10)
		if err != nil || len(stray) != 1 || stray[0].Cause != "unknown" {
			t.Errorf("without a user: %+v, %v", stray, err)
		}
		same(t, "events of the trail", len(events(t, s, d)), 4)
		same(t, "the version", deployment(t, s, d.Slug).Version, d.Version)
	})
}

// TestFailedAttemptsAreBounded checks that the oldest attempts are deleted by number and age.
func TestFailedAttemptsAreBounded(t *testing.T) {
	clock := storetest.NewClock()
	for _, engine := range storetest.Engines {
		s := storetest.Open(t, storetest.Database(t, engine, clock))
		d := storetest.Deployment(t, s)
		const most = 1000
		for i := range most + 3 {
			clock.Advance(time.Millisecond)
			if err := s.AddFailedAttempt(t.Context(), model.FailedAttempt{DeploymentID: d.ID, Name: fmt.Sprint(i)}); err != nil {
				t.Fatal(err)
			}
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.FailedAttempts(ctx, 2*most)
			if err != nil || len(list) != most || list[0].Name != fmt.Sprint(most+2) || list[most-1].Name != "3" {
				t.Errorf("%d attempts from %s to %s, %v", len(list), list[0].Name, list[len(list)-1].Name, err)
			}
			return err
		})
		clock.Advance(31 * 24 * time.Hour)
		if err := s.AddFailedAttempt(t.Context(), model.FailedAttempt{Name: "unknown"}); err != nil {
			t.Fatal(err)
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.FailedAttempts(ctx, 10)
			same(t, "after a month", list, []model.FailedAttempt{})
			return err
		})
	}
}

func TestOpenRulesAreInAuditLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for range 2 {
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.OpenRules(ctx, true) })
		}
		same(t, "open", deployment(t, s, d.Slug).OpenRules, true)
		same(t, "the noise", deployment(t, s, storetest.Noise).OpenRules, false)
		trail := events(t, s, d)
		if last := trail[len(trail)-1]; len(trail) != 5 || last.Before != `{"open_rules":false}` || last.After != `{"open_rules":true}` {
			t.Errorf("the trail has %d events and ends with %+v", len(trail), last)
		}
	})
}
