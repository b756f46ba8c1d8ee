package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestLastAppliedScans checks that the last applied scan of each branch and source is returned, newest
// first.
func TestLastAppliedScans(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		names := map[int64]string{}
		add := func(p model.Project, source, ref string, started int, outcome model.ScanOutcome) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				id, err := tx.AddScan(ctx, model.Scan{
					ProjectID: p.ID, Ref: ref, Source: source, StartedAt: storetest.Epoch.Add(time.Duration(started) * time.Hour), CompletedAt: tx.Now(),
					Status: model.ScanCompleted, Outcome: outcome, TotalTime: -1,
				})
				names[id] = fmt.Sprint(p.Name, " ", source, " ", ref, " ", started)
				return err
			})
		}
		one, two := d.project("acme/one"), d.project("acme/two")
		for hour := range 5 {
			add(one, "gosec", "main", hour, model.ScanApplied)
		}
		add(one, "gosec", "main", 6, model.ScanLate)
		add(one, "trivy", "main", 3, model.ScanApplied) // started later, applied earlier
		add(one, "trivy", "main", 2, model.ScanApplied)
		add(one, "gosec", "old", -1, model.ScanApplied)
		add(two, "gosec", "main", 5, model.ScanApplied)
		for name, c := range map[string]struct {
			projects []int64
			limit    int
			want     []string
			more     bool
		}{
			"all":          {nil, 10, []string{"acme/two gosec main 5", "acme/one gosec main 4", "acme/one trivy main 2"}, false},
			"some of them": {nil, 2, []string{"acme/two gosec main 5", "acme/one gosec main 4"}, true},
			"of a project": {[]int64{one.ID}, 2, []string{"acme/one gosec main 4", "acme/one trivy main 2"}, false},
			"of none":      {[]int64{}, 2, nil, false},
		} {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				scans, more, err := tx.CurrentScans(ctx, storetest.Epoch.Add(-time.Minute), c.projects, c.limit)
				var got []string
				for _, scan := range scans {
					got = append(got, names[scan.ID])
				}
				if !slices.Equal(got, c.want) || more != c.more {
					t.Errorf("%s: %q and more %v, want %q and %v", name, got, more, c.want, c.more)
				}
				return err
			})
		}
	})
}

// TestLatestScans checks that the last added scan of each ref of a project is returned, with any
// outcome.
func TestLatestScans(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		one, two := d.project("acme/one"), d.project("acme/two")
		var ids []int64
		for _, scan := range []model.Scan{
			{ProjectID: one.ID, Ref: "main", Status: model.ScanCompleted},
			{ProjectID: one.ID, Ref: "old", Status: model.ScanCompleted},
			{ProjectID: two.ID, Ref: "main", Status: model.ScanCompleted},
			{ProjectID: one.ID, Ref: "main", Status: model.ScanError},
		} {
			scan.Source, scan.TotalTime, scan.StartedAt = "gosec", -1, storetest.Epoch.Add(time.Duration(len(ids))*time.Hour)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				id, err := tx.AddScan(ctx, scan)
				ids = append(ids, id)
				return err
			})
		}
		for limit, want := range map[int][]int64{9: {ids[3], ids[1]}, 1: {ids[3]}} {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				scans, err := tx.LatestScans(ctx, one.ID, limit)
				var got []int64
				for _, scan := range scans {
					got = append(got, scan.ID)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d at most: %v, want %v", limit, got, want)
				}
				return err
			})
		}
	})
}

// TestScannedRefs checks that the distinct refs with applied scans of some projects are returned.
func TestScannedRefs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		one, two := d.project("acme/one"), d.project("acme/two")
		for i, scan := range []model.Scan{
			{ProjectID: one.ID, Ref: "refs/heads/main", Outcome: model.ScanApplied},
			{ProjectID: one.ID, Ref: "refs/heads/old", Outcome: model.ScanApplied},
			{ProjectID: two.ID, Ref: "refs/heads/other", Outcome: model.ScanApplied},
			{ProjectID: two.ID, Ref: "refs/heads/failed", Status: model.ScanError},
			{ProjectID: two.ID, Ref: "", Outcome: model.ScanApplied},
			{ProjectID: one.ID, Ref: "refs/heads/main", Outcome: model.ScanApplied},
		} {
			scan.Source, scan.TotalTime, scan.StartedAt = "gosec", -1, storetest.Epoch.Add(time.Duration(i)*time.Hour)
			if scan.Outcome == model.ScanApplied {
				scan.Status = model.ScanCompleted
			}
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.AddScan(ctx, scan)
				return err
			})
		}
		for name, c := range map[string]struct {
			projects []int64
			want     []string
		}{
			"all":          {nil, []string{"refs/heads/main", "refs/heads/other", "refs/heads/old"}},
			"of a project": {[]int64{two.ID}, []string{"refs/heads/other"}},
			"of none":      {[]int64{}, nil},
		} {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				got, err := tx.ScannedRefs(ctx, c.projects)
				if !slices.Equal(got, c.want) {
					t.Errorf("%s: %q, want %q", name, got, c.want)
				}
				return err
			})
		}
	})
}

// TestUnresolvedCount checks that counting stops at the limit.
func TestUnresolvedCount(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/app")
		added := d.findings(p, 5, nil)
		for most, want := range map[int]int{10: 5, 5: 5, 3: 3, 1: 1} {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				n, err := tx.UnresolvedCount(ctx, p.ID, added[0].Ref, added[0].Source, most)
				if n != want {
					t.Errorf("of 5 at most %d: %d, want %d", most, n, want)
				}
				return err
			})
		}
	})
}
