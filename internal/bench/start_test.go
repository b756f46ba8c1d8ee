package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/index"
)

// BenchmarkStart measures the start of a server by size. Loading the index from its checkpoint is
// relative to reading the file, and to building the index. The build is relative to reading
// findings and lineages with the same driver. On PostgreSQL, ratios of the build are not measured.
func BenchmarkStart(b *testing.B) {
	for i, n := range requestedSizes(b) {
		if i > 0 && testing.Short() {
			return
		}
		for _, engine := range []string{"sqlite", "postgres"} {
			b.Run(fmt.Sprintf("%d findings/%s", n, engine), func(b *testing.B) {
				w := newWorldOn(b, engine)
				w.fill(n)
				b.Run("build", func(b *testing.B) { benchBuild(b, w) })
				b.Run("checkpoint", func(b *testing.B) { benchCheckpoint(b, w) })
				b.Run("follow", func(b *testing.B) { benchFollow(b, w) })
			})
		}
	}
}

// benchBuild builds an index without a checkpoint.
func benchBuild(b *testing.B, w *world) {
	var x *index.Index
	build := timed(func() {
		x = w.newIndex()
		_, err := x.Deployment(b.Context(), w.deployment.ID)
		w.check(err)
	})
	var limits []limit
	if w.store.Engine() == "sqlite" {
		r := w.raw()
		limits = append(limits, limit{unit: perLimit, run: timed(func() {
			r.step(`SELECT * FROM finding WHERE deployment_id = ? ORDER BY id`, w.deployment.ID)
			r.step(`SELECT * FROM lineage WHERE deployment_id = ? ORDER BY id`, w.deployment.ID)
		})})
	}
	took := compare(b, build, limits...)
	b.ReportMetric(rate(x.Stats().Findings, took), perSecond)
}

// benchCheckpoint loads an index from a checkpoint.
func benchCheckpoint(b *testing.B, w *world) {
	checkpoints := index.Checkpoints{Dir: filepath.Join(b.TempDir(), "index"), Registry: w.store}
	start := func(c index.Checkpoints) *index.Index {
		x := index.New(w.store, index.Options{BodyCache: 4 << 30, Checkpoints: c, Clock: time.Now})
		_, err := x.Deployment(b.Context(), w.deployment.ID)
		w.check(err)
		return x
	}
	first := start(checkpoints)
	first.Save(b.Context())
	file := filepath.Join(checkpoints.Dir, fmt.Sprint(w.deployment.ID, ".checkpoint"))
	info, err := os.Stat(file)
	w.check(err)
	compare(b, timed(func() {
		if x := start(checkpoints); x.Stats().Loads > 0 {
			w.check(errors.New("the checkpoint was not read"))
		}
	}), limit{unit: perLimit, run: timed(func() {
		f, err := os.Open(file)
		w.check(err)
		_, err = io.CopyBuffer(io.Discard, struct{ io.Reader }{f}, make([]byte, 1<<20))
		w.check(errors.Join(err, f.Close()))
	})}, limit{unit: ofBuild, run: timed(func() { start(index.Checkpoints{}) })})
	b.ReportMetric(float64(info.Size())/float64(first.Stats().Findings), perFinding)
}

// benchFollow imports 30,000 findings in three uploads and reads a page afterwards. The baseline is
// reading the page again. The response to an upload waits for the index; x-import is the time
// relative to uploads without a running index.
func benchFollow(b *testing.B, w *world) {
	page := w.request("GET", w.target(nil, false, 100), nil)
	w.client.body(page)
	n := 0
	upload := func() time.Duration {
		n++
		report := w.upload(fmt.Sprintf("acme/follow-%d", n), "main", "semgrep.json", semgrep(w.made.results(10_000)))
		return timed(func() { w.importUpload(report) })()
	}
	var first, next, followed []time.Duration
	var ratios, imports []float64
	for b.Loop() {
		var bare, withFollower time.Duration
		for range 3 {
			bare += upload()
		}
		w.client.body(page)
		stop := w.runIndex()
		for range 3 {
			withFollower += upload()
		}
		one, other := w.client.took(page)(), w.client.took(page)()
		stop()
		first, next, followed = append(first, one), append(next, other), append(followed, withFollower)
		ratios, imports = append(ratios, float64(one)/float64(other)), append(imports, float64(withFollower)/float64(bare))
	}
	b.ReportMetric(float64(median(first)), "ns/op")
	b.ReportMetric(float64(median(next).Microseconds()), "next-µs")
	b.ReportMetric(median(ratios), perLimit)
	b.ReportMetric(median(imports), ofImport)
	b.ReportMetric(rate(30_000, median(followed)), perSecond)
}

// requestedSizes returns the sizes of the deployments to measure.
func requestedSizes(b *testing.B) (out []int) {
	b.Helper()
	for text := range strings.SplitSeq(*scales, ",") {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatalf("-findings %s: %v", *scales, err)
		}
		out = append(out, n)
	}
	return out
}
