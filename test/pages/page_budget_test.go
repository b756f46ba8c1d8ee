package pages

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/model"
)

// maxCold is the maximum size of a page with all its resources, compressed, in bytes, with an empty
// cache.
const maxCold = 60_000

// mainPages returns the addresses of the most used pages, by name.
func mainPages(s *site) map[string]string {
	policies := "/policies/" + policyOf(s, "code")
	return map[string]string{
		"overview": "/overview", "findings": "/findings", "panel": "/findings?finding=" + firstFinding(s), "finding": "/findings/" + firstFinding(s),
		"supply chain": "/supply-chain/vulnerabilities", "secrets": "/secrets", "projects": "/projects", "project": "/projects/" + first(s, "/projects", "/projects/"),
		"scans": "/scans", "scan": "/scans/" + first(s, "/scans", "/scans/"), "dependencies": "/supply-chain/dependencies?name=e", "policy": policies,
		"policy settings": policies + "/settings",
	}
}

var loaded = regexp.MustCompile(`(?:src|href)="(/assets/[^"]+)"`)

// TestPageSizeBudget checks the compressed size of the main pages with all their resources.
func TestPageSizeBudget(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	compressed := func(text string) int {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		return out.Len()
	}
	most := 0
	for name, path := range mainPages(s) {
		text := s.page(path)
		size, files := compressed(text), 0
		for _, m := range loaded.FindAllStringSubmatch(text, -1) {
			a := s.send(httptest.NewRequestWithContext(t.Context(), http.MethodGet, m[1], nil))
			if a.StatusCode != http.StatusOK || a.text == "" {
				t.Fatalf("%s: %s", m[1], a.Status)
			}
			size += compressed(a.text)
			files++
		}
		if size > maxCold || files < 5 {
			t.Errorf("%s has %d bytes with its %d files, %d at most", name, size, files, maxCold)
		}
		most = max(most, size)
	}
	t.Logf("the largest has %d bytes", most)
}

// maxShift is the maximum layout shift of a loading page, as measured by browsers. Users do not
// notice it; browsers rate up to 0.1 as good.
const maxShift = 0.001

// shifts returns the sum of the layout shifts of the page.
const shifts = `new Promise(done => {
	let sum = 0;
	const add = entries => { for (const e of entries) if (!e.hadRecentInput) sum += e.value; };
	const observer = new PerformanceObserver(list => add(list.getEntries()));
	observer.observe({type: "layout-shift", buffered: true});
	const frames = left => left ? requestAnimationFrame(() => frames(left - 1)) : (add(observer.takeRecords()), done(sum));
	frames(5);
})`

// TestPagesHaveNoLayoutShift checks that no content of a main page moves while it loads slowly, on a
// desktop or a phone.
func TestPagesHaveNoLayoutShift(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	s.pages = trickle(s.pages)
	b := s.browse(1280, 900)
	shifted := func() float64 {
		v, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](shifts, chromedp.EvalAwaitPromise))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		for name, path := range mainPages(s) {
			b.open(path)
			if v := shifted(); v > maxShift {
				t.Errorf("%s at %d shifts by %.3f", name, width, v)
			}
		}
	}
	b.run(`const late = document.createElement("div"); late.style.height = "300px"; document.querySelector("main").prepend(late)`)
	if v := shifted(); v < maxShift {
		t.Errorf("300 pixels more in front shift the page by %.3f", v)
	}
}

// TestPrintedPageCount checks the number of printed pages of the overview and a project's page.
func TestPrintedPageCount(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	b := s.browse(1280, 900)
	for path, most := range map[string]int{"/overview": 4, "/projects/" + first(s, "/projects", "/projects/"): 6} {
		b.open(path)
		var paper []byte
		b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			printed, err := cdp.Call(ctx, t, page.PrintToPDF, page.PrintToPDFParams{})
			paper = printed.Data
			return err
		}))
		if sheets := len(sheet.FindAll(paper, -1)); !bytes.HasPrefix(paper, []byte("%PDF-")) || sheets < 1 || sheets > most {
			t.Errorf("%s is on %d sheets, of %d bytes", path, sheets, len(paper))
		}
	}
}

// sheet matches the start of each page of a PDF.
var sheet = regexp.MustCompile(`/Type\s*/Page\b[^s]`)

// trickle sends responses in small pieces, as a slow connection does, so that a browser may render
// them partially.
func trickle(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pages.ServeHTTP(trickling{w}, r) })
}

type trickling struct{ http.ResponseWriter }

// Write sends one piece after the other, with pauses for rendering.
func (w trickling) Write(p []byte) (sent int, err error) {
	for len(p) > 0 && err == nil {
		n, e := w.ResponseWriter.Write(p[:min(len(p), 4096)])
		w.ResponseWriter.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
		sent, p, err = sent+n, p[n:], e
	}
	return sent, err
}
