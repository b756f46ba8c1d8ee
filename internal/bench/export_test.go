package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/export"
)

// benchExport reads exports of all findings over HTTP and reports the growth of the heap. The
// baseline is reading all pages of the list with 3,000 findings each.
func benchExport(b *testing.B, w *world) {
	pages := timed(func() {
		for at := 0; at*3000 < w.findings; at++ {
			w.client.discard(w.request("GET", fmt.Sprintf("%s/findings?page_size=3000&page=%d", w.bySlug(), at), nil))
		}
	})
	for _, f := range export.Formats() {
		b.Run(string(f), func(b *testing.B) {
			request := w.request("GET", w.bySlug()+"/findings/export?format="+string(f), nil)
			var rise int64
			took := compare(b, func() (took time.Duration) {
				rise = peak(func() { took = w.client.took(request)() })
				return took
			}, limit{unit: perLimit, run: pages})
			b.ReportMetric(rate(w.findings, took), perSecond)
			b.ReportMetric(float64(rise)/(1<<20), "MiB-heap")
		})
	}
}
