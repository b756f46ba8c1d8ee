package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestScanAccount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		project := addProjects(t, s, d, "acme/app")[0]
		want := model.ScanAccount{
			Reported: []int64{3, 4, 5, 9, 4_000_000_000},
			Gaps:     []model.ScanGap{{Kind: model.GapPath, What: "vendor/x.js", Why: "too big"}, {Kind: model.GapParse, What: "js"}}, AllGaps: 2,
		}
		gate := &model.ScanGate{Reason: "because", Blocking: []model.Blocked{{FindingID: 3, IssueType: model.SAST, Severity: model.SeverityHigh, Rule: "r", Path: "p", Line: 1, PolicyID: 2}}}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
			want.ScanID, err = tx.AddScan(ctx, model.Scan{ProjectID: project.ID, Ref: main, Source: "semgrep", StartedAt: tx.Now(), TotalTime: -1})
			if err != nil {
				return err
			}
			if _, err := tx.ScanAccount(ctx, want.ScanID); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("the account of a scan without one: %v", err)
			}
			if err := tx.PutScanAccount(ctx, want); err != nil {
				return err
			}
			return tx.PutScanGate(ctx, want.ScanID, gate)
		})
		want.Gate = gate
		check := func(blocked bool) {
			t.Helper()
			view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				got, err := tx.ScanAccount(ctx, want.ScanID)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
				scans, err2 := tx.BlockedScans(ctx, []int64{want.ScanID, 77})
				if scans[want.ScanID] != blocked || scans[77] {
					t.Errorf("blocked are %v", scans)
				}
				part, err3 := tx.ParsedInPart(ctx, []int64{want.ScanID, 77})
				if !part[want.ScanID] || part[77] {
					t.Errorf("parsed in part are %v", part)
				}
				return errors.Join(err, err2, err3)
			})
		}
		check(true)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.PutScanGate(ctx, want.ScanID, nil) })
		want.Gate = nil
		check(false)
		// Another tenant has no account with the same id, and deleting the project deletes the
		// account.
		view(t, s, deployment(t, s, storetest.Noise), func(ctx context.Context, tx *store.Tx) error {
			if a, err := tx.ScanAccount(ctx, want.ScanID); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("a stranger's account: %+v, %v", a, err)
			}
			return nil
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, project.ID) })
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.ScanAccount(ctx, want.ScanID); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("the account of a deleted project: %v", err)
			}
			return nil
		})
	})
}

// TestScanAccountIsBounded checks that gaps above the limit are counted but not stored.
func TestScanAccountIsBounded(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t, "sqlite", storetest.NewClock()))
	d := storetest.Deployment(t, s)
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.PutScanAccount(ctx, model.ScanAccount{ScanID: 1, Gaps: make([]model.ScanGap, model.MaxScanGaps+5)}); err != nil {
			return err
		}
		got, err := tx.ScanAccount(ctx, 1)
		if len(got.Gaps) != model.MaxScanGaps || got.AllGaps != model.MaxScanGaps+5 {
			t.Errorf("%d of %d gaps", len(got.Gaps), got.AllGaps)
		}
		return err
	})
}
