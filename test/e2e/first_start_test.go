package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// TestFirstStartInBrowser follows the pages from an empty server to its first scans. It runs the
// displayed commands and drops a report into the form, while the open page marks the completed
// step. It also checks a phone's screen width and the keyboard.
func TestFirstStartInBrowser(t *testing.T) {
	t.Parallel()
	w := newCIWorld(t, "sqlite")
	p := newPerson(t)
	p.createAdmin(w.ready.SetupURL)
	p.dropReport(w)

	p.opens(w, "/start")
	p.choosesByKeyboard()
	p.checkPhoneWidth(w, "/start", "/upload")
	p.opens(w, "/start")
	p.does(chromedp.Click(".of-terminal form .primary"), chromedp.WaitReady(".say.good"))
	p.waits(`location.search.includes("made=") && !document.querySelector("[data-theme-toggle][hidden]")`)
	token := p.reads(`document.querySelector(".card.start > .copy pre").textContent`)
	commands := strings.Split(p.reads(`[...document.querySelectorAll(".of-terminal pre")].map(e => e.textContent).join("\u0000")`), "\x00")
	if len(commands) != 3 {
		t.Fatalf("the page shows %q", commands)
	}
	p.reads(`String(window.stays = "yes")`)
	for i, source := range []string{"acme/by-redoubt", "acme/by-semgrep"} {
		w.types(commands[i], token, source)
		p.waits(`document.querySelector("#startsteps li.done")?.textContent.includes("` + source + `")`)
		if stays := p.reads(`String(window.stays)`); stays != "yes" {
			t.Error("the page was reloaded")
		}
	}
	if current := p.reads(`document.querySelector(".of-terminal pre").textContent`); current != commands[0] {
		t.Errorf("the command is now %q", current)
	}
}

// types runs a command of the page in a shell and answers its prompts.
func (w *ciWorld) types(command, token, project string) {
	w.Helper()
	bin := w.TempDir()
	for name, script := range map[string]string{"pipx": "#!/bin/sh\n[ \"$*\" = \"install semgrep==1.180.0\" ]\n", "semgrep": "#!/bin/sh\nexec " + w.semgrep + " \"$@\"\n"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			w.Fatal(err)
		}
	}
	shell := exec.Command("bash", "-e", "-c", command)
	shell.Dir, shell.Stdin = w.repo, strings.NewReader(token+"\n")
	shell.Env = append(programtest.Covered(), "PATH="+bin+":"+filepath.Dir(w.semgrep)+":"+os.Getenv("PATH"), "HOME="+w.home, "NO_PROXY=127.0.0.1",
		"SEMGREP_SETTINGS_FILE="+filepath.Join(w.home, "settings.yml"), "SEMGREP_REPO_NAME="+project)
	if out, err := shell.CombinedOutput(); err != nil {
		w.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// dropReport drops a report into the form and checks the result.
func (p *person) dropReport(w *ciWorld) {
	p.Helper()
	p.opens(w, "/upload")
	p.does(chromedp.SendKeys("#project", "acme/dropped"))
	p.reads(`(() => {
		const dropped = new DataTransfer();
		dropped.items.add(new File(["flask==2.0.1\n"], "requirements.txt"));
		document.querySelector("[data-drop]").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
		return "";
	})()`)
	p.does(chromedp.Focus("#ref"), chromedp.KeyEvent(kb.Enter))
	p.waits(`location.pathname.includes("/upload/") && document.querySelector("[data-files='1'][data-given='1']")`)
	if n := p.reads(`document.querySelector("[data-count=dependencies-added]").textContent`); n != "1" {
		p.Errorf("%s dependencies were added", n)
	}
	// A rejected upload preserves the input.
	p.opens(w, "/upload")
	p.does(chromedp.SendKeys("#project", "acme/dropped"))
	p.reads(`(() => {
		const dropped = new DataTransfer();
		dropped.items.add(new File(["no report"], "photo.png"));
		document.querySelector("[data-drop]").dispatchEvent(new DragEvent("drop", { dataTransfer: dropped, bubbles: true, cancelable: true }));
		return "";
	})()`)
	p.does(chromedp.Click("[data-upload] .primary"))
	p.waits(`document.querySelector("#uploadfault").textContent.includes("photo.png")`)
	// So does a rejection by a proxy, before or after the upload, and a failed connection.
	for _, c := range []struct{ stub, shows string }{
		{`window.fetch = () => Promise.resolve(new Response("<html>too large</html>", { status: 413 }))`, `text.includes("413")`},
		{`window.fetch = () => Promise.reject(new TypeError("offline"))`, `text && !text.includes("413")`},
		{`{ window.fetch = () => Promise.resolve(new Response("")); const open = XMLHttpRequest.prototype.open; XMLHttpRequest.prototype.open = function (method) { open.call(this, method, "/api/nowhere"); } }`, `text.includes("40") && !text.includes("413")`},
	} {
		p.reads(`(() => { ` + c.stub + `; return ""; })()`)
		p.does(chromedp.Click("[data-upload] .primary"))
		p.waits(`(text => ` + c.shows + `)(document.querySelector("#uploadfault .say").textContent) && !document.querySelector("[data-upload]").hasAttribute("aria-busy")`)
	}
	if preserved := p.reads(`document.querySelector("#project").value + " " + document.querySelector("#file").files[0].name`); preserved != "acme/dropped photo.png" {
		p.Errorf("stored is %q", preserved)
	}
}

// choosesByKeyboard selects each way of scanning with the arrow keys.
func (p *person) choosesByKeyboard() {
	p.Helper()
	p.does(chromedp.Focus(`.tabs [value="terminal"]`))
	for _, choice := range []string{"github", "gitlab", "other", "upload", "host"} {
		p.does(chromedp.KeyEvent(kb.ArrowRight))
		p.waits(`document.activeElement.value === "` + choice + `" && document.querySelector(".of-` + choice + `").checkVisibility() && [...document.querySelectorAll(".way")].filter(e => e.checkVisibility()).length === 1`)
	}
}

// checkPhoneWidth checks that pages are not wider than a phone's screen.
func (p *person) checkPhoneWidth(w *ciWorld, pages ...string) {
	p.Helper()
	p.does(chromedp.EmulateViewport(390, 844))
	for _, page := range pages {
		p.opens(w, page)
		if wide := p.reads(`String(document.documentElement.scrollWidth)`); wide != "390" {
			p.Errorf("%s is %s wide", page, wide)
		}
	}
	p.does(chromedp.EmulateViewport(1440, 900))
}
