package e2e

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// person is a user of a browser with separate cookies.
type person struct {
	testing.TB
	ctx context.Context
}

// patience is the total timeout of a person, with a reserve for busy machines.
const patience = 6 * time.Minute

// newPerson opens Debian's Chromium, or skips the test.
func newPerson(t testing.TB) *person {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser needs seconds: make test starts it, and go test without -short")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && path == "" {
			path = found
		}
	}
	if path == "" {
		t.Skip("no Chromium here: install Debian's chromium, or run make setup")
	}
	flags := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.Headless, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.WindowSize(1360, 900), chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
	}
	if os.Geteuid() == 0 {
		flags = append(flags, chromedp.NoSandbox)
	}
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), flags...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return &person{t, ctx}
}

// does executes steps in order.
func (p *person) does(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.Fatalf("%v, at %s", err, p.reads("location.href + ' ' + document.body.innerText.slice(0, 2000)"))
	}
}

// reads evaluates an expression and returns its text.
func (p *person) reads(expression string) string {
	p.Helper()
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string](expression))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return text
}

// waits waits until an expression is true, also across page loads.
func (p *person) waits(expression string) {
	p.Helper()
	poll := chromedp.Evaluate[bool](`new Promise(done => setTimeout(() => done(Boolean(`+expression+`)), 30))`, chromedp.EvalAwaitPromise)
	for range 600 {
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second) // a page being left never responds
		ok, err := chromedp.Run(ctx, poll)
		cancel()
		if ok {
			return
		}
		if p.ctx.Err() != nil {
			p.Fatalf("%s never holds: %v", expression, err)
		}
	}
	p.Fatalf("%s fails on %s", expression, p.reads("location.href + ' ' + document.body.innerText.slice(0, 3000)"))
}
