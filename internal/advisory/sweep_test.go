package advisory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/advisory"
)

// swept is a deployment with refs that hold nothing, and what its sweep does.
type swept struct {
	refs     int
	progress redoubt.AdvisoryProgress // as kept
	lease    time.Duration
	followed []int64 // projects, as kept
	sizes    []int   // of the transactions that matched refs, as kept
	audited  int
}

func (s *swept) AdvisoryVersions(context.Context) (version, scores int64, err error) {
	return 1, 1, nil
}

func (s *swept) ClaimAdvisoryMatch(context.Context, int64, time.Duration) (redoubt.AdvisoryProgress, bool, error) {
	return s.progress, true, nil
}

// sweptTx is a transaction; what it asks for beyond its methods is not there.
type sweptTx struct {
	advisory.SweepTx
	of       *swept
	followed []int64
	audited  int
	saved    *redoubt.AdvisoryProgress
	lease    time.Duration
}

func (t *sweptTx) HoldingRefs(context.Context, []int64) (refs []redoubt.ProjectRef, err error) {
	for i := range t.of.refs {
		refs = append(refs, redoubt.ProjectRef{ProjectID: int64(i + 1), Ref: "refs/heads/main"})
	}
	return refs, nil
}

func (t *sweptTx) Holdings(context.Context, int64, string, []int64) ([]redoubt.Holding, error) {
	return nil, nil
}

func (t *sweptTx) Subjects(context.Context, int64, string) ([]redoubt.Subject, error) {
	return nil, nil
}
func (t *sweptTx) AdvisoryVersion(context.Context) (int64, error)           { return 1, nil }
func (t *sweptTx) RefreshScores(context.Context, int64, string) error       { return nil }
func (t *sweptTx) AuditFollowed(_ redoubt.ProjectRef, _ int64, changed int) { t.audited += changed }

func (t *sweptTx) SaveAdvisoryMatch(_ context.Context, p redoubt.AdvisoryProgress, lease time.Duration) error {
	t.saved, t.lease = &p, lease
	return nil
}

var errSweep = errors.New("it does not work")

// run sweeps while some projects fail and each ref makes so many findings change; commit
// may say that nothing is kept. What fails is undone.
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
		Follow: func(_ context.Context, tx *sweptTx, advised redoubt.Advised) (int, error) {
			if fails(advised.ProjectID) {
				return 0, errSweep
			}
			tx.followed = append(tx.followed, advised.ProjectID)
			return changes, nil
		},
	}
	return sweep.Deployment(context.Background(), 1)
}

func works(int64) bool { return false }

// Refs share transactions, which end after some of them and where many findings change.
func TestSweepsTakeSomeRefsInATransaction(t *testing.T) {
	for changes, want := range map[int][]int{0: {16, 16, 8}, 31: {16, 16, 8}, 100: {5, 5, 5, 5, 5, 5, 5, 5}, 999: slices.Repeat([]int{1}, 40)} {
		s := &swept{refs: 40}
		done, err := s.run(changes, works, nil)
		if err != nil || done.Refs != 40 || done.Changed != 40*changes || s.audited != 40*changes {
			t.Errorf("%d changes a ref: %+v %v, %d audited", changes, done, err, s.audited)
		}
		if !slices.Equal(s.sizes, want) || s.progress != (redoubt.AdvisoryProgress{Version: 1, Target: 1, Scores: 1}) || s.lease != 0 {
			t.Errorf("%d changes a ref: transactions of %v, want %v; kept %+v for %v", changes, s.sizes, want, s.progress, s.lease)
		}
	}
}

// A ref that fails keeps nobody before it from following, and the sweep is taken up with it.
func TestASweepThatFailsIsTakenUp(t *testing.T) {
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

// What a commit loses is followed again, and nothing is told of it.
func TestASweepWhoseCommitFails(t *testing.T) {
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
