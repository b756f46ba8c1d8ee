package e2e

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/scannertest"
)

var record = flag.Bool("record", false, "rewrite docs/start/first-scan.md or docs/guides/managed-scans-example.md with the current output of the commands")

// TestFirstScan runs the commands of docs/start/first-scan.md in one shell with an empty home
// directory, and compares their output with the page. With -record it writes the page.
func TestFirstScan(t *testing.T) {
	semgrep := scannertest.Forked(t)
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: run make setup", tool)
		}
	}
	t.Parallel()
	const page = "../../docs/start/first-scan.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatchIndex(string(text), -1)
	var commands []string
	for _, b := range blocks {
		commands = append(commands, typed(string(text[b[2]:b[3]]))...)
	}
	if len(commands) < 20 {
		t.Fatalf("the page has only %d commands", len(commands))
	}
	answers := newTranscript(t, semgrep).run(commands)
	var got strings.Builder
	at, next := 0, 0
	for _, b := range blocks {
		got.Write(text[at:b[2]])
		for range typed(string(text[b[2]:b[3]])) {
			got.WriteString("$ " + commands[next] + "\n" + answers[next])
			next++
		}
		at = b[3]
	}
	got.Write(text[at:])
	if *record {
		if err := os.WriteFile(page, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(text), got.String()); diff != "" {
		t.Errorf("docs/start/first-scan.md differs from the run; make transcript rewrites it (-page +run):\n%s", diff)
	}
}

// typed returns the commands of a block, without their prompts.
func typed(block string) (commands []string) {
	for line := range strings.Lines(block) {
		if command, is := strings.CutPrefix(line, "$ "); is {
			commands = append(commands, strings.TrimSuffix(command, "\n"))
		}
	}
	return commands
}

// transcript is the machine on which the page is recorded.
type transcript struct {
	*testing.T
	home    string
	address string // of the server, instead of the page's
	env     []string
}

// newTranscript creates a home directory. Two commands replace steps that need a network or
// minutes: go installs the tested binary, and pipx installs the pinned scanner.
func newTranscript(t *testing.T, semgrep string) *transcript {
	s := &transcript{T: t, home: t.TempDir()}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	binary, err := exec.LookPath("redoubt")
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir()
	put := "mkdir -p \"$HOME/%[1]s\" && printf '#!/bin/sh\\nPATH=%[2]s:$PATH exec %[3]s \"$@\"\\n' >\"$HOME/%[1]s/%[4]s\" && chmod +x \"$HOME/%[1]s/%[4]s\"\n"
	for name, script := range map[string]string{
		"go":   "[ \"$*\" = \"build -o $HOME/bin/redoubt ./cmd/redoubt\" ] || exit 99\n" + fmt.Sprintf(put, "bin", filepath.Dir(binary), binary, "redoubt"),
		"pipx": "[ \"$*\" = \"install semgrep==1.180.0\" ] || exit 99\n" + fmt.Sprintf(put, ".local/bin", filepath.Dir(semgrep), semgrep, "semgrep"),
	} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.env = append(programtest.Covered(), "PATH="+tools+":/usr/local/bin:/usr/bin:/bin", "HOME="+s.home, "NO_PROXY=127.0.0.1", "LC_ALL=C.UTF-8")
	return s
}

// run runs commands in a shell and returns the output of each. Variable parts are replaced by an
// ellipsis.
func (s *transcript) run(commands []string) []string {
	s.Helper()
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "echo '@@@@'\n%s\n", strings.ReplaceAll(c, "127.0.0.1:8080", s.address))
	}
	shell := exec.Command("bash")
	shell.Dir, shell.Env, shell.Stdin = "../..", s.env, strings.NewReader(script.String())
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that the server is stopped, too
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	if err := shell.Start(); err != nil {
		s.Fatal(err)
	}
	err := shell.Wait()
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
	log, _ := os.ReadFile(filepath.Join(s.home, "serve.log"))
	answers := strings.Split(out.String(), "@@@@\n")[1:]
	if err != nil || len(answers) != len(commands) {
		s.Fatalf("the shell: %v, after %d of %d commands:\n%s\nthe server's log:\n%s", err, len(answers), len(commands), out.String(), log)
	}
	for i := range answers {
		answers[i] = s.normal(answers[i])
	}
	return answers
}

var volatile = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`rdt_1_\w+`), "rdt_1_…"},
	{regexp.MustCompile(`tok_\w+`), "tok_…"},
	{regexp.MustCompile(`/setup/\S+`), "/setup/…"},
	{regexp.MustCompile(`\b[0-9a-f]{40}\b`), "…"},
	{regexp.MustCompile(`on python 3\.[0-9.]+`), "on python 3…"},
	{regexp.MustCompile(`20\d\d-\d\d-\d\d[T ][0-9:.]+Z?`), "…"},
	{regexp.MustCompile(`(?m)[ \t]+$`), ""},
	{regexp.MustCompile(`\n{3,}`), "\n\n"},
}

func (s *transcript) normal(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, s.address, "127.0.0.1:8080"), s.home, "/home/dev")
	for _, v := range volatile {
		text = v.what.ReplaceAllString(text, v.with)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
