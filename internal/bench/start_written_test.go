package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"
)

// writtenAtOnce is the number of findings in an upload of BenchmarkStartWritten.
const writtenAtOnce = 10_000

// BenchmarkStartWritten measures the time from the start of the process to its first page. The
// previous server stored all findings over HTTP and never read one. The sizes are those of
// -findings or of REDOUBT_TEST_SCALE.
func BenchmarkStartWritten(b *testing.B) {
	useScale(b)
	for i, n := range requestedSizes(b) {
		if i > 0 && testing.Short() {
			return
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b)
			s := &started{w: w, program: filepath.Join(b.TempDir(), "redoubt"), data: w.config.Dir}
			s.build()
			s.serve(func(ctx context.Context) { s.write(ctx, n) })
			var took []time.Duration
			for b.Loop() {
				took = append(took, s.first())
			}
			b.ReportMetric(float64(median(took)), "ns/op")
		})
	}
}

// write uploads findings to the running server, each upload to a separate project.
func (s *started) write(ctx context.Context, findings int) {
	s.w.tb.Helper()
	for done := 0; done < findings; done += writtenAtOnce {
		report := semgrep(s.w.made.results(min(writtenAtOnce, findings-done)))
		target := fmt.Sprintf("http://%s%s/imports?project=acme/written-%d&ref=main&filename=semgrep.json", s.address, s.w.byID(), done)
		for answered := false; !answered; {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(report))
			s.w.check(err)
			req.Header.Set("Authorization", "Bearer "+s.w.token)
			res, err := http.DefaultClient.Do(req)
			if err != nil { // it does not listen yet
				s.w.check(ctx.Err())
				time.Sleep(time.Millisecond)
				continue
			}
			s.w.check(res.Body.Close())
			if answered = res.StatusCode == http.StatusOK; !answered {
				s.w.tb.Fatalf("an upload was answered %s", res.Status)
			}
		}
	}
}
