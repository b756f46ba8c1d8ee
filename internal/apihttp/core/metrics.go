package core

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// metrics are the server's metrics, in a separate registry. Routes are labeled with their pattern
// and never with a path, so clients cannot create new series.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	sent     *prometheus.CounterVec
	inFlight prometheus.Gauge
}

func newMetrics(st *store.Store, x *index.Index, version string) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redoubt_http_requests_total", Help: "Completed requests, by method, route and status.",
		}, []string{"method", "route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "redoubt_http_request_duration_seconds", Help: "Time from a request to the end of its response.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 3, 11),
		}, []string{"method", "route"}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redoubt_http_response_bytes_total", Help: "Bytes of responses as sent, without headers.",
		}, []string{"route"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "redoubt_http_requests_in_flight", Help: "Requests in progress.",
		}),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "redoubt_build_info", Help: "Always 1, labeled with the version.",
		ConstLabels: prometheus.Labels{"version": version},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.duration, m.sent, m.inFlight, build, indexCollector{x}, storeCollector{st},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) observe(method, route string, status int, took time.Duration, bytes int64) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.duration.WithLabelValues(method, route).Observe(took.Seconds())
	m.sent.WithLabelValues(route).Add(float64(bytes))
}

// storeCollector checks the health of the database when metrics are collected.
type storeCollector struct{ store *store.Store }

var storeUp = prometheus.NewDesc("redoubt_store_up", "1 if the database accepts the operation, else 0. "+
	"Labels: the operation (reads, writes) and the reason of the outage.", []string{"does", "outage"}, nil)

// Describe implements prometheus.Collector.
func (storeCollector) Describe(ch chan<- *prometheus.Desc) { ch <- storeUp }

// Collect implements prometheus.Collector.
func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), probe)
	defer cancel()
	reads, writes := c.store.Health(ctx)
	for does, err := range map[string]error{"reads": reads, "writes": writes} {
		up, outage := 1.0, ""
		if err != nil {
			up, outage = 0, string(model.OutageOf(err))
		}
		ch <- prometheus.MustNewConstMetric(storeUp, prometheus.GaugeValue, up, does, outage)
	}
}

// indexCollector reads the statistics of the index when metrics are collected.
type indexCollector struct{ index *index.Index }

var (
	indexDeployments = prometheus.NewDesc("redoubt_index_deployments", "Deployments in the index.", nil, nil)
	indexFindings    = prometheus.NewDesc("redoubt_index_findings", "Findings in the index.", nil, nil)
	indexBytes       = prometheus.NewDesc("redoubt_index_bytes", "Memory of the index, including bodies.", nil, nil)
	indexBodyBytes   = prometheus.NewDesc("redoubt_index_body_bytes", "Memory of finding bodies.", nil, nil)
	indexLoads       = prometheus.NewDesc("redoubt_index_loads_total", "Loads of deployments from the store.", nil, nil)
)

// Describe implements prometheus.Collector.
func (indexCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{indexDeployments, indexFindings, indexBytes, indexBodyBytes, indexLoads} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c indexCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.index.Stats()
	gauge := func(d *prometheus.Desc, v float64) { ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	gauge(indexDeployments, float64(s.Deployments))
	gauge(indexFindings, float64(s.Findings))
	gauge(indexBytes, float64(s.Bytes))
	gauge(indexBodyBytes, float64(s.BodyBytes))
	ch <- prometheus.MustNewConstMetric(indexLoads, prometheus.CounterValue, float64(s.Loads))
}
