package e2e

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// login runs the login of the real scanner, opens its link, and enters the command that the page
// shows.
func login(w *ciWorld) {
	before := len(w.requests())
	opened := filepath.Join(w.home, "opened")
	browser := "#!/bin/sh\nprintf %s \"$1\" >\"" + opened + ".part\" && mv \"" + opened + ".part\" \"" + opened + "\"\n"
	if err := os.WriteFile(filepath.Join(w.home, "xdg-open"), []byte(browser), 0o700); err != nil {
		w.Fatal(err)
	}
	settings := filepath.Join(w.home, "login.yml")
	cmd := exec.Command(w.semgrep, "login", "--override-tty")
	cmd.Env = append(w.env("main"), "SEMGREP_APP_TOKEN=", "SEMGREP_SETTINGS_FILE="+settings,
		"PATH="+w.home+":"+filepath.Dir(w.semgrep)+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()

	var link []byte
	w.until("the scanner opens a link", func() bool {
		link, _ = os.ReadFile(opened)
		return link != nil
	})
	res, err := http.Get(string(link))
	if err != nil {
		w.Fatal(err)
	}
	page, err := io.ReadAll(res.Body)
	res.Body.Close()
	command := regexp.MustCompile(`<code>redoubt (token approve (\S+))</code>`).FindSubmatch(page)
	if err != nil || command == nil {
		w.Fatalf("%v, the page is %s", err, page)
	}
	w.until("the scanner waits", func() bool {
		return slices.ContainsFunc(w.requests()[before:], func(r string) bool { return strings.HasSuffix(r, "/tokens/requests") })
	})
	if waiting := w.redoubt("token", "requests"); !strings.Contains(waiting, string(command[2])) {
		w.Errorf("the scanner is not among the pending ones:\n%s", waiting)
	}
	if output := w.redoubt(strings.Fields(string(command[1]))...); !strings.Contains(output, "Semgrep/1.") {
		w.Errorf("the approval does not name its request: %s", output)
	}
	if err := <-ended; err != nil {
		w.Fatalf("semgrep login: %v\n%s", err, out.Bytes())
	}
	saved, err := os.ReadFile(settings)
	if err != nil || !bytes.Contains(saved, []byte("api_token: rdt_")) {
		w.Errorf("the scanner saved %s, %v", saved, err)
	}
	if r := w.scan("main", loud, "SEMGREP_APP_TOKEN=", "SEMGREP_SETTINGS_FILE="+settings); r.exit != 0 {
		w.Errorf("a scan with the saved token ends with %d:\n%s", r.exit, r.stderr)
	}
	if list := w.redoubt("token", "list"); !strings.Contains(list, "semgrep login "+string(command[2])) {
		w.Errorf("the token is not listed:\n%s", list)
	}
}

// until waits until done returns true.
func (w *ciWorld) until(what string, done func() bool) {
	w.Helper()
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); {
		if done() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.Fatalf("%v, and not yet: %s", programtest.WaitAtMost, what)
}
