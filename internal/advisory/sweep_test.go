package advisory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
)

// swept is a deployment whose refs have no dependencies, and the effects of its sweep.
type swept struct {
	refs     int
	each     int                    // refs of a project, 0 for one
	size     int                    // rows of a ref
	progress model.AdvisoryProgress // as stored
	lease    time.Duration
	followed []int64 // projects, as stored
	sizes    []int   // numbers of refs by transaction, as stored
	together []int   // numbers of refs that were read together, in order
	audited  int
}

func (s *swept) AdvisoryVersions(context.Context) (version, scores int64, err error) {
	return 1, 1, nil
}

func (s *swept) ClaimAdvisoryMatch(context.Context, int64, time.Duration) (model.AdvisoryProgress, bool, error) {
	return s.progress, true, nil
}

// sweptTx is a transaction that implements only the methods below.
type sweptTx struct {
	advisory.SweepTx
	of       *swept
	followed []int64
	audited  int
	saved    *model.AdvisoryProgress
	lease    time.Duration
}

func (t *sweptTx) HoldingRefs(context.Context, []int64) (refs []model.ProjectRef, err error) {
	each := max(t.of.each, 1)
	for i := range t.of.refs {
		refs = append(refs, model.ProjectRef{ProjectID: int64(i/each + 1), Ref: []string{"refs/heads/main", "refs/heads/next", "refs/heads/third"}[i%each]})
	}
	return refs, nil
}

func (t *sweptTx) RefSizes(_ context.Context, refs []model.ProjectRef, _ int) ([]int, error) {
	return slices.Repeat([]int{t.of.size}, len(refs)), nil
}

func (t *sweptTx) Holdings(_ context.Context, refs []model.ProjectRef, _ []int64) ([][]model.Holding, error) {
	return make([][]model.Holding, len(refs)), nil
}

func (t *sweptTx) Subjects(_ context.Context, refs []model.ProjectRef) ([][]model.Subject, error) {
	return make([][]model.Subject, len(refs)), nil
}
func (t *sweptTx) AdvisoryVersion(context.Context) (int64, error)          { return 1, nil }
func (t *sweptTx) RefreshScores(context.Context, []model.ProjectRef) error { return nil }
func (t *sweptTx) AuditFollowed(_ model.ProjectRef, _ int64, changed int)  { t.audited += changed }

func (t *sweptTx) SaveAdvisoryMatch(_ context.Context, p model.AdvisoryProgress, lease time.Duration) error {
	t.saved, t.lease = &p, lease
	return nil
}

var errSweep = errors.New("it does not work")

// run sweeps with failing projects and a number of changed findings for each ref. An error of
// commit discards the transaction. Failed transactions are rolled back.
func (s *swept) run(changes int, fails func(project int64) bool, commit func() error) (advisory.SweepResult, error) {
	sweep := advisory.Sweep[*sweptTx]{
		Store: s, Library: advisory.NewLibrary(nil),
		Update: func(ctx context.Context, _ int64, fn func(context.Context, *sweptTx) error) error {
			tx := &sweptTx{of: s}
			err := fn(ctx, tx)
			if err == nil && commit != nil && len(tx.followed) > 0 {
				err = commit()
			}
			if err != nil {
				return err
			}
			s.followed, s.audited = append(s.followed, tx.followed...), s.audited+tx.audited
			if len(tx.followed) > 0 {
				s.sizes = append(s.sizes, len(tx.followed))
			}
			if tx.saved != nil {
				s.progress, s.lease = *tx.saved, tx.lease
			}
			return nil
		},
		Follow: func(_ context.Context, tx *sweptTx, advised []model.Advised, most int) ([]model.Followed, error) {
			return s.follow(tx, advised, most, changes, fails)
		},
	}
	return sweep.Deployment(context.Background(), 1)
}

// follow imitates FollowAll of package ingest. It postpones refs after a changed one of the same
// project, and all refs after the one that reached most findings.
func (s *swept) follow(tx *sweptTx, advised []model.Advised, most, changes int, fails func(project int64) bool) ([]model.Followed, error) {
	out := make([]model.Followed, len(advised))
	moved, total := map[int64]bool{}, 0
	s.together = append(s.together, len(advised))
	for i, a := range advised {
		if fails(a.ProjectID) {
			return nil, errSweep
		}
		if total >= most {
			break
		}
		total += changes
		if moved[a.ProjectID] {
			continue
		}
		moved[a.ProjectID] = changes > 0
		tx.followed = append(tx.followed, a.ProjectID)
		out[i] = model.Followed{Done: true, Changed: changes}
	}
	return out, nil
}

func works(int64) bool { return false }

// TestSweepBatchesRefsPerTransaction checks that refs share transactions, which end after a
// number of refs or of changed findings.
func TestSweepBatchesRefsPerTransaction(t *testing.T) {
	for changes, want := range map[int][]int{0: {16, 16, 8}, 31: {16, 16, 8}, 100: {5, 5, 5, 5, 5, 5, 5, 5}, 999: slices.Repeat([]int{1}, 40)} {
		s := &swept{refs: 40}
		done, err := s.run(changes, works, nil)
		if err != nil || done.Refs != 40 || done.Changed != 40*changes || s.audited != 40*changes {
			t.Errorf("%d changes a ref: %+v %v, %d audited", changes, done, err, s.audited)
		}
		if !slices.Equal(s.sizes, want) || s.progress != (model.AdvisoryProgress{Version: 1, Target: 1, Scores: 1}) || s.lease != 0 {
			t.Errorf("%d changes a ref: transactions of %v, want %v; kept %+v for %v", changes, s.sizes, want, s.progress, s.lease)
		}
	}
}

// TestChangingRefsAreMatchedInSequence checks that changing refs of a project are matched one after
// another, in the same transaction.
func TestChangingRefsAreMatchedInSequence(t *testing.T) {
	three := func(n int) (out []int64) {
		for i := range n {
			out = append(out, int64(i/3+1))
		}
		return out
	}
	for changes, want := range map[int]struct{ sizes, together []int }{
		0: {[]int{16, 2}, []int{16, 2}},
		1: {[]int{16, 2}, []int{16, 5, 5, 2, 1}},
		// The limit of 500 is reached by the three refs of the first project and two of the second.
		100: {[]int{5, 5, 5, 3}, []int{16, 1, 1, 11, 5, 1, 1, 5, 1, 1, 1, 3, 1, 1}},
	} {
		s := &swept{refs: 18, each: 3}
		done, err := s.run(changes, works, nil)
		slices.Sort(s.followed)
		if err != nil || done.Refs != 18 || done.Changed != 18*changes || !slices.Equal(s.followed, three(18)) {
			t.Errorf("%d changes a ref: %+v %v, followed %v", changes, done, err, s.followed)
		}
		if !slices.Equal(s.sizes, want.sizes) || !slices.Equal(s.together, want.together) {
			t.Errorf("%d changes a ref: transactions of %v, want %v; read together %v, want %v", changes, s.sizes, want.sizes, s.together, want.together)
		}
	}
}

// TestRefsWithManyRowsAreReadAlone checks the limit of rows that are read together. A ref with many
// rows is read alone.
func TestRefsWithManyRowsAreReadAlone(t *testing.T) {
	for size, want := range map[int][]int{3_125: {16, 4}, 3_126: {15, 1, 4}, 25_000: slices.Repeat([]int{2}, 10), 1 << 40: slices.Repeat([]int{1}, 20)} {
		s := &swept{refs: 20, size: size}
		if done, err := s.run(1, works, nil); err != nil || done.Refs != 20 || !slices.Equal(s.together, want) || !slices.Equal(s.sizes, []int{16, 4}) {
			t.Errorf("%d rows: %+v %v, read together %v, want %v; transactions of %v", size, done, err, s.together, want, s.sizes)
		}
	}
}

// TestFailedSweepResumes checks that refs before a failing one are stored, and that the sweep
// continues with the failing one.
func TestFailedSweepResumes(t *testing.T) {
	for _, bad := range []int64{1, 2, 17, 20, 33, 40} {
		s := &swept{refs: 40}
		done, err := s.run(1, func(project int64) bool { return project == bad }, nil)
		want := fmt.Sprintf("match refs/heads/main of project %d: %v", bad, errSweep)
		if !errors.Is(err, errSweep) || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
		if n := int(bad - 1); done.Refs != n || done.Changed != n || len(s.followed) != n || s.progress.Version != 0 || s.progress.After.ProjectID != bad-1 || s.lease != 0 {
			t.Errorf("project %d fails: %+v, kept %+v for %v, followed %v", bad, done, s.progress, s.lease, s.followed)
		}
		if _, err := s.run(1, works, nil); err != nil || len(s.followed) != 40 || !slices.IsSorted(s.followed) || s.audited != 40 {
			t.Errorf("project %d is mended: %v, followed %v", bad, err, s.followed)
		}
	}
}

// TestSweepAfterFailedCommit checks that refs of a failed commit are matched again and not
// reported.
func TestSweepAfterFailedCommit(t *testing.T) {
	s := &swept{refs: 40}
	commits := 0
	done, err := s.run(1, works, func() error {
		if commits++; commits > 1 {
			return errSweep
		}
		return nil
	})
	if !errors.Is(err, errSweep) || done.Refs != 16 || done.Changed != 16 || s.progress.After.ProjectID != 16 {
		t.Errorf("%+v %v, kept %+v", done, err, s.progress)
	}
	if done, err := s.run(1, works, nil); err != nil || done.Refs != 24 || len(s.followed) != 40 {
		t.Errorf("again: %+v %v, followed %v", done, err, s.followed)
	}
}
