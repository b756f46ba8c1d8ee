package main

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/embedded"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
)

// scanLease is the lease of jobs that builds or notifications wait for: it limits their delay
// after a process died.
const scanLease = 15 * time.Second

// deliverLease is the lease of deliveries, longer than the timeout of an attempt.
const deliverLease = 30 * time.Second

// manyAttempts is the maximum for jobs that are retried for days.
const manyAttempts = 1000

// kinds returns the job kinds of this server with their limits. Kinds that call receivers or hosts
// have high limits, with a low limit per host: a slow host delays no other.
func (s *service) kinds(a *command.App) map[string]queue.Kind {
	host := queue.Kind{MaxRunning: 64, MaxPerDeployment: 16, MaxPerKey: 2}
	of := func(k queue.Kind, work queue.Work) queue.Kind {
		k.Work = work
		return k
	}
	tickets := of(host, queue.Do(s.codeHosts.CreateTicket))
	tickets.Attempts, tickets.Abandoned = hosts.TicketAttempts, s.codeHosts.TicketAbandoned
	kinds := map[string]queue.Kind{
		agent.ScanJob: {
			Work: queue.Do(s.scanner.Apply), Abandoned: s.scanner.Abandoned,
			Attempts: agent.Attempts, Lease: scanLease, DuringShutdown: true,
		},
		dependencies.SBOMJob: {Work: exportSBOM(a, s.store)},
		store.NotifyJob: {
			Work: queue.Do(s.notifier.Match), MaxRunning: 4, MaxPerDeployment: 1, Ordered: true,
			Lease: scanLease, Attempts: notify.MatchAttempts,
		},
		store.DeliverJob: {
			Work: queue.Do(s.notifier.Deliver), MaxRunning: 128, MaxPerDeployment: 32, MaxPerKey: 4,
			Lease: deliverLease, Attempts: manyAttempts,
		},
		store.WebhookJob: of(host, queue.Do(s.codeHosts.ProcessWebhook)),
		store.StatusJob:  of(host, queue.Do(s.codeHosts.ReportStatus)),
		store.TicketJob:  tickets,
		store.FollowJob: {
			Work: queue.Do(s.codeHosts.Follow), MaxRunning: 32, MaxPerDeployment: 8, MaxPerKey: 4, Attempts: manyAttempts,
		},
		store.ScheduleJob: {Work: embedded.ScheduleRuns(s.store), MaxRunning: 4, Attempts: manyAttempts},
		store.MatchJob:    {Work: s.updates.MatchAdvisories, MaxRunning: 1, Attempts: manyAttempts},
	}
	if s.config.AdvisoriesEvery > 0 {
		kinds[s.updates.AdvisoriesJob()] = queue.Kind{Work: s.updates.LoadAdvisories(), MaxRunning: 1, Attempts: manyAttempts}
	}
	if s.runners != nil {
		kinds[store.RunJob] = queue.Kind{
			Work: s.runners.Work, Accepts: s.runners.Accepts, Attempts: manyAttempts,
			MaxRunning: s.config.RunnerParallel, MaxPerDeployment: 1,
		}
	}
	return kinds
}

// ensureJobs adds missing periodic jobs of a deployment, for example after an upgrade.
func (s *service) ensureJobs(ctx context.Context, d model.Deployment) error {
	by := model.Actor{Kind: "system", Name: "managed scans"}
	err := s.store.Update(ctx, d.ID, by, func(ctx context.Context, tx *store.Tx) error { return tx.EnsureScheduled(ctx) })
	return errors.Join(err, s.codeHosts.EnsureFollowed(ctx, d.ID))
}

// ensureServerJobs adds missing periodic jobs of the server.
func (s *service) ensureServerJobs(ctx context.Context) error {
	behind, err := s.updates.MatchingPending(ctx)
	if err == nil && behind {
		err = s.store.QueueMatching(ctx)
	}
	if s.config.AdvisoriesEvery > 0 {
		err = errors.Join(err, s.store.EnsureServerJob(ctx, model.Job{Kind: s.updates.AdvisoriesJob(), Subject: "load"}))
	}
	return err
}
