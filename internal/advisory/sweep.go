package advisory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// SweepStore is what following needs of the server.
type SweepStore interface {
	// AdvisoryVersions returns the version of the advisories and of the scores.
	AdvisoryVersions(ctx context.Context) (version, scores int64, err error)
	// ClaimAdvisoryMatch gives a deployment to one worker for a while.
	ClaimAdvisoryMatch(ctx context.Context, deploymentID int64, lease time.Duration) (model.AdvisoryProgress, bool, error)
}

// SweepTx is what following needs of one transaction of one deployment.
type SweepTx interface {
	Store
	// TouchedPackages lists what the versions after one up to another touched.
	TouchedPackages(ctx context.Context, after, through int64) ([]string, error)
	// EachPackage hands over the deployment's dictionary of packages.
	EachPackage(ctx context.Context, take func(id int64, ecosystem, name string)) error
	// HoldingRefs lists the refs with lockfiles in force that hold one of the
	// packages, or all of them where packages is nil, in order.
	HoldingRefs(ctx context.Context, packages []int64) ([]model.ProjectRef, error)
	// SaveAdvisoryMatch notes how far the deployment is, and holds it on.
	SaveAdvisoryMatch(ctx context.Context, p model.AdvisoryProgress, lease time.Duration) error
	// AuditFollowed leaves in the trail that findings of a ref follow a version.
	AuditFollowed(at model.ProjectRef, version int64, findings int)
	// RefSizes tells of each ref how many rows its findings and dependencies are, or
	// more; of findings it counts so many.
	RefSizes(ctx context.Context, refs []model.ProjectRef, some int) ([]int, error)
	// RefreshScores brings the EPSS scores of findings on the refs up to date, or of all
	// where refs is nil.
	RefreshScores(ctx context.Context, refs []model.ProjectRef) error
}

// Sweep has deployments follow the advisories: what changed is matched on every
// ref that holds it, some refs in a transaction, with the progress in it. A sweep
// that broke off is taken up after the last ref that was done.
type Sweep[T SweepTx] struct {
	Store   SweepStore
	Library *Library
	// Update runs fn in a transaction of the deployment.
	Update func(ctx context.Context, deploymentID int64, fn func(context.Context, T) error) error
	// Follow brings findings in line with matches, and tells what became of each. The
	// first is done; others may wait: behind one of their project that changed, and
	// behind the one with which most findings changed.
	Follow func(ctx context.Context, tx T, advised []model.Advised, most int) ([]model.Followed, error)
	// Progress hears of every ref that is done. It may be nil.
	Progress func(done, of int)
}

// sweepLease is how long a deployment stays with a worker that says nothing.
const sweepLease = time.Minute

// SweepResult says what a sweep did.
type SweepResult struct {
	Busy    bool // another worker has the deployment
	Refs    int  // matched
	Changed int  // findings
}

// Deployment has one deployment follow the advisories until it has come up with
// them.
func (s *Sweep[T]) Deployment(ctx context.Context, id int64) (done SweepResult, err error) {
	for {
		version, scores, err := s.Store.AdvisoryVersions(ctx)
		if err != nil {
			return done, err
		}
		p, ok, err := s.Store.ClaimAdvisoryMatch(ctx, id, sweepLease)
		if err != nil || !ok {
			done.Busy = err == nil
			return done, err
		}
		if p.Target == p.Version {
			p.Target, p.After = version, model.ProjectRef{}
		}
		if err := s.run(ctx, id, &p, scores, &done); err != nil {
			release := func(ctx context.Context, tx T) error { return tx.SaveAdvisoryMatch(ctx, p, 0) }
			return done, errors.Join(err, s.Update(context.WithoutCancel(ctx), id, release))
		}
		if p.Version >= version {
			return done, nil
		}
	}
}

// run goes to the target.
func (s *Sweep[T]) run(
	ctx context.Context, id int64, p *model.AdvisoryProgress, scores int64, done *SweepResult,
) error {
	if p.Target > p.Version {
		scope, refs, err := s.plan(ctx, id, *p)
		if err != nil {
			return fmt.Errorf("find what the advisories touch: %w", err)
		}
		if err := s.all(ctx, id, p, refs, scope, done); err != nil {
			return err
		}
	}
	stale := p.Scores != scores
	p.Version, p.After, p.Scores = p.Target, model.ProjectRef{}, scores
	return s.Update(ctx, id, func(ctx context.Context, tx T) error {
		if stale {
			if err := tx.RefreshScores(ctx, nil); err != nil {
				return err
			}
		}
		return tx.SaveAdvisoryMatch(ctx, *p, 0)
	})
}

// all matches the refs, some in a transaction: as many as the one before tells that are to
// be done. Where that fails they are read one by one, to keep those before the one that fails.
func (s *Sweep[T]) all(
	ctx context.Context, id int64, p *model.AdvisoryProgress, refs []model.ProjectRef, scope *Scope, done *SweepResult,
) error {
	fit := sweepRefs
	for left := refs; len(left) > 0; {
		n, changed, err := s.some(ctx, id, p, left[:min(fit, len(left))], scope, fit)
		if err != nil && ctx.Err() == nil {
			n, changed, err = s.some(ctx, id, p, left[:min(fit, len(left))], scope, 1)
		}
		if err != nil && n > 0 && ctx.Err() == nil {
			n, changed, err = s.some(ctx, id, p, left[:n], scope, 1)
		}
		if err != nil {
			return fmt.Errorf("match %s of project %d: %w", left[n].Ref, left[n].ProjectID, err)
		}
		left = left[n:]
		done.Refs += n
		done.Changed += changed
		fit = min(sweepRefs, max(1, n*sweepChanges/max(1, changed)))
		if s.Progress != nil {
			s.Progress(len(refs)-len(left), len(refs))
		}
	}
	return nil
}

// some matches the first of refs in one transaction, so many together at most, and returns
// how many these were and how many findings changed. With an error nothing is kept, and n
// is the place of the ref that failed, or of the first of those that were read with it.
func (s *Sweep[T]) some(
	ctx context.Context, id int64, p *model.AdvisoryProgress, refs []model.ProjectRef, scope *Scope, together int,
) (n, changed int, err error) {
	next, matched := *p, false
	err = s.Update(ctx, id, func(ctx context.Context, tx T) error {
		t, err := newTurn(ctx, tx, refs)
		for places := t.next(together); err == nil && len(places) > 0; places = t.next(together) {
			err = s.round(ctx, tx, t, places, scope, p.Target)
		}
		if n, changed = t.through(), t.changed; err != nil {
			return err
		}
		next.After, matched = refs[n-1], true
		return tx.SaveAdvisoryMatch(ctx, next, sweepLease)
	})
	if err == nil {
		*p = next
	} else if matched { // and not kept
		n--
	}
	return n, changed, err
}

// plan finds the packages that changed since the version that was followed, and
// the refs that hold them and are not done. A deployment that never followed
// takes all.
func (s *Sweep[T]) plan(
	ctx context.Context, id int64, p model.AdvisoryProgress,
) (scope *Scope, refs []model.ProjectRef, err error) {
	err = s.Update(ctx, id, func(ctx context.Context, tx T) error {
		var ids []int64
		if p.Version > 0 {
			touched, err := tx.TouchedPackages(ctx, p.Version, p.Target)
			if err != nil {
				return err
			}
			scope = &Scope{Keys: make(map[string]bool, len(touched)), IDs: []int64{}}
			for _, key := range touched {
				scope.Keys[key] = true
			}
			err = tx.EachPackage(ctx, func(id int64, ecosystem, name string) {
				if scope.Keys[purl.Key(ecosystem, name)] {
					scope.IDs = append(scope.IDs, id)
				}
			})
			if err != nil {
				return err
			}
			ids = scope.IDs
		}
		refs, err = tx.HoldingRefs(ctx, ids)
		refs = slices.DeleteFunc(refs, func(r model.ProjectRef) bool { return r.Compare(p.After) <= 0 })
		return err
	})
	return scope, refs, err
}
