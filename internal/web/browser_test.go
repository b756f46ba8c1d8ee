package web

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser opens Debian's Chromium on a site. It is closed with the test.
type browser struct {
	t   testing.TB
	ctx context.Context
	url string // of the site
}

// chromium finds the browser, or skips the test.
func chromium(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds: make test starts it, and go test without -short")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here: install Debian's chromium, or run make setup")
	return ""
}

// limit is how long a browser has; a machine that is busy with other things needs it.
const limit = 6 * time.Minute

func (s *site) browse(width, height int, options ...chromedp.ExecAllocatorOption) *browser {
	s.t.Helper()
	path := chromium(s.t)
	server := httptest.NewServer(s.pages)
	s.t.Cleanup(server.Close)
	flags := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.WindowSize(width, height), chromedp.UserDataDir(s.t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(time.Minute),
	}, options...)
	if os.Geteuid() == 0 {
		flags = append(flags, chromedp.NoSandbox)
	}
	allocator, cancel := chromedp.NewExecAllocator(s.t.Context(), flags...)
	s.t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	s.t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, limit)
	s.t.Cleanup(cancel)
	return &browser{s.t, ctx, server.URL}
}

// do takes steps one after the other.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// open goes to a page below the deployment and waits until its script ran.
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

// run evaluates a script for what it does.
func (b *browser) run(script string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[any](script+"\n;0")); err != nil {
		b.t.Fatal(err)
	}
}
