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

// findScanner returns the path of the installed semgrep, or "" if there is none.
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

// runScanner runs semgrep in a directory with a local server. semgrep fetches rules for rules and
// would wait long without a server. A failed run returns an *exec.ExitError.
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
	// The local server accepts any token; without one semgrep omits the ids of findings.
	cmd.Env = append(a.Environ(), "SEMGREP_URL=http://"+listener.Addr().String(), "NO_PROXY=127.0.0.1", "SEMGREP_APP_TOKEN=local",
		"SEMGREP_SETTINGS_FILE="+filepath.Join(home, "settings.yml"))
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err = cmd.Run()
	return out.Bytes(), complaints.Bytes(), err
}

func answerNoRules(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"rules":[]}`)) // the scanner reports a failed request
}

// checkRules runs the scanner to parse rules, as no schema validates patterns. All rules are in one
// file, as each further file adds a start of the scanner. The run has no timeout, and an interrupt
// ends it. It returns false if no scanner is installed, and an error with the scanner's message if
// a rule is invalid.
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
	file := filepath.Join(dir, mergedFile) // JSON is valid YAML; the scanner does not parse patterns in .json files
	if err := os.WriteFile(file, document, 0o600); err != nil {
		return false, err
	}
	if f, ok := command.Raw(a.Err).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(f, "%s is checking %d rules; press Ctrl-C to stop\n", semgrep, len(rules))
	}
	stdout, stderr, err := runScanner(a, program, dir, "--validate", "--config", file)
	var ended *exec.ExitError
	switch {
	case a.Ctx.Err() != nil:
		return false, errors.New("interrupted; no rules were added")
	case errors.As(err, &ended):
		text := strings.NewReplacer(file, "the rules", mergedFile, "the rules").Replace(string(append(stdout, stderr...)))
		return false, rejected(
			rules, fmt.Errorf("%s rejects the rules (%w):\n%s", semgrep, err, strings.TrimSpace(text)), text,
		)
	}
	return err == nil, err
}

// mergedFile is the temporary file with all rules. Messages never show its name.
const mergedFile = "redoubt-rules-as-one-file.yaml"

// badRulesError contains the scanner's messages by rule id. For some faults the scanner names no
// rule.
type badRulesError struct {
	error
	why map[string]string
}

var inRule = regexp.MustCompile(`\bin rule '?([a-zA-Z0-9._-]+?)'?(?:[:,\s]|$)`)

// rejected extracts the rejected rules from the scanner's output. A message reaches from one rule
// id to the next.
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

// maxComplaint is the maximum length of a scanner's message in bytes.
const maxComplaint = 400

// complaint returns a message of the scanner as one line.
func complaint(text string) string {
	words := strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(words[:min(len(words), maxComplaint)], "")
}
