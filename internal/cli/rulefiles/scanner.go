package rulefiles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/policy"
)

// findScanner returns the path of the semgrep of this machine, or "" where there is no such program.
func findScanner(semgrep string) (string, error) {
	program, err := exec.LookPath(semgrep)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(program)
}

// runScanner runs semgrep in a folder, beside a server of this process: semgrep fetches rules
// about rules, and waits long where no server answers. A run that fails is an *exec.ExitError.
func runScanner(a *command.App, program, dir string, args ...string) (stdout, stderr []byte, err error) {
	listener, err := (&net.ListenConfig{}).Listen(a.Ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	answers := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(answerNoRules)}
	go func() { _ = answers.Serve(listener) }() // until it is closed
	defer func() { err = errors.Join(err, answers.Close()) }()
	home, err := os.MkdirTemp("", "redoubt-rules-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()

	cmd := exec.CommandContext(
		a.Ctx, program, append([]string{"scan", "--metrics=off", "--disable-version-check"}, args...)...,
	)
	cmd.Dir = dir
	endWithChildren(cmd)
	// Any token will do for this server; without one semgrep omits the ids of findings.
	cmd.Env = append(a.Environ(), "SEMGREP_URL=http://"+listener.Addr().String(), "NO_PROXY=127.0.0.1", "SEMGREP_APP_TOKEN=local",
		"SEMGREP_SETTINGS_FILE="+filepath.Join(home, "settings.yml"))
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err = cmd.Run()
	return out.Bytes(), complaints.Bytes(), err
}

func answerNoRules(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"rules":[]}`)) // the scanner reports what it could not read
}

// checkRules lets the scanner itself parse rules, since no schema knows whether
// a pattern parses. It is given all of them as one file: each file more costs it
// a start of its own. It takes as long as that needs; an interrupt ends it. It
// returns false where there is no such program here, and an error with the
// scanner's words where a rule is bad.
func checkRules(a *command.App, semgrep string, rules []policy.Rule) (checked bool, err error) {
	program, err := findScanner(semgrep)
	if program == "" || err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "redoubt-rules-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	texts := make([]json.RawMessage, len(rules))
	for i, r := range rules {
		texts[i] = r.Text
	}
	document, err := json.Marshal(map[string]any{"rules": texts})
	if err != nil {
		return false, err
	}
	file := filepath.Join(dir, mergedFile) // JSON is YAML; of a .json the scanner does not parse the patterns
	if err := os.WriteFile(file, document, 0o600); err != nil {
		return false, err
	}
	if f, ok := command.Raw(a.Err).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(f, "%s parses %d rules; interrupt it to stop\n", semgrep, len(rules))
	}
	stdout, stderr, err := runScanner(a, program, dir, "--validate", "--config", file)
	var ended *exec.ExitError
	switch {
	case a.Ctx.Err() != nil:
		return false, errors.New("interrupted: nothing was added")
	case errors.As(err, &ended):
		text := strings.NewReplacer(file, "the rules", mergedFile, "the rules").Replace(string(append(stdout, stderr...)))
		return false, rejected(
			rules, fmt.Errorf("%s rejects the rules (%w):\n%s", semgrep, err, strings.TrimSpace(text)), text,
		)
	}
	return err == nil, err
}

// mergedFile is what all rules are written to for the scanner. Nobody is told of it.
const mergedFile = "redoubt-rules-as-one-file.yaml"

// badRulesError has the scanner's complaints about rules, by rule id. For some faults the scanner
// names no rule.
type badRulesError struct {
	error
	why map[string]string
}

var inRule = regexp.MustCompile(`\bin rule '?([a-zA-Z0-9._-]+?)'?(?:[:,\s]|$)`)

// rejected reads which rules the scanner complains of: from where it names one
// to where it names the next.
func rejected(rules []policy.Rule, err error, text string) error {
	known, why := map[string]bool{}, map[string]string{}
	for _, r := range rules {
		known[r.ID] = true
	}
	named := inRule.FindAllStringSubmatchIndex(text, -1)
	for i, at := range named {
		id, end := text[at[2]:at[3]], len(text)
		if i+1 < len(named) {
			end = named[i+1][0]
		}
		if known[id] && why[id] == "" {
			why[id] = complaint(text[at[1]:end])
		}
	}
	return &badRulesError{err, why}
}

// maxComplaint bounds what is shown of the scanner's words on a rule, in bytes.
const maxComplaint = 400

// complaint is the scanner's words as one line.
func complaint(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(words[:min(len(words), maxComplaint)], "")
}
