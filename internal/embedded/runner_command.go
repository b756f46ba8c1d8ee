package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/runner"
)

// RunnerCmd executes managed runs for a server.
type RunnerCmd struct {
	config.Outbound
	URL       string        `help:"Address of the Redoubt server." env:"REDOUBT_URL" required:"" placeholder:"URL"`
	Token     config.Secret `help:"Token with the scope runner; prefer the variable." env:"REDOUBT_TOKEN" required:"" placeholder:"TOKEN"`
	Name      string        `help:"Name of this runner (default: the host name)." env:"REDOUBT_RUNNER_NAME" placeholder:"NAME"`
	Label     []string      `help:"Label of this runner, shown to users; repeatable." env:"REDOUBT_RUNNER_LABEL" placeholder:"TEXT"`
	Dir       string        `help:"Folder for the repository cache and checkouts." default:"redoubt-runner" env:"REDOUBT_RUNNER_DIR" placeholder:"DIR" type:"path"`
	Parallel  int           `help:"Maximum parallel runs." default:"1" env:"REDOUBT_RUNNER_PARALLEL" placeholder:"N"`
	Semgrep   string        `help:"Path of semgrep (default: semgrep in PATH, if installed)." env:"REDOUBT_SEMGREP" placeholder:"FILE"`
	Isolation string        `help:"Scanner sandbox: auto (bubblewrap if it works), required (bubblewrap, or no scans) or none." enum:"auto,required,none" default:"auto" env:"REDOUBT_RUNNER_ISOLATION"`
	Memory    int64         `help:"Memory limit per scan in bytes; 4 GiB by default." default:"4294967296" env:"REDOUBT_RUNNER_MEMORY" placeholder:"BYTES"`
	Disk      int64         `help:"Disk limit per scan in bytes; 8 GiB by default." default:"8589934592" env:"REDOUBT_RUNNER_DISK" placeholder:"BYTES"`
	Cache     int64         `help:"Disk limit of the repository cache in bytes; 20 GiB by default." default:"21474836480" env:"REDOUBT_RUNNER_CACHE" placeholder:"BYTES"`
}

// Run executes runs until it is stopped.
func (c RunnerCmd) Run(a *command.App) error {
	a.Log = slog.New(slog.NewTextHandler(a.Err, nil))
	if c.Parallel < 1 || c.Parallel > 64 {
		return errors.New("--parallel must be 1 to 64")
	}
	server, err := url.Parse(strings.TrimSuffix(c.URL, "/"))
	if err != nil || server.Host == "" || server.Scheme != "http" && server.Scheme != "https" {
		return fmt.Errorf("invalid --url %q: use the server's address, such as https://redoubt.example", c.URL)
	}
	if c.Name == "" {
		if c.Name, err = os.Hostname(); err != nil {
			return err
		}
	}
	reach, err := command.NetworkReach(c.Outbound)
	if err != nil {
		return err
	}
	client := &api.Client{BaseURL: server.String(), Token: string(c.Token), UserAgent: "redoubt-runner/" + about.Version}
	var runners []*runner.Runner
	for i := range c.Parallel {
		base, err := runnerConfig(a, c.Semgrep)
		if err != nil {
			return err
		}
		base.Client, base.Server, base.Labels = client, server, c.Label
		base.Isolation, base.Resolve = runner.Isolation(c.Isolation), reach.Resolve
		base.Limits.Memory, base.Limits.Disk, base.Limits.Cache = c.Memory, c.Disk, c.Cache/int64(c.Parallel)
		base.Dir, base.Name = filepath.Join(c.Dir, fmt.Sprint(i+1)), c.Name
		if c.Parallel > 1 {
			base.Name = fmt.Sprintf("%s/%d", c.Name, i+1)
		}
		r, err := runner.New(a.Ctx, base)
		if err != nil {
			return err
		}
		runners = append(runners, r)
	}
	a.Log.Info("redoubt runner asks for runs", "server", server.String(), "parallel", c.Parallel,
		"isolation", runners[0].IsolatedBy())
	return runAll(a.Ctx, runners)
}

// runAll runs the runners until one fails or the context ends. If their token is rejected, it
// deletes their repositories.
func runAll(ctx context.Context, runners []*runner.Runner) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	failed := make([]error, len(runners))
	for i, r := range runners {
		all.Go(func() {
			if failed[i] = r.Run(ctx); failed[i] != nil {
				cancel(failed[i])
			}
		})
	}
	all.Wait()
	err := errors.Join(failed...)
	if errors.Is(err, runner.ErrToken) {
		for _, r := range runners {
			err = errors.Join(err, r.Forget())
		}
	}
	return err
}

// runnerConfig returns the common configuration of all runners of this program.
func runnerConfig(a *command.App, semgrep string) (runner.Config, error) {
	program, err := os.Executable()
	if err != nil {
		return runner.Config{}, err
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return runner.Config{}, err
	}
	c := runner.Config{
		Program:   program,
		Path:      a.Getenv("PATH"),
		Version:   about.Version,
		Isolation: runner.IsolateIfPossible,
		Limits:    runner.DefaultLimits(),
		Logger:    a.Log,
	}
	found, err := exec.LookPath(semgrep)
	if semgrep == "" {
		found, err = exec.LookPath("semgrep")
	}
	switch {
	case err == nil:
		if c.Semgrep, err = filepath.Abs(found); err != nil {
			return c, err
		}
	case semgrep != "":
		return c, fmt.Errorf("semgrep is not there: %w", err)
	default:
		a.Log.Warn("semgrep is not installed here: managed scans look at lockfiles alone")
	}
	return c, nil
}

// RunnerInsideCmd runs inside the sandbox of a runner. It is not intended for users.
type RunnerInsideCmd struct {
	Socket  string   `required:"" help:"Socket for requests to the server."`
	Program []string `arg:"" help:"Scanner command, after --."`
}

// Run runs the program and exits with its exit code.
func (c RunnerInsideCmd) Run(a *command.App) error {
	code, err := runner.Inside(a.Ctx, c.Socket, c.Program, func(address string) []string {
		return append(a.Environ(), "REDOUBT_URL="+address)
	}, command.Raw(a.Out), command.Raw(a.Err))
	if err == nil && code != 0 {
		err = &command.ExitError{Code: code}
	}
	return err
}
