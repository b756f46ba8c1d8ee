package main

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/store"
)

// indexSource is what the index is read from: the replica where there is one.
func (s *service) indexSource() (index.Source, error) {
	if s.config.DatabaseReplica == "" {
		return s.store, nil
	}
	if s.storage.DatabaseURL == "" {
		return nil, errors.New("--database-replica goes with --database-url: a SQLite file has no replica")
	}
	var err error
	if s.replica, err = store.NewReplica(s.store, string(s.config.DatabaseReplica), s.storage.DatabaseTimeout, s.log); err != nil {
		return nil, fmt.Errorf("--database-replica: %w", err)
	}
	return s.replica, nil
}

// closeReplica lets go of the replica, if there is one.
func (s *service) closeReplica() {
	if s.replica != nil {
		_ = s.replica.Close() // it was only read
	}
}

// replicaCollector tells how much the replica is of use; without one, nothing.
type replicaCollector struct{ replica *store.Replica }

var indexFeeds = prometheus.NewDesc("redoubt_index_feeds_total", "Times the index was read from a database, by which of the two: the replica, or the primary in its place.", []string{"from"}, nil)

// Describe names the series.
func (replicaCollector) Describe(ch chan<- *prometheus.Desc) { ch <- indexFeeds }

// Collect reads the series.
func (c replicaCollector) Collect(ch chan<- prometheus.Metric) {
	if c.replica == nil {
		return
	}
	replica, primary := c.replica.Fed()
	ch <- prometheus.MustNewConstMetric(indexFeeds, prometheus.CounterValue, float64(replica), "replica")
	ch <- prometheus.MustNewConstMetric(indexFeeds, prometheus.CounterValue, float64(primary), "primary")
}
