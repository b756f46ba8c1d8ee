package main

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	// housekeepingEvery is the interval of housekeeping.
	housekeepingEvery = time.Hour
	// feedKept is the number of versions of the change feed retained for lagging servers. A server
	// that lags further reloads everything.
	feedKept = 10_000
)

// housekeeping expires refs, decisions, exceptions and stored responses, and prunes feeds, until
// the context is canceled. Several servers may run it at once: each deployment is one transaction.
func (s *service) housekeeping(ctx context.Context, clock func() time.Time) {
	ctx = store.Long(ctx)                                           // requests have priority
	if _, err := advisory.FillSummaries(ctx, s.store); err != nil { // missing in databases of earlier versions
		s.logFailure(ctx, model.Deployment{}, "building advisory summaries", err)
	}
	tick := time.NewTicker(housekeepingEvery)
	defer tick.Stop()
	for {
		s.cleanDeployments(ctx, clock())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// cleanDeployments processes each deployment once. Failures are retried in the next round.
func (s *service) cleanDeployments(ctx context.Context, now time.Time) {
	all, err := s.store.Deployments(ctx)
	if err != nil {
		s.logFailure(ctx, model.Deployment{}, "listing deployments", err)
		return
	}
	s.logFailure(ctx, model.Deployment{}, "scheduling periodic jobs", s.ensureServerJobs(ctx))
	s.logFailure(ctx, model.Deployment{}, "expiring sessions", s.store.ExpireSessions(ctx, s.sessions.IdleSince()))
	for _, d := range all {
		if s.config.RefRetention > 0 {
			s.logFailure(ctx, d, "expiring refs", s.expireRefs(ctx, d, now))
		}
		version, err := s.store.Version(ctx, d.ID)
		if err == nil && model.Commits(version) > feedKept {
			err = s.store.PruneChanges(ctx, d.ID, feedKept)
		}
		s.logFailure(ctx, d, "pruning the change feed", err)
		s.logFailure(ctx, d, "scheduling periodic jobs", s.ensureJobs(ctx, d))
		s.logFailure(ctx, d, "ending expired triage decisions", s.endDecisions(ctx, d))
		s.logFailure(ctx, d, "creating time-based notifications", s.notifier.Sweep(ctx, d.ID))
		s.logFailure(ctx, d, "applying exceptions", s.followExceptions(ctx, d))
		_, err = s.store.DropStaleSnippets(ctx, d.ID, model.Actor{Kind: "system", Name: "code"})
		s.logFailure(ctx, d, "deleting code of removed findings", err)
		_, err = s.store.DropExpiredAnswers(ctx, d.ID, now)
		s.logFailure(ctx, d, "deleting expired idempotent responses", err)
		_, err = s.store.DropRequestedJobs(ctx, d.ID, dependencies.SBOMJob)
		s.logFailure(ctx, d, "deleting expired exports", err)
		s.logFailure(ctx, d, "deleting expired OAuth grants", s.store.DropLapsedOAuthGrants(ctx, d.ID, now))
	}
}

func (s *service) expireRefs(ctx context.Context, d model.Deployment, now time.Time) error {
	by := model.Actor{Kind: "system", Name: "ref retention"}
	return s.store.Update(ctx, d.ID, by, func(ctx context.Context, tx *store.Tx) error {
		n, err := tx.ExpireRefs(ctx, now.Add(-s.config.RefRetention))
		if n > 0 {
			s.log.Info("refs without recent scans expired", "deployment", d.Slug, "refs", n, "after", s.config.RefRetention)
		}
		return err
	})
}

// endDecisions reopens findings whose decisions have expired. It locks the deployment only if there
// are any.
func (s *service) endDecisions(ctx context.Context, d model.Deployment) error {
	over := 0
	err := s.store.View(ctx, d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		over, err = tx.CountExpiredDecisions(ctx)
		return err
	})
	if err != nil || over == 0 {
		return err
	}
	by := model.Actor{Kind: "system", Name: "end of a decision"}
	return s.store.Update(ctx, d.ID, by, func(ctx context.Context, tx *store.Tx) error {
		ended, err := tx.ExpireDecisions(ctx)
		s.log.Info("findings with expired triage decisions reopened", "deployment", d.Slug, "findings", len(ended))
		return err
	})
}

// followExceptions updates findings after changes of exceptions and VEX documents without an
// upload, such as expirations, renamed projects and other aliases. It locks the deployment only to
// write changes.
func (s *service) followExceptions(ctx context.Context, d model.Deployment) error {
	var due exceptions.Due
	err := s.store.View(ctx, d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		due, err = exceptions.FindDue(ctx, tx)
		return err
	})
	if err != nil || !due.Moved {
		return err
	}
	by := model.Actor{Kind: "system", Name: "exceptions"}
	return s.store.Update(ctx, d.ID, by, func(ctx context.Context, tx *store.Tx) error {
		n, err := exceptions.ApplyDue(ctx, tx, due)
		if n > 0 {
			s.log.Info("exceptions and VEX documents applied to findings", "deployment", d.Slug, "findings", n)
		}
		return err
	})
}

// logFailure logs a failure, unless the server is shutting down.
func (s *service) logFailure(ctx context.Context, d model.Deployment, task string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.Error("housekeeping failed; retrying within the hour", "task", task,
			"deployment", d.Slug, "error", err)
	}
}

// sessionUseEvery is the interval at which the last use of sessions is written, with one statement
// for many requests.
const sessionUseEvery = 30 * time.Second

// recordSessionUse writes the last use of sessions until the context is canceled.
func (s *service) recordSessionUse(ctx context.Context) {
	tick := time.NewTicker(sessionUseEvery)
	defer tick.Stop()
	for {
		stopped := false
		select {
		case <-ctx.Done():
			stopped = true
		case <-tick.C:
		}
		if err := s.sessions.Flush(context.WithoutCancel(ctx)); err != nil {
			s.log.Warn("cannot store the last use of sessions", "error", err)
		}
		if stopped {
			return
		}
	}
}
