package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestAuditEventsPageOldestFirst(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		by := model.Actor{Kind: "token", ID: "public-ci", Name: "ci"}
		for i := range 5 {
			err := s.Update(t.Context(), d.ID, by, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, model.Project{Name: fmt.Sprint("acme/p", i)})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		all := events(t, s, d)
		same(t, "how many events", len(all), 4+5)
		var paged []model.AuditEvent
		for {
			var after int64
			if len(paged) > 0 {
				after = paged[len(paged)-1].ID
			}
			var page []model.AuditEvent
			view(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
				page, err = tx.AuditEvents(ctx, after, 2)
				return err
			})
			if len(page) == 0 {
				break
			}
			paged = append(paged, page...)
		}
		same(t, "page by page", paged, all)
		for i := 1; i < len(all); i++ {
			if all[i].ID <= all[i-1].ID || all[i].At.Before(all[i-1].At) {
				t.Errorf("%v comes after %v", all[i], all[i-1])
			}
		}
		last := all[len(all)-1]
		if last.By != by || last.Action != "project.create" || last.Before != "" || last.After == "" {
			t.Errorf("the last event is %+v", last)
		}
	})
}

// TestEveryWriteIsAudited calls every method that changes something.
func TestEveryWriteIsAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		policy := withRules(t, s, d, 1)
		p := addProjects(t, s, d, "acme/a", "acme/b", "acme/c")
		var scan model.Scan
		for _, w := range []struct {
			action string
			write  func(context.Context, *store.Tx) error
		}{
			{"token.create", func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateToken(ctx, model.Token{PublicID: "x", Name: "x"}, []byte("x"))
				return err
			}},
			{"token.revoke", func(ctx context.Context, tx *store.Tx) error {
				token, err := tx.Token(ctx, "x")
				if err != nil {
					return err
				}
				return tx.RevokeToken(ctx, token.ID)
			}},
			{"project.create", func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/new"})
				return err
			}},
			{"project.update", func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.RenameProject(ctx, p[0].ID, "acme/aa")
				return err
			}},
			{"project.update", func(ctx context.Context, tx *store.Tx) error {
				return tx.ScanApplied(ctx, p[0].ID, "refs/heads/trunk", true, tx.Now())
			}},
			{"project.merge", func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.MergeProjects(ctx, p[1].ID, p[0].ID)
				return err
			}},
			{"project.delete", func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p[2].ID) }},
			{"scan.create", func(ctx context.Context, tx *store.Tx) (err error) {
				scan = model.Scan{ProjectID: p[0].ID, Ref: "refs/heads/x", StartedAt: tx.Now(), Status: model.ScanRunning}
				scan.ID, err = tx.AddScan(ctx, scan)
				return err
			}},
			{"scan.finish", func(ctx context.Context, tx *store.Tx) error {
				scan.Status, scan.CompletedAt = model.ScanCompleted, tx.Now()
				return tx.FinishScan(ctx, scan)
			}},
			{"policy.set_rule_mode", func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.SetRuleMode(ctx, policy, "rules.r0", model.ModeComment)
				return err
			}},
			{"job.create", func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AddJob(ctx, model.Job{Kind: "sbom", Token: "secret-of-the-job"})
				return err
			}},
		} {
			before := events(t, s, d)
			update(t, s, d, w.write)
			fresh := events(t, s, d)[len(before):]
			if len(fresh) != 1 || fresh[0].Action != w.action || fresh[0].By != storetest.Actor || fresh[0].Before == "" && fresh[0].After == "" {
				t.Errorf("%s left %+v", w.action, fresh)
			}
		}
	})
}
