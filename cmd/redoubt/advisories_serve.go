package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/store"
)

// followEvery is how often a server looks whether advisories changed: the
// command line, or another server, may have loaded some.
const followEvery = time.Second

// followedFor is how many looks may pass before deployments are asked again how far they
// have come, whatever the versions are: a restored database has the same advisories
// where it was saved after they were published, and deployments that had not followed.
const followedFor = 30

// followAdvisories has findings follow the advisories until the context ends.
// It asks for two numbers and does nothing while they stay the same.
func (s *service) followAdvisories(ctx context.Context) {
	if _, err := advisory.FillCards(ctx, s.store); err != nil && ctx.Err() == nil { // those that an earlier version did not make
		s.logFailure(ctx, redoubt.Deployment{}, "making the cards of the advisories", err)
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	wait := 0
	for {
		if wait--; wait < 0 {
			switch behind, err := s.matchingPending(ctx); {
			case ctx.Err() != nil:
				return
			case err != nil:
				s.logFailure(ctx, redoubt.Deployment{}, "asking for the version of the advisories", err)
				wait = 60
			case behind:
				wait = s.matchAll(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// matchAll has all deployments follow, and returns how many ticks to wait then.
func (s *service) matchAll(ctx context.Context) int {
	busy := false
	err := matchDeployments(ctx, s.store, s.advisories, nil, func(d redoubt.Deployment, swept advisory.SweepResult) {
		if busy = busy || swept.Busy; swept.Refs > 0 {
			s.log.Info("findings follow the advisories", "deployment", d.Slug, "refs", swept.Refs, "findings", swept.Changed)
		}
	})
	if err != nil && ctx.Err() == nil {
		s.log.Error("findings could not follow the advisories; it is tried again within a minute", "error", err)
		return 60
	}
	if busy {
		return 5
	}
	return 0
}

// matchingPending reports whether a deployment has not followed to the end.
func (s *service) matchingPending(ctx context.Context) (bool, error) {
	version, scores, err := s.store.AdvisoryVersions(ctx)
	if err != nil || version == 0 && scores == 0 {
		return false, err
	}
	if s.believed++; s.followed == [2]int64{version, scores} && s.believed < followedFor {
		return false, nil
	}
	s.believed = 0
	all, err := s.store.Deployments(ctx)
	if err != nil {
		return false, err
	}
	done, err := s.store.AdvisoryMatches(ctx)
	for _, d := range all {
		if p := done[d.ID]; p.Version < version || p.Target != p.Version || p.Scores != scores {
			return true, err
		}
	}
	s.followed = [2]int64{version, scores}
	return false, err
}

const (
	// claimEvery is how often a server looks whether it is to load the advisories, where it
	// is not to do so more often.
	claimEvery = time.Minute
	// claimFor is how long a server that is killed while it loads keeps the others from it,
	// and how long one that failed waits.
	claimFor = 15 * time.Minute
)

// claimOf names the work of loading sources: other sources are other work. The database
// stores the name, so no credentials are part of it.
func claimOf(from []string) string {
	sum := sha256.New()
	for _, location := range from {
		fmt.Fprintln(sum, redoubt.AdvisorySource{Location: location}.Shown())
	}
	return fmt.Sprintf("advisories %x", sum.Sum(nil))
}

// updateAdvisories loads what the publishers give out, now and then again, on one of the servers that are told to. What
// fails is tried again the next time; the old advisories stay.
func (s *service) updateAdvisories(ctx context.Context, a *app) {
	from := defaultSources(s.config.AdvisoriesArchives, s.config.AdvisoriesEcosystems, s.config.AdvisoriesScores)
	name := claimOf(from)
	tick := time.NewTicker(min(s.config.AdvisoriesEvery, claimEvery))
	defer tick.Stop()
	for {
		hold := min(s.config.AdvisoriesEvery, claimFor)
		due, err := s.store.ClaimRun(ctx, name, hold)
		if due {
			u := updater{app: a, store: s.store, cache: cacheFolder(s.storage), bar: &steps{}, by: advisoriesActor}
			err = u.all(ctx, from, func(source redoubt.AdvisorySource, done advisory.LoadResult, unchanged bool) {
				s.log.Info("advisories loaded", "source", source.Shown(), "unchanged", unchanged, "records", done.Records, "changed", done.Changed, "refused", done.Refused)
			})
			again := s.config.AdvisoriesEvery
			switch {
			case ctx.Err() != nil: // the next start, or another server, begins at once
				again = 0
			case err != nil:
				again = hold
			}
			err = errors.Join(err, s.store.EndRun(context.WithoutCancel(ctx), name, again))
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("not all advisories could be loaded; it is tried again", "in", hold, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// advisoryCollector tells how old the advisories are when it is asked.
type advisoryCollector struct {
	store *store.Store
	clock func() time.Time
}

var (
	advisoryAge     = prometheus.NewDesc("redoubt_advisories_age_seconds", "Time since a source was last found to be up to date.", []string{"kind", "source"}, nil)
	advisoryRecords = prometheus.NewDesc("redoubt_advisories_records", "Records of a source when it was last loaded.", []string{"kind", "source"}, nil)
	metricsFailed   = prometheus.NewDesc("redoubt_metrics_failed", "1 while a group of metrics cannot be told, because the database does not answer.", []string{"group"}, nil)
	advisoryVersion = prometheus.NewDesc("redoubt_advisories_version", "Version of the advisories; it grows with each change.", nil, nil)
)

// Describe names the series.
func (advisoryCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{advisoryAge, advisoryRecords, advisoryVersion, metricsFailed} {
		ch <- d
	}
}

// metricsWait is how long a reading of metrics waits for the database.
const metricsWait = 2 * time.Second

// Collect reads the series, and says so where it cannot.
func (c advisoryCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), metricsWait)
	defer cancel()
	failed := 0.0
	version, _, err := c.store.AdvisoryVersions(ctx)
	if err == nil {
		ch <- prometheus.MustNewConstMetric(advisoryVersion, prometheus.GaugeValue, float64(version))
		err = c.collectSources(ctx, ch)
	}
	if err != nil {
		failed = 1
	}
	ch <- prometheus.MustNewConstMetric(metricsFailed, prometheus.GaugeValue, failed, "advisories")
}

func (c advisoryCollector) collectSources(ctx context.Context, ch chan<- prometheus.Metric) error {
	sources, err := c.store.AdvisorySources(ctx)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if at := later(s.CheckedAt, s.LoadedAt); !at.IsZero() {
			ch <- prometheus.MustNewConstMetric(advisoryAge, prometheus.GaugeValue, c.clock().Sub(at).Seconds(), s.Kind, s.Shown())
			ch <- prometheus.MustNewConstMetric(advisoryRecords, prometheus.GaugeValue, float64(s.Records), s.Kind, s.Shown())
		}
	}
	return nil
}
