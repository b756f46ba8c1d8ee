package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestScanRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := addProjects(t, s, d, "acme/a")[0]
		running := model.Scan{
			ProjectID: p.ID, Ref: "refs/heads/main", Commit: "c0ffee", Source: "semgrep", StartedAt: storetest.Epoch, Full: true,
			Status: model.ScanRunning, TotalTime: -1,
		}
		ended := running
		ended.CompletedAt, ended.ExitCode, ended.Status, ended.Outcome = storetest.Epoch.Add(time.Minute), 2, model.ScanError, model.ScanSuperseded
		ended.Products, ended.Counts = model.Products(0).With(model.SCA), model.FindingCounts{Code: 1, Secrets: 2, SupplyChain: 3}
		ended.TotalTime, ended.Digest, ended.Error = 1500*time.Microsecond, model.Digest{1, 2, 3}, "the disk is full"
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for _, scan := range []*model.Scan{&running, &ended} {
				id, err := tx.AddScan(ctx, *scan)
				if err != nil {
					return err
				}
				scan.ID = id
				got, err := tx.Scan(ctx, id)
				same(t, "read again", got, *scan)
				if err != nil {
					return err
				}
			}
			_, err := tx.AddScan(ctx, model.Scan{ProjectID: p.ID + 1000})
			fails(t, "a scan of no project", err, model.ErrNotFound)
			return nil
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			late := ended
			late.ID, late.Ref, late.StartedAt, late.Full = running.ID, "refs/heads/other", storetest.Epoch.Add(time.Hour), false
			if err := tx.FinishScan(ctx, late); err != nil {
				return err
			}
			want := ended
			want.ID = running.ID
			got, err := tx.Scan(ctx, running.ID)
			same(t, "the finished one", got, want)
			fails(t, "finishing an unknown one", tx.FinishScan(ctx, model.Scan{ID: ended.ID + 1000}), model.ErrNotFound)
			return err
		})
	})
}

// drawScan draws a scan from few values, so that filters match.
func drawScan(r *rapid.T, projects []model.Project) model.Scan {
	s := model.Scan{
		ProjectID: rapid.SampledFrom(projects).Draw(r, "project").ID,
		Ref:       rapid.SampledFrom([]string{"refs/heads/main", "refs/heads/x"}).Draw(r, "ref"),
		Source:    "semgrep",
		StartedAt: storetest.Epoch.Add(time.Duration(rapid.IntRange(-4, 1).Draw(r, "started")) * 30 * time.Minute),
		Full:      rapid.Bool().Draw(r, "full"),
		Products:  model.Products(rapid.IntRange(0, 7).Draw(r, "products") << 1),
		Status:    rapid.SampledFrom([]model.ScanStatus{model.ScanRunning, model.ScanCompleted, model.ScanError}).Draw(r, "status"),
		TotalTime: time.Duration(rapid.IntRange(-1, 3).Draw(r, "tenths")) * 100 * time.Millisecond,
	}
	s.TotalTime = max(s.TotalTime, -1)
	return s
}

func drawScanFilter(r *rapid.T, projects []model.Project) model.ScanFilter {
	seconds := rapid.Ptr(rapid.SampledFrom([]float64{0, 0.1, 0.15, 0.3, 7, -1}), true)
	return model.ScanFilter{
		Ref:       rapid.SampledFrom([]string{"", "refs/heads/main", "refs/heads/none"}).Draw(r, "ref"),
		ProjectID: rapid.SampledFrom([]int64{0, 0, projects[0].ID, projects[1].ID, 1}).Draw(r, "project"),
		AnyOf:     rapid.SampledFrom([][]int64{nil, nil, {projects[1].ID}, {projects[0].ID, projects[2].ID, 1}}).Draw(r, "any of"),
		Full:      rapid.Ptr(rapid.Bool(), true).Draw(r, "full"),
		Products:  rapid.SliceOfN(rapid.SampledFrom([]model.IssueType{model.SAST, model.SCA, model.Secrets}), 0, 2).Draw(r, "products"),
		Statuses: rapid.SliceOfN(rapid.SampledFrom([]model.ScanStatus{
			model.ScanRunning, model.ScanCompleted, model.ScanError, model.ScanNeverFinished,
		}), 0, 2).Draw(r, "statuses"),
		Since:    rapid.SampledFrom([]time.Time{{}, {}, storetest.Epoch.Add(-time.Hour), storetest.Epoch}).Draw(r, "since"),
		MinTime:  seconds.Draw(r, "min"),
		MaxTime:  seconds.Draw(r, "max"),
		Projects: rapid.SampledFrom([]model.ProjectGlobs{nil, nil, {"acme/*"}, {"globex/*", "acme/b"}, {"none/*"}}).Draw(r, "globs"),
	}
}

// matchesScanFilter is a simple implementation of the filter.
func matchesScanFilter(f model.ScanFilter, s model.Scan, names map[int64]string, now time.Time) bool {
	total := s.TotalTime.Seconds()
	return (f.Ref == "" || f.Ref == s.Ref) && (f.ProjectID == 0 || f.ProjectID == s.ProjectID) && (len(f.AnyOf) == 0 || slices.Contains(f.AnyOf, s.ProjectID)) && (f.Full == nil || *f.Full == s.Full) &&
		(len(f.Products) == 0 || slices.ContainsFunc(f.Products, s.Products.Has)) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, s.StatusAt(now))) &&
		(f.Since.IsZero() || s.StartedAt.After(f.Since)) &&
		(f.MinTime == nil || s.TotalTime >= 0 && total >= *f.MinTime) && (f.MaxTime == nil || s.TotalTime >= 0 && total <= *f.MaxTime) &&
		f.Projects.Allows(names[s.ProjectID])
}

func TestScanSearchMatchesFilter(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		projects := addProjects(t, s, d, "acme/a", "acme/b", "globex/a")
		names := map[int64]string{}
		for _, p := range projects {
			names[p.ID] = p.Name
		}
		rounds(t, s, d, func(ctx context.Context, r *rapid.T, tx *store.Tx) error {
			scans := make([]model.Scan, rapid.IntRange(0, 12).Draw(r, "n"))
			for i := range scans {
				scans[i] = drawScan(r, projects)
				id, err := tx.AddScan(ctx, scans[i])
				if err != nil {
					return err
				}
				scans[i].ID = id
			}
			f := drawScanFilter(r, projects)
			now := tx.Now()
			want := slices.DeleteFunc(scans, func(s model.Scan) bool { return !matchesScanFilter(f, s, names, now) })
			slices.SortFunc(want, func(a, b model.Scan) int {
				if c := b.StartedAt.Compare(a.StartedAt); c != 0 {
					return c
				}
				return int(b.ID - a.ID)
			})
			got, err := walkScans(ctx, tx, f, rapid.IntRange(1, 4).Draw(r, "limit"))
			same(t, fmt.Sprintf("scans of %+v", f), got, want)
			return err
		})
	})
}

// walkScans returns all pages.
func walkScans(ctx context.Context, tx *store.Tx, f model.ScanFilter, limit int) (all []model.Scan, err error) {
	var after store.ScanCursor
	for {
		page, more, err := tx.Scans(ctx, f, after, limit)
		if err != nil || len(page) > limit || more && len(page) < limit {
			return nil, fmt.Errorf("a page of %d with more = %v: %w", len(page), more, err)
		}
		all = append(all, page...)
		if !more {
			return all, nil
		}
		last := page[len(page)-1]
		after = store.ScanCursor{StartedAt: last.StartedAt, ID: last.ID}
	}
}

func TestScanFilterWithOutOfRangeTimes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := addProjects(t, s, d, "acme/a")[0]
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for _, total := range []time.Duration{-1, 0, time.Second} { // the first is unknown and never matches
				if _, err := tx.AddScan(ctx, model.Scan{ProjectID: p.ID, StartedAt: storetest.Epoch, TotalTime: total}); err != nil {
					return err
				}
			}
			for _, c := range []struct {
				filter model.ScanFilter
				want   int
			}{
				{model.ScanFilter{MinTime: new(1e300)}, 0},
				{model.ScanFilter{MaxTime: new(1e300)}, 2},
				{model.ScanFilter{MinTime: new(-1e300)}, 2},
				{model.ScanFilter{MaxTime: new(-0.5)}, 0},
				{model.ScanFilter{MaxTime: new(0.0)}, 1},
				{model.ScanFilter{MinTime: new(1.0), MaxTime: new(1.0)}, 1},
				{model.ScanFilter{MinTime: new(1.000001)}, 0},
			} {
				got, _, err := tx.Scans(ctx, c.filter, store.ScanCursor{}, 10)
				if err != nil || len(got) != c.want {
					t.Errorf("%v: got %d, %v", c, len(got), err)
				}
			}
			return nil
		})
	})
}

// applied is a scan added to a stream.
type applied struct {
	ref, source, commit string
	full                bool
	outcome             model.ScanOutcome
}

// streamed is the expected state of a stream after some scans.
type streamed struct {
	what       string
	before     []applied
	commit     string
	last       int // 1-based index in before; 0 for none
	lastFull   int
	superseded bool
	lastDiff   int
}

const main = "refs/heads/main"

var streams = []streamed{
	{"nothing yet", nil, "a", 0, 0, false, 0},
	{"other refs and sources", []applied{{"refs/heads/x", "semgrep", "a", true, model.ScanApplied}, {main, "bandit", "a", true, model.ScanApplied}}, "a", 0, 0, false, 0},
	{"scans that were not applied", []applied{{main, "semgrep", "a", true, model.ScanLate}, {main, "semgrep", "b", true, model.ScanPending}}, "a", 0, 0, false, 0},
	{"the same commit again", []applied{{main, "semgrep", "a", true, model.ScanApplied}}, "a", 1, 1, false, 0},
	{"a commit that another followed", []applied{{main, "semgrep", "a", true, model.ScanApplied}, {main, "semgrep", "b", false, model.ScanApplied}}, "a", 2, 1, true, 2},
	{"the one that followed", []applied{{main, "semgrep", "a", true, model.ScanApplied}, {main, "semgrep", "b", false, model.ScanApplied}}, "b", 2, 1, false, 2},
	{"a new one", []applied{{main, "semgrep", "a", true, model.ScanApplied}, {main, "semgrep", "b", true, model.ScanApplied}}, "c", 2, 1, false, 0},
	{"no commit", []applied{{main, "semgrep", "", true, model.ScanApplied}, {main, "semgrep", "b", true, model.ScanApplied}}, "", 2, 1, false, 0},
	{"one that no commit followed", []applied{{main, "semgrep", "a", true, model.ScanApplied}, {main, "semgrep", "", true, model.ScanApplied}}, "a", 2, 1, false, 0},
	{"one that was only followed in vain", []applied{{main, "semgrep", "a", true, model.ScanApplied}, {main, "semgrep", "b", true, model.ScanSuperseded}}, "a", 1, 1, false, 0},
}

func TestStream(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for i, c := range streams {
			p := addProjects(t, s, d, fmt.Sprint("acme/p", i))[0]
			t.Run(c.what, func(t *testing.T) {
				update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
					want, err := land(ctx, tx, p, c)
					if err != nil {
						return err
					}
					got, err := tx.Stream(ctx, p.ID, main, "semgrep", c.commit)
					same(t, "the stream", got, want)
					return err
				})
			})
		}
	})
}

// land adds the scans and returns the resulting state of the stream.
func land(ctx context.Context, tx *store.Tx, p model.Project, c streamed) (want model.ScanStream, err error) {
	for i, a := range c.before {
		// Later scans have earlier start times.
		started := storetest.Epoch.Add(time.Duration(-i) * time.Hour)
		digest := model.Digest{byte(i + 1)}
		id, err := tx.AddScan(ctx, model.Scan{
			ProjectID: p.ID, Ref: a.ref, Source: a.source, Commit: a.commit, Full: a.full, Outcome: a.outcome, StartedAt: started, Digest: digest,
		})
		if err != nil {
			return want, err
		}
		if c.last == i+1 {
			want.LastScanID, want.LastDigest = id, digest
		}
		if c.lastFull == i+1 {
			want.LastFullStart, want.Complete = started, true
		}
		if c.lastDiff == i+1 {
			want.LastDiffStart = started
		}
	}
	want.Superseded = c.superseded
	return want, nil
}

// TestStreamOrdersConcurrentScansByEnd checks that concurrent scans are ordered by their ends.
func TestStreamOrdersConcurrentScansByEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := addProjects(t, s, d, "acme/ends")[0]
		var ids []int64
		var newest time.Time
		for _, commit := range []string{"c1", "c2"} {
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				newest = tx.Now()
				id, err := tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: main, Commit: commit, Source: "semgrep", StartedAt: tx.Now(), Status: model.ScanRunning, TotalTime: -1, RunID: 9})
				ids = append(ids, id)
				return err
			})
		}
		for i := range 2 {
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				scan, err := tx.Scan(ctx, ids[1-i])
				if err != nil {
					return err
				}
				scan.Status, scan.Outcome, scan.Digest, scan.CompletedAt = model.ScanCompleted, model.ScanApplied, model.Digest{byte(i + 1)}, tx.Now()
				return tx.FinishScan(ctx, scan)
			})
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			ended, err := tx.Scan(ctx, ids[0])
			if same(t, "the run it is of", ended.RunID, int64(9)); err != nil {
				return err
			}
			for commit, superseded := range map[string]bool{"c2": true, "c1": false} {
				got, err := tx.Stream(ctx, p.ID, main, "semgrep", commit)
				if err != nil {
					return err
				}
				same(t, "the stream of "+commit, got, model.ScanStream{LastScanID: ids[0], LastDigest: model.Digest{2}, LastDiffStart: newest, Superseded: superseded})
			}
			return nil
		})
	})
}
