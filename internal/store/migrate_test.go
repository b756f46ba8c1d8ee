package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestANewerSchemaIsRefused opens a database that a later version has migrated,
// with and without migrations of ours missing in it.
func TestANewerSchemaIsRefused(t *testing.T) {
	for _, engine := range storetest.Engines {
		for name, change := range map[string]string{
			"ahead":            `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`,
			"ahead and behind": `UPDATE goose_db_version SET version_id = 9999 WHERE version_id = 3`,
		} {
			t.Run(engine+" "+name, func(t *testing.T) {
				config := storetest.Database(t, engine, storetest.NewClock())
				s := storetest.Open(t, config)
				if err := s.ExecRaw(t.Context(), change); err != nil {
					t.Fatal(err)
				}
				_, err := store.Open(t.Context(), config)
				var newer *store.NewerSchemaError
				if !errors.As(err, &newer) || newer.Stored != 9999 || newer.Known < 26 || newer.Known >= 9999 {
					t.Fatalf("a schema that is ahead opens with %v", err)
				}
				for _, word := range []string{"schema 9999", fmt.Sprint("up to ", newer.Known), "backup"} {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%q is not in: %v", word, err)
					}
				}
			})
		}
	}
}

// TestWhatIsNotRatedIsFollowedAnew opens a database of a version that stored findings of
// advisories without telling which of them nobody rates: deployments follow all advisories once.
func TestWhatIsNotRatedIsFollowedAnew(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			s := storetest.Open(t, config)
			d := newTenant(t, s)
			at := redoubt.AdvisoryProgress{Version: 7, Target: 9, After: redoubt.ProjectRef{ProjectID: 3, Ref: "refs/heads/main"}, Scores: 5}
			_, _, err := s.ClaimAdvisoryMatch(t.Context(), d.id, time.Minute)
			d.check(err)
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SaveAdvisoryMatch(ctx, at, 0) })
			d.check(s.MigrateDown(t.Context(), 56))
			d.check(s.Close())
			s = storetest.Open(t, config)
			all, err := s.AdvisoryMatches(t.Context())
			d.check(err)
			same(t, "what is followed", all[d.id], redoubt.AdvisoryProgress{Scores: 5})
		})
	}
}

// TestAServerThatIsReplaced has a newer version migrate the database of one that runs: it
// reads and writes nothing any more, and goes on where the database is one of its own again.
func TestAServerThatIsReplaced(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		write := func() error {
			return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				return tx.PutSetting(ctx, "replaced", []byte("x"))
			})
		}
		for _, step := range []struct {
			change string
			want   error
		}{
			{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`, redoubt.ErrReplaced},
			{`DELETE FROM goose_db_version WHERE version_id = 9999`, nil},
		} {
			if err := s.ExecRaw(t.Context(), step.change); err != nil {
				t.Fatal(err)
			}
			_, read := s.Deployment(t.Context(), "acme")
			if step.want == nil {
				fails(t, "a read before anybody looked", read, redoubt.ErrUnavailable)
			}
			fails(t, "the look", s.CheckSchema(t.Context()), step.want)
			_, read = s.Deployment(t.Context(), "acme")
			fails(t, "a read", read, step.want)
			fails(t, "a write", write(), step.want)
			reads, _ := s.Health(t.Context())
			fails(t, "its health", reads, step.want)
		}
	})
}

// TestRunsGoOnOverAnUpgrade opens a database of a version that did not keep which run a scan
// is of: what a run under way has begun stays its own, and what others began is theirs.
func TestRunsGoOnOverAnUpgrade(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			s := storetest.Open(t, config)
			d := newTenant(t, s)
			p := d.project("acme/payments")
			var run redoubt.Run
			d.update(func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.QueueRun(ctx, redoubt.Run{ProjectID: p.ID, Kind: redoubt.RunFull, Cause: redoubt.RunByHand}); err != nil {
					return err
				}
				taken, _, err := tx.LeaseRun(ctx, 1, nil)
				if err != nil {
					return err
				}
				token, err := tx.CreateToken(ctx, redoubt.Token{PublicID: "tok_run", Name: "run", Scopes: []redoubt.Scope{redoubt.ScopeCI}}, storetest.TokenHash("run"))
				run = taken
				return errors.Join(err, tx.BindRunToken(ctx, taken.ID, token.ID))
			})
			begin := func(by redoubt.Actor) (id int64) {
				d.check(s.Update(t.Context(), d.id, by, func(ctx context.Context, tx *store.Tx) (err error) {
					id, err = tx.AddScan(ctx, redoubt.Scan{ProjectID: p.ID, Ref: "refs/heads/main", Source: "semgrep", StartedAt: tx.Now(), Status: redoubt.ScanRunning})
					return err
				}))
				return id
			}
			of := map[int64]int64{
				begin(redoubt.Actor{Kind: "token", ID: "tok_run", Name: "run"}):           run.ID,
				begin(redoubt.Actor{Kind: "token", ID: "tok_ci", Name: `"id":"tok_run"`}): 0,
			}
			d.check(s.MigrateDown(t.Context(), 69))
			d.check(s.Close())
			d.s = storetest.Open(t, config)
			d.view(func(ctx context.Context, tx *store.Tx) error {
				for id, want := range of {
					scan, err := tx.Scan(ctx, id)
					d.check(err)
					same(t, "whose the scan is", scan.RunID, want)
				}
				return nil
			})
		})
	}
}
