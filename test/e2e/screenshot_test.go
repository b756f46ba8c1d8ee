package e2e

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

var screenshots = flag.String("screenshots", "", "folder to write pictures of the demo's pages to")

// shots lists the screenshots: a name, a page or its first link of a form or first finding, and the
// size.
var shots = []struct {
	name, page, below string
	width, height     int64
	dark              bool
}{
	{"overview", "overview", "", 1440, 900, false},
	{"overview-dark", "overview", "", 1440, 900, true},
	{"overview-narrow", "overview", "", 390, 844, false},
	{"findings", "findings", "", 1440, 900, false},
	{"findings-narrow", "findings", "", 390, 844, true},
	{"finding", "findings", "findings/[0-9]+", 1440, 1000, false},
	{"groups", "findings?group=rule", "", 1440, 900, false},
	{"supply-chain", "supply-chain/vulnerabilities", "", 1440, 900, false},
	{"secrets", "secrets", "", 1440, 900, false},
	{"projects", "projects", "", 1440, 900, false},
	{"scans", "scans", "", 1440, 900, true},
	{"scan", "scans", "scans/[0-9]+", 1440, 900, false},
	{"scan-narrow", "scans", "scans/[0-9]+", 390, 844, true},
	{"dependencies", "supply-chain/dependencies?name=urllib3", "", 1440, 700, false},
	{"policies", "policies", "", 1440, 700, false},
	{"policy", "policies", "policies/[0-9]+", 1440, 900, false},
	{"blocking", "scans?project=acme%2Fpayments", "scans/[0-9]+/blocking", 1440, 1000, false},
	{"advisories", "advisories", "", 1440, 900, false},
	{"advisory", "advisories", "advisories/[^/]+", 1440, 1000, true},
	{"exceptions", "exceptions", "", 1440, 700, false},
	{"sbom", "sbom", "", 1440, 700, false},
	{"audit", "settings/audit", "", 1440, 900, false},
}

// TestScreenshots opens the demo's pages in a browser through the printed link. With -screenshots
// it saves pictures (make screenshots). No page may be wider than its screen.
func TestScreenshots(t *testing.T) {
	if testing.Short() {
		t.Skip("loads every page; not with -short")
	}
	p := newPerson(t)
	p.does(chromedp.Navigate(runDemo(t, t.TempDir()).SignInURL), chromedp.Click("main form button", chromedp.NodeVisible), chromedp.WaitReady("[data-theme-toggle]:not([hidden])"))
	base := p.reads("location.origin")
	for _, shot := range shots {
		scheme := "light"
		if shot.dark {
			scheme = "dark"
		}
		p.does(chromedp.EmulateViewport(shot.width, shot.height))
		p.reads(`localStorage.setItem("theme", "` + scheme + `"), ""`)
		p.does(chromedp.Navigate(base+"/orgs/demo/"+shot.page), chromedp.WaitReady("[data-theme-toggle]:not([hidden])"))
		if shot.below != "" {
			to := p.reads(`[...document.querySelectorAll("main a")].map(a => a.pathname).find(a => new RegExp("/` + shot.below + `$").test(a)) ||
				"/orgs/demo/findings/" + document.querySelector("[data-id]")?.dataset.id`)
			p.does(chromedp.Navigate(base+to), chromedp.WaitReady("main"))
		}
		if wide := p.reads(`document.title.startsWith("4") || document.documentElement.scrollWidth > innerWidth ? "it is wide or not there: " + document.title : ""`); wide != "" {
			t.Errorf("%s: %s", shot.name, wide)
		}
		picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil || len(picture) < 5000 {
			t.Fatalf("%s: %d bytes, %v", shot.name, len(picture), err)
		}
		if *screenshots == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(*screenshots, shot.name+".png"), picture, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// runDemo serves a demo with a data folder until the test ends, and returns its ready file.
func runDemo(t *testing.T, data string) programtest.Ready {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ready.json")
	demo := exec.Command("redoubt", "demo", "--data", data, "--addr", "127.0.0.1:0", "--ready-file", file)
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	ended, stopped := make(chan error, 1), make(chan struct{})
	go func() {
		ended <- demo.Wait()
		close(stopped)
	}()
	t.Cleanup(func() {
		_ = demo.Process.Signal(os.Interrupt) // it may have ended
		<-stopped
	})
	return programtest.WaitReady(t, file, ended)
}
