package main

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/server"
	"github.com/redoubt/redoubt/internal/store"
)

// scanLease is how long a scan waits for a process that died while it applied
// it: not long, for a build waits with it. So do the messages of a deployment.
const scanLease = 15 * time.Second

// deliverLease is how long a receiver waits for a process that died while it delivered to it:
// longer than an attempt may take.
const deliverLease = 30 * time.Second

// Attempts of work that is to be done whatever happens, over days.
const always = 1000

// kinds are all that this server's queue does. Of those that wait for others many work at
// once, few of one receiver or host: who is slow delays nobody else.
func (s *service) kinds(a *app) map[string]queue.Kind {
	host := queue.Kind{Most: 64, OfOne: 16, OfKey: 2}
	of := func(k queue.Kind, work queue.Work) queue.Kind {
		k.Work = work
		return k
	}
	tickets := of(host, s.keeper.CreateTicket)
	tickets.Attempts, tickets.Abandoned = hosts.TicketAttempts, s.keeper.TicketAbandoned
	kinds := map[string]queue.Kind{
		agent.ScanJob:     {Work: s.scanner.Apply, Attempts: agent.Attempts, Lease: scanLease, Abandoned: s.scanner.Abandoned, Late: true},
		server.SBOMJob:    {Work: s.exportSBOM(a)},
		store.NotifyJob:   {Work: s.notifier.Match, Most: 4, OfOne: 1, Ordered: true, Lease: scanLease, Attempts: notify.MatchAttempts},
		store.DeliverJob:  {Work: s.notifier.Deliver, Most: 128, OfOne: 32, OfKey: 4, Lease: deliverLease, Attempts: always},
		store.HearJob:     of(host, s.keeper.Hear),
		store.TellJob:     of(host, s.keeper.Tell),
		store.TicketJob:   tickets,
		store.FollowJob:   {Work: s.keeper.Follow, Most: 32, OfOne: 8, OfKey: 4, Attempts: always},
		store.ScheduleJob: {Work: s.scheduleRuns, Most: 4, Attempts: always},
		store.MatchJob:    {Work: s.matchAdvisories, Most: 1, Attempts: always},
	}
	if s.config.AdvisoriesEvery > 0 {
		kinds[s.advisoriesJob()] = queue.Kind{Work: s.loadAdvisories(a), Most: 1, Attempts: always}
	}
	if s.runners != nil {
		kinds[store.RunJob] = queue.Kind{Work: s.runners.work, May: s.runners.may, Most: s.config.RunnerParallel, OfOne: 1, Attempts: always}
	}
	return kinds
}

// ensureJobs queues what comes round by itself and has no job, as in a database of an earlier
// version or after a fault.
func (s *service) ensureJobs(ctx context.Context, d redoubt.Deployment) error {
	by := redoubt.Actor{Kind: "system", Name: "managed scans"}
	err := s.store.Update(ctx, d.ID, by, func(ctx context.Context, tx *store.Tx) error { return tx.EnsureScheduled(ctx) })
	return errors.Join(err, s.keeper.EnsureFollowed(ctx, d.ID))
}

// ensureServerJobs is ensureJobs of what belongs to no deployment.
func (s *service) ensureServerJobs(ctx context.Context) error {
	behind, err := s.matchingPending(ctx)
	if err == nil && behind {
		err = s.store.QueueMatching(ctx)
	}
	if s.config.AdvisoriesEvery > 0 {
		err = errors.Join(err, s.store.EnsureServerJob(ctx, redoubt.Job{Kind: s.advisoriesJob(), Subject: "load"}))
	}
	return err
}
