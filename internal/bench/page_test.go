package bench

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/url"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// pages contains the measured lists of findings.
var pages = []struct {
	name  string
	query url.Values
	deep  bool // a page after four fifths of the list
}{
	{name: "all"},
	{name: "status+severity", query: url.Values{"status": {"open"}, "severities": {"high", "critical"}}},
	{name: "repos", query: url.Values{"repos": {"acme/service-0", "ACME/service-1", "acme/service-7"}}},
	{name: "dedup", query: url.Values{"dedup": {"true"}}},
	{name: "deep", deep: true},
}

var sizes = []int{100, 3000}

// target returns the URL of a page.
func (w *world) target(query url.Values, deep bool, size int) string {
	q := url.Values{"page_size": {fmt.Sprint(size)}}
	maps.Copy(q, query)
	if deep {
		q.Set("page", fmt.Sprint(w.findings*4/5/size))
	}
	return w.bySlug() + "/findings?" + q.Encode()
}

// benchPages reads pages of findings over HTTP. The baseline is a handler that returns the same
// bytes from memory. A page of 3,000 may take twice as long, and a page of 100 three times.
func benchPages(b *testing.B, w *world) {
	for _, size := range sizes {
		for _, page := range pages {
			b.Run(fmt.Sprintf("%d/%s", size, page.name), func(b *testing.B) {
				request := w.request("GET", w.target(page.query, page.deep, size), nil)
				ready := w.fromMemory("/ready", w.client.body(request))
				compare(b, w.client.took(request), limit{unit: perLimit, run: w.client.took(ready), most: map[int]float64{100: 3, 3_000: 2}[size]})
			})
		}
	}
}

// benchGzip reads compressed pages. The baseline is the same bytes with the same compression.
func benchGzip(b *testing.B, w *world) {
	gzip := []string{"Accept-Encoding", "gzip"}
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			target := w.target(nil, false, size)
			request := w.request("GET", target, nil, gzip...)
			ready := w.fromMemory("/ready.gz", w.client.body(w.request("GET", target, nil)), gzip...)
			compare(b, w.client.took(request), limit{unit: perLimit, run: w.client.took(ready)})
		})
	}
}

// benchWriting selects and writes pages without HTTP. The baseline is copying the same bytes.
func benchWriting(b *testing.B, w *world) {
	view, err := w.index.Deployment(b.Context(), w.deployment.ID)
	w.check(err)
	for _, size := range sizes {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			write := func(out io.Writer) {
				page, err := view.Page(b.Context(), model.FindingFilter{IssueType: model.SAST}, 0, size)
				w.check(err)
				_, err = page.WriteTo(out)
				w.check(err)
			}
			var ready bytes.Buffer
			write(&ready)
			to := &copier{buf: make([]byte, 1<<20)}
			compare(b, timed(func() { write(to) }), limit{unit: perLimit, run: timed(func() { to.pieces(ready.Bytes()) })})
		})
	}
}

// copier copies written bytes to a buffer, like a socket.
type copier struct{ buf []byte }

// Write copies all of p to the buffer.
func (c *copier) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		rest = rest[copy(c.buf, rest):]
	}
	return len(p), nil
}

// pieces writes bytes in pieces of half a megabyte, like a page is written.
func (c *copier) pieces(ready []byte) {
	for len(ready) > 0 {
		n := min(len(ready), 512<<10)
		_, _ = c.Write(ready[:n])
		ready = ready[n:]
	}
}
