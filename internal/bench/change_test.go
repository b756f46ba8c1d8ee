package bench

import (
	"bytes"
	"fmt"
	"net/url"
	"testing"
	"time"
)

// benchChanges reads the feed of changes over HTTP. The baseline is a page of the list with as many
// findings, for the first response of a round and for later ones.
func benchChanges(b *testing.B, w *world) {
	since := url.Values{"updated_since": {time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)}}
	for _, size := range sizes {
		page := limit{unit: perLimit, run: w.client.took(w.request("GET", w.target(nil, false, size), nil))}
		first := w.changes(since, size)
		cursor, _ := feedEnd(w.client.body(first))
		b.Run(fmt.Sprintf("%d/first", size), func(b *testing.B) { compare(b, w.client.took(first), page) })
		b.Run(fmt.Sprintf("%d/next", size), func(b *testing.B) {
			compare(b, w.client.took(w.changes(url.Values{"cursor": {cursor}}, size)), page)
		})
	}
	b.Run("whole", func(b *testing.B) {
		var received int
		var rise int64
		took := compare(b, timed(func() { rise = peak(func() { received = w.follow(since) }) }))
		b.ReportMetric(rate(received, took), perSecond)
		b.ReportMetric(float64(rise)/(1<<20), "MiB-heap")
	})
}

func (w *world) changes(query url.Values, size int) []byte {
	query.Set("limit", fmt.Sprint(size))
	return w.request("GET", w.bySlug()+"/findings/changes?"+query.Encode(), nil)
}

// follow reads a round to its end and returns the number of changes.
func (w *world) follow(query url.Values) (received int) {
	for more := true; more; {
		text := w.client.body(w.changes(query, 3000))
		received += bytes.Count(text, []byte(`"issue_type":"`))
		var cursor string
		cursor, more = feedEnd(text)
		query = url.Values{"cursor": {cursor}}
	}
	return received
}

// feedEnd parses the end of a response of the feed.
func feedEnd(text []byte) (cursor string, more bool) {
	_, end, _ := bytes.Cut(text[bytes.LastIndex(text, []byte(`,"removed":[`)):], []byte(`"cursor":"`))
	at, _, _ := bytes.Cut(end, []byte(`"`))
	return string(at), bytes.Contains(end, []byte(`"has_more":true`))
}

// TestBenchmarkFeed checks that a round contains each finding at most once.
func TestBenchmarkFeed(t *testing.T) {
	w := newWorld(t)
	w.fill(2000)
	if received := w.follow(url.Values{}); received < 2000*8/10 || received > w.findings {
		t.Errorf("%d changes of %d findings were delivered", received, w.findings)
	}
}
