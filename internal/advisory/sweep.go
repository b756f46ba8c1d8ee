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

// SweepStore provides the server-wide storage of a Sweep.
type SweepStore interface {
	// AdvisoryVersions returns the versions of the advisories and of the scores.
	AdvisoryVersions(ctx context.Context) (version, scores int64, err error)
	// ClaimAdvisoryMatch leases a deployment to one worker. It reports false if another worker has
	// the lease.
	ClaimAdvisoryMatch(ctx context.Context, deploymentID int64, lease time.Duration) (model.AdvisoryProgress, bool, error)
}

// SweepTx provides the storage of a Sweep in one transaction of one deployment.
type SweepTx interface {
	Store
	// TouchedPackages returns the packages that changed in the versions from after (exclusive) to
	// through.
	TouchedPackages(ctx context.Context, after, through int64) ([]string, error)
	// EachPackage calls take with each package of the deployment's dictionary.
	EachPackage(ctx context.Context, take func(id int64, ecosystem, name string)) error
	// HoldingRefs returns, in order, the refs whose lockfiles in force contain one of the packages.
	// All refs with lockfiles are returned if packages is nil.
	HoldingRefs(ctx context.Context, packages []int64) ([]model.ProjectRef, error)
	// SaveAdvisoryMatch stores the progress of the deployment and extends the lease. A lease of 0
	// releases it.
	SaveAdvisoryMatch(ctx context.Context, p model.AdvisoryProgress, lease time.Duration) error
	// AuditFollowed adds an audit event for the findings of a ref that a version changed.
	AuditFollowed(at model.ProjectRef, version int64, findings int)
	// RefSizes returns an upper bound on the rows of findings and dependencies of each ref. The
	// number some limits the counted findings.
	RefSizes(ctx context.Context, refs []model.ProjectRef, some int) ([]int, error)
	// RefreshScores updates the EPSS scores of findings on the refs, or on all refs if nil.
	RefreshScores(ctx context.Context, refs []model.ProjectRef) error
}

// Sweep updates the findings of deployments after advisories changed. It matches the changed
// packages on every ref that contains them, several refs in a transaction. The same transaction
// stores the progress, so that an interrupted sweep continues after the last completed ref.
type Sweep[T SweepTx] struct {
	Store   SweepStore
	Library *Library
	// Update runs fn in a transaction of the deployment.
	Update func(ctx context.Context, deploymentID int64, fn func(context.Context, T) error) error
	// Follow updates findings from matches and returns one result for each ref. It must complete
	// the first ref. It may postpone refs after a changed ref of the same project, and refs after
	// the one that reached most changed findings.
	Follow func(ctx context.Context, tx T, advised []model.Advised, most int) ([]model.Followed, error)
	// Progress is called after each round of completed refs. It may be nil.
	Progress func(done, of int)
}

// sweepLease is the time after which an inactive worker loses a deployment.
const sweepLease = time.Minute

// SweepResult is the result of a sweep.
type SweepResult struct {
	Busy    bool // another worker has the lease
	Refs    int  // number of matched refs
	Changed int  // number of changed findings
}

// Deployment updates one deployment until it has reached the current version of the advisories.
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

// run updates the deployment to the target version.
func (s *Sweep[T]) run(
	ctx context.Context, id int64, p *model.AdvisoryProgress, scores int64, done *SweepResult,
) error {
	if p.Target > p.Version {
		scope, refs, err := s.plan(ctx, id, *p)
		if err != nil {
			return fmt.Errorf("find the findings of the advisories: %w", err)
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

// all matches the refs, several in a transaction. The number of changes in a transaction determines
// the number of refs in the next one. After an error the refs are matched one by one, to store the
// refs before the failing one.
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

// some matches the first refs in one transaction, reading at most together refs at a time. It
// returns the numbers of matched refs and of changed findings. After an error nothing is stored.
// Then n is the index of the failed ref, or of the first one that was read with it.
func (s *Sweep[T]) some(
	ctx context.Context, id int64, p *model.AdvisoryProgress, refs []model.ProjectRef, scope *Scope, together int,
) (n, changed int, err error) {
	next, matched := *p, false
	err = s.Update(ctx, id, func(ctx context.Context, tx T) error {
		t, err := newBatch(ctx, tx, refs)
		for indexes := t.next(together); err == nil && len(indexes) > 0; indexes = t.next(together) {
			err = s.round(ctx, tx, t, indexes, scope, p.Target)
		}
		if n, changed = t.through(), t.changed; err != nil {
			return err
		}
		next.After, matched = refs[n-1], true
		return tx.SaveAdvisoryMatch(ctx, next, sweepLease)
	})
	if err == nil {
		*p = next
	} else if matched { // the commit failed
		n--
	}
	return n, changed, err
}

// plan returns the packages that changed since the last followed version, and the remaining refs
// that contain them. For a deployment without a version, the scope is nil and all refs with
// lockfiles are returned.
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
