package pages

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is a window of Chromium on a site. It is closed at the end of the test.
type browser struct {
	t   testing.TB
	ctx context.Context
	url string // of the site
}

// chromium returns the path of the browser, or skips the test.
func chromium(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser needs seconds: make test starts it, and go test without -short")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here: install Debian's chromium, or run make setup")
	return ""
}

// limit is the timeout of a browser. It is long enough for a busy machine.
const limit = 6 * time.Minute

// theBrowser is shared, as starting a browser takes longer than most tests.
var theBrowser struct {
	sync.Once
	*runningBrowser
}

// runningBrowser is a running browser or its start error.
type runningBrowser struct {
	ctx  context.Context
	stop func()
	err  error
}

// stopBrowser stops the shared browser if it was started.
func stopBrowser() {
	if theBrowser.runningBrowser != nil {
		theBrowser.stop()
	}
}

// browse opens a window with separate cookies in the shared browser. With options it starts another
// browser.
func (s *site) browse(width, height int, options ...chromedp.ExecAllocatorOption) *browser {
	s.t.Helper()
	path := chromium(s.t)
	server := httptest.NewServer(s.pages)
	s.t.Cleanup(server.Close)
	var parent context.Context
	var in []chromedp.ContextOption
	if len(options) == 0 {
		theBrowser.Do(func() {
			ctx, stop := startBrowser(context.Background(), path)
			theBrowser.runningBrowser = &runningBrowser{ctx, stop, chromedp.Do(ctx)} // starts the browser
		})
		if theBrowser.err != nil {
			s.t.Fatal(theBrowser.err)
		}
		parent, in = theBrowser.ctx, []chromedp.ContextOption{chromedp.WithNewBrowserContext()}
	} else {
		var stop func()
		parent, stop = startBrowser(s.t.Context(), path, options...)
		s.t.Cleanup(stop)
	}
	ctx, cancel := chromedp.NewContext(parent, in...)
	s.t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, limit)
	s.t.Cleanup(cancel)
	b := &browser{s.t, ctx, server.URL}
	b.do(chromedp.EmulateViewport(int64(width), int64(height)))
	return b
}

// startBrowser returns the context of a browser, which starts with the first action.
func startBrowser(ctx context.Context, path string, options ...chromedp.ExecAllocatorOption) (context.Context, func()) {
	flags := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(time.Minute),
	}, options...)
	if os.Geteuid() == 0 {
		flags = append(flags, chromedp.NoSandbox)
	}
	ctx, end := chromedp.NewExecAllocator(ctx, flags...)
	ctx, closed := chromedp.NewContext(ctx)
	return ctx, func() {
		closed()
		end()
	}
}

// do runs steps in order.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// open navigates to a page below the deployment and waits until its script ran.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.url+"/orgs/acme"+path), chromedp.WaitReady("[data-theme-toggle]:not([hidden])"))
}

// read evaluates an expression on the page.
func read[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// run executes a script on the page.
func (b *browser) run(script string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](script+"\n;0")); err != nil {
		b.t.Fatal(err)
	}
}
