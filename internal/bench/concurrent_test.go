package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// aloneImports is the number of small imports measured without load.
const aloneImports = 15

// BenchmarkConcurrentImports measures small imports during two concurrent uploads of a hundred megabytes. It
// reports the median and maximum time of small imports, relative to imports without load. It also
// reports their maximum relative to the duration of the large uploads.
func BenchmarkConcurrentImports(b *testing.B) {
	size := heavy
	if testing.Short() {
		size = heavyShort
	}
	for _, engine := range storetest.Engines {
		b.Run(engine, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "heavy.json")
			if err := writeHeavy(file, size, heavySemgrep); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				measureConcurrentImports(b, newWorldOn(b, engine), file)
			}
		})
	}
}

func measureConcurrentImports(b *testing.B, w *world, file string) {
	in := newIntake(w)
	in.setResults(w.made.results(2))
	var alone, among []time.Duration
	small := func() time.Duration { return in.send("acme/small", in.commit()) }
	for range aloneImports {
		alone = append(alone, small())
	}
	var large sync.WaitGroup
	done := make(chan struct{})
	began := time.Now()
	for i := range 2 {
		large.Go(func() {
			if err := w.post(fmt.Sprint("acme/large-", i), file); err != nil {
				b.Error(err)
			}
		})
	}
	go func() { large.Wait(); close(done) }()
	for over := false; !over; {
		among = append(among, small())
		select {
		case <-done:
			over = true
		default:
		}
	}
	took, usual, longest := time.Since(began), median(alone), slices.Max(among)
	b.ReportMetric(float64(median(among))/float64(usual), "x-alone")
	b.ReportMetric(float64(longest)/float64(usual), "x-alone-longest")
	b.ReportMetric(float64(longest)/float64(took), "x-large")
	b.ReportMetric(float64(len(among)), "imports")
}

// post uploads a file on a separate connection.
func (w *world) post(project, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	q := url.Values{"project": {project}, "ref": {"main"}, "filename": {filepath.Base(file)}}
	req, err := http.NewRequestWithContext(w.tb.Context(), http.MethodPost, "http://"+w.address+w.byID()+"/imports?"+q.Encode(), f)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/octet-stream")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %d %.300s: %w", project, res.StatusCode, text, err)
	}
	return nil
}
