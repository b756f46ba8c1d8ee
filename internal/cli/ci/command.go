// Package ci contains the command redoubt ci for builds. It sends the inventory, the scan, reports
// and code to a server, and exits with the result of the gate. Support for build systems is in
// internal/ci.
package ci

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
)

// Command checks a build.
type Command struct {
	URL         string        `help:"Address of the Redoubt server." env:"REDOUBT_URL,SEMGREP_URL,SEMGREP_APP_URL" placeholder:"URL"`
	Token       config.Secret `help:"Token with the scope ci; prefer the variable." env:"REDOUBT_TOKEN,SEMGREP_APP_TOKEN" placeholder:"TOKEN"`
	Report      []string      `help:"Upload another scanner's report of this checkout, such as gitleaks.sarif; repeatable." sep:"none" placeholder:"FILE"`
	ReportDiff  bool          `help:"Treat reports as diff scans: do not close findings of full scans."`
	NoSemgrep   bool          `help:"Do not run semgrep; send only inventory and reports." name:"no-semgrep"`
	Semgrep     string        `help:"Path of semgrep (default: semgrep in PATH, if installed)." env:"REDOUBT_SEMGREP" placeholder:"FILE"`
	NoInventory bool          `help:"Do not send lockfiles and bills of materials." name:"no-inventory"`
	NoCode      bool          `help:"Do not send code around findings." name:"no-code" env:"REDOUBT_NO_CODE"`
	FailOpen    bool          `help:"Exit with 0 if a step fails; blocked builds still fail." name:"fail-open" env:"REDOUBT_FAIL_OPEN"`
	SARIF       string        `help:"Write new and blocking findings to this SARIF 2.1.0 file." name:"sarif" placeholder:"FILE"`
	JSON        string        `help:"Write the result to this JSON file." name:"json" placeholder:"FILE"`
	Pass        []string      `arg:"" optional:"" name:"flag" help:"Flags for semgrep ci, after --."`
}

// build is one run of the command.
type build struct {
	Command
	*command.App
	env    ci.Env
	at     ci.Context // revision under test
	top    string     // root of the checkout
	server ciServer
	result ci.Outcome

	terminal bool // standard error is a terminal
}

// Exit codes, as described in docs/guides/redoubt-ci.md.
const (
	ciPasses  = 0
	ciBlocked = 1
	ciTrouble = 2 // 0 with --fail-open
)

// Run sends the contents of the checkout, runs the scanner, and exits with the result of the gate.
func (c Command) Run(a *command.App) error {
	b := &build{Command: c, App: a, env: ci.Environ(a.Environ())}
	b.result = ci.Outcome{
		Version: 1, Unblock: []string{}, Trouble: []string{}, Unread: []ci.UnreadFile{}, New: []ci.Finding{},
		Fixed: []ci.Finding{}, Blocking: []ci.Finding{}, Noted: []ci.Finding{}, Sources: []ci.Source{},
	}
	if f, ok := command.Raw(a.Err).(*os.File); ok {
		b.terminal = term.IsTerminal(int(f.Fd()))
	}
	b.runSteps()
	return b.End()
}

// End prints and writes the result of the run. It returns a *command.ExitError with the exit code
// unless that is 0.
func (b *build) End() error {
	b.result.Blocked = b.result.Blocked || len(b.result.Blocking) > 0
	b.setExitCode()
	b.printResult()
	if b.result.ExitCode != ciPasses {
		return &command.ExitError{Code: b.result.ExitCode}
	}
	return nil
}

// runSteps runs all steps. A failed step is recorded, and the following steps run if the server is
// known.
func (b *build) runSteps() {
	if b.URL == "" || b.Token == "" {
		b.addTrouble(errors.New("server not configured: set REDOUBT_URL to its address and REDOUBT_TOKEN to one of its " +
			"tokens (redoubt token create --scope ci NAME)"))
		return
	}
	var err error
	if b.top, b.at, err = findCheckout(b.Ctx, b.env); err != nil {
		b.addTrouble(err)
		return
	}
	fmt.Fprintf(b.Out, "redoubt ci: %s at %s of %s (%s)\n", b.at.Project, shortCommit(b.at.Commit), b.at.Ref, b.at.System)
	b.result.System, b.result.Project, b.result.Ref = b.at.System, b.at.Project, b.at.Ref
	b.result.Commit, b.result.PullRequest = b.at.Commit, b.at.PullRequest
	if b.server, err = newCIServer(b.Ctx, b.Command); err != nil {
		b.addTrouble(err)
		return
	}
	b.result.Deployment, b.result.URL = b.server.deployment, b.server.findings(b.at.Project, b.at.Ref)
	steps := []func(context.Context) error{b.inventory, b.reports, b.scan, b.code}
	for _, step := range steps {
		err := step(b.Ctx)
		b.clearStep()
		if err != nil {
			b.addTrouble(err)
		}
	}
}

// showStep shows the current step on a terminal. It prints nothing to logs.
func (b *build) showStep(format string, args ...any) {
	if b.terminal {
		fmt.Fprintf(b.Err, "\r\x1b[K"+format+" …", args...)
	}
}

// clearStep removes the output of showStep from the terminal.
func (b *build) clearStep() {
	if b.terminal {
		fmt.Fprint(b.Err, "\r\x1b[K")
	}
}

func (b *build) addTrouble(err error) { b.result.Trouble = append(b.result.Trouble, err.Error()) }

// setExitCode determines the exit code.
func (b *build) setExitCode() {
	switch {
	case b.result.Blocked:
		b.result.ExitCode = ciBlocked
	case len(b.result.Trouble) > 0 && !b.FailOpen:
		b.result.ExitCode = ciTrouble
	}
}

func shortCommit(commit string) string {
	if len(commit) > 12 {
		return commit[:12]
	}
	return cmp.Or(commit, "no commit")
}

// scan runs the scanner with the standard output and error of this process. The scanner sends its
// results itself, and their outcome is requested after it ends.
func (b *build) scan(ctx context.Context) error {
	if b.NoSemgrep {
		return nil
	}
	name, err := exec.LookPath(cmp.Or(b.Semgrep, "semgrep"))
	if err != nil {
		if b.Semgrep != "" || len(b.Pass) > 0 {
			return fmt.Errorf("semgrep is not installed: %w", err)
		}
		fmt.Fprintln(b.Out, "semgrep is not installed, so code is not scanned (pipx install semgrep)")
		return nil
	}
	before, err := b.server.outcome(ctx, b.at.Project, b.at.Ref, "")
	if err != nil {
		return err
	}
	run := rand.Text() // identifies the scan of this run, as another scan of the ref may finish concurrently
	cmd := exec.CommandContext(ctx, name, append([]string{"ci", "--oss-only", "--no-suppress-errors"}, b.Pass...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.top, command.Raw(b.Out), command.Raw(b.Err)
	cmd.Env = append(b.Environ(), "SEMGREP_URL="+b.server.base, "SEMGREP_APP_TOKEN="+string(b.Token),
		"SEMGREP_FAIL_OPEN_URL="+b.server.base,
		"SEMGREP_USER_AGENT_APPEND="+strings.TrimSpace(b.env["SEMGREP_USER_AGENT_APPEND"]+" redoubt-ci/"+run))
	defaults := map[string]string{"SEMGREP_SEND_METRICS": "off", "SEMGREP_ENABLE_VERSION_CHECK": "0"}
	if b.at.Remote != "" {
		defaults["SEMGREP_REPO_NAME"] = b.at.Remote // the default would be the directory name
	}
	for name, value := range defaults {
		if b.env[name] == "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	err = cmd.Run()
	if cmd.ProcessState == nil {
		return fmt.Errorf("semgrep did not start: %w", err)
	}
	exit := cmd.ProcessState.ExitCode()
	if exit > 1 || exit < 0 {
		return fmt.Errorf("semgrep failed with exit code %d; its output is above", exit)
	}
	b.result.Blocked = b.result.Blocked || exit == 1
	after, err := b.server.outcome(ctx, b.at.Project, b.at.Ref, run)
	if err == nil && after.ScanID != before.ScanID {
		b.addOutcome(after.Outcome)
	}
	return err
}

// printResult prints the result of the run and writes the requested files.
func (b *build) printResult() {
	if b.result.Deployment != "" {
		fmt.Fprint(b.Out, "\n", b.result.Text())
	}
	if b.result.System == "github-actions" {
		fmt.Fprint(b.Out, b.result.Annotations())
	}
	for _, f := range b.documents() {
		if err := f.write(); err != nil {
			b.addTrouble(fmt.Errorf("%s could not be written: %w", f.name, err))
			b.setExitCode()
		}
	}
	for _, t := range b.result.Trouble {
		fmt.Fprintln(b.Err, "redoubt ci:", t)
	}
	switch {
	case b.result.ExitCode == ciBlocked:
		fmt.Fprintln(b.Err, "redoubt ci: this build is BLOCKED")
	case len(b.result.Trouble) > 0 && len(b.result.Trouble) == len(b.result.Unread) && b.FailOpen:
		fmt.Fprintln(
			b.Err, "redoubt ci: WARNING: THIS BUILD IS ONLY PARTLY CHECKED, AND PASSES ONLY BECAUSE OF --fail-open",
		)
	case len(b.result.Trouble) > 0 && len(b.result.Trouble) == len(b.result.Unread):
		fmt.Fprintln(b.Err, "redoubt ci: this build was only partly checked (use --fail-open to pass such builds)")
	case len(b.result.Trouble) > 0 && b.FailOpen:
		fmt.Fprintln(b.Err, "redoubt ci: WARNING: THIS BUILD IS NOT CHECKED, AND PASSES ONLY BECAUSE OF --fail-open")
	case len(b.result.Trouble) > 0:
		fmt.Fprintln(b.Err, "redoubt ci: this build could not be checked (use --fail-open to pass such builds)")
	}
}
