package updater

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
)

// Jobs are the jobs of a server that load advisories and match findings with them.
type Jobs struct {
	*command.App
	Config  config.Server
	Storage config.Storage
	Store   *store.Store
	Library *advisory.Library
}

// MatchAdvisories is the queue.Work of store.MatchJob: it matches all deployments with the current
// advisories and scores.
func (s *Jobs) MatchAdvisories(ctx context.Context, _ model.Job) (result []byte, media string, err error) {
	busy := false
	err = MatchDeployments(ctx, s.Store, s.Library, nil, func(d model.Deployment, swept advisory.SweepResult) {
		if busy = busy || swept.Busy; swept.Refs > 0 {
			s.Log.Info("findings updated from advisories", "deployment", d.Slug, "refs", swept.Refs, "findings", swept.Changed)
		}
	})
	if err == nil && busy {
		err = queue.WaitError{Wait: 5 * time.Second, Reason: "another process is matching a deployment with the advisories"}
	}
	return nil, "", err
}

// MatchingPending reports whether any deployment is not matched with the current advisories and
// scores.
func (s *Jobs) MatchingPending(ctx context.Context) (bool, error) {
	version, scores, err := s.Store.AdvisoryVersions(ctx)
	if err != nil || version == 0 && scores == 0 {
		return false, err
	}
	all, err := s.Store.Deployments(ctx)
	if err != nil {
		return false, err
	}
	done, err := s.Store.AdvisoryMatches(ctx)
	for _, d := range all {
		if p := done[d.ID]; p.Version < version || p.Target != p.Version || p.Scores != scores {
			return true, err
		}
	}
	return false, err
}

// loadRetryDelay is the delay after a failed load of advisories.
const loadRetryDelay = 15 * time.Minute

// sources returns the advisory sources of this server.
func (s *Jobs) sources() []string {
	return defaultSources(s.Config.AdvisoriesArchives, s.Config.AdvisoriesEcosystems, s.Config.AdvisoriesScores)
}

// AdvisoriesJob returns the kind of the server job that loads advisories. It depends on the sources
// and the interval, and contains no credentials.
func (s *Jobs) AdvisoriesJob() string {
	sum := sha256.New()
	fmt.Fprintln(sum, s.Config.AdvisoriesEvery)
	for _, location := range s.sources() {
		fmt.Fprintln(sum, model.AdvisorySource{Location: location}.Shown())
	}
	return fmt.Sprintf("advisories %x", sum.Sum(nil)[:16])
}

// LoadAdvisories returns the queue.Work that loads advisories and adds the next job. After an error
// the stored advisories remain, and the load is repeated after loadRetryDelay.
func (s *Jobs) LoadAdvisories() queue.Work {
	return func(ctx context.Context, j model.Job) (result []byte, media string, err error) {
		u := Loader{App: s.App, Store: s.Store, cache: cacheFolder(s.Storage), bar: &steps{}, by: advisoriesActor}
		err = u.all(ctx, s.sources(), func(source model.AdvisorySource, done advisory.LoadResult, unchanged bool) {
			s.Log.Info("advisories loaded", "source", source.Shown(), "unchanged", unchanged,
				"records", done.Records, "changed", done.Changed, "refused", done.Refused)
		})
		delay := s.Config.AdvisoriesEvery
		if err != nil && ctx.Err() == nil {
			delay = min(delay, loadRetryDelay)
			s.Log.Error("some advisories could not be loaded; retrying", "in", delay, "error", err)
			err = nil
		}
		if err == nil {
			err = s.Store.EnqueueServer(ctx, model.Job{Kind: j.Kind, Subject: j.Subject, DueAt: s.Clock().Add(delay)})
		}
		return nil, "", err
	}
}

// Collector reports the age of the advisories as Prometheus metrics.
type Collector struct {
	Store *store.Store
	Clock func() time.Time
}

var (
	advisoryAge = prometheus.NewDesc("redoubt_advisories_age_seconds",
		"Time since a source was last found to be up to date.", []string{"kind", "source"}, nil)
	advisoryRecords = prometheus.NewDesc("redoubt_advisories_records", "Records of a source when it was last loaded.",
		[]string{"kind", "source"}, nil)
	metricsFailed = prometheus.NewDesc("redoubt_metrics_failed",
		"1 if a group of metrics is unavailable, because the database does not respond.", []string{"group"}, nil)
	advisoryVersion = prometheus.NewDesc(
		"redoubt_advisories_version", "Version of the advisories; it grows with each change.", nil, nil,
	)
)

// Describe implements prometheus.Collector.
func (Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{advisoryAge, advisoryRecords, advisoryVersion, metricsFailed} {
		ch <- d
	}
}

// metricsWait is the timeout for reading the metrics from the database.
const metricsWait = 2 * time.Second

// Collect implements prometheus.Collector. It sets metricsFailed if the database cannot be read.
func (c Collector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), metricsWait)
	defer cancel()
	failed := 0.0
	version, _, err := c.Store.AdvisoryVersions(ctx)
	if err == nil {
		ch <- prometheus.MustNewConstMetric(advisoryVersion, prometheus.GaugeValue, float64(version))
		err = c.collectSources(ctx, ch)
	}
	if err != nil {
		failed = 1
	}
	ch <- prometheus.MustNewConstMetric(metricsFailed, prometheus.GaugeValue, failed, "advisories")
}

func (c Collector) collectSources(ctx context.Context, ch chan<- prometheus.Metric) error {
	sources, err := c.Store.AdvisorySources(ctx)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if at := later(s.CheckedAt, s.LoadedAt); !at.IsZero() {
			ch <- prometheus.MustNewConstMetric(
				advisoryAge, prometheus.GaugeValue, c.Clock().Sub(at).Seconds(), s.Kind, s.Shown(),
			)
			ch <- prometheus.MustNewConstMetric(advisoryRecords, prometheus.GaugeValue, float64(s.Records), s.Kind, s.Shown())
		}
	}
	return nil
}
