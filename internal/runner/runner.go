// Package runner executes managed runs: it leases a run from the server, fetches and checks out the
// repository, starts the scanner, and reports the outcome. The repository is untrusted: no code
// from it runs outside of the scanner's sandbox, and git is not used to write files.
package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// Config contains the settings and dependencies of a runner.
type Config struct {
	// Client leases runs from the server.
	Client *api.Client
	// Server receives the uploads of scans through Transport; nil means http.DefaultTransport.
	Server    *url.URL
	Transport http.RoundTripper

	Name    string
	Labels  []string
	Version string

	// Dir contains the cache of repositories and the directories of runs. Each runner requires its
	// own.
	Dir string
	// Program is the path of this executable. It is the scan command and the helper in the sandbox.
	Program string
	// Path is the search path for git and bubblewrap, like PATH.
	Path string
	// Semgrep is the path of the scanner. If empty, only lockfiles are scanned.
	Semgrep string
	// Isolation selects the isolation of scanners.
	Isolation Isolation
	// Resolve returns the address from which a host may be fetched; git connects to it. The error
	// is model.ErrUnavailable if a retry may help, and another error if no address is allowed. If
	// nil, git resolves the host.
	Resolve func(ctx context.Context, host string) (netip.Addr, error)
	// Local allows repositories in local directories, as file:///srv/x.git.
	Local bool

	Limits Limits
	Logger *slog.Logger
}

// Limits are the limits of one run.
type Limits struct {
	Memory int64 // bytes for the scanner and its child processes
	Disk   int64 // bytes for a checkout and the files that scanning adds
	Cache  int64 // bytes of cached repositories
	Files  int   // number of files in a checkout
	// Processes is the maximum number of concurrent processes of the scanner.
	Processes int
}

// DefaultLimits returns the limits of a runner without configured limits.
func DefaultLimits() Limits {
	return Limits{Memory: 4 << 30, Disk: 8 << 30, Cache: 20 << 30, Files: 500_000, Processes: 1024}
}

// Runner executes runs, one at a time.
type Runner struct {
	Config
	sandbox  sandbox
	unlock   func() error // of Dir; stored here, the lock lasts as long as the runner
	onResult func([]byte) // receives the result of a scan; only for tests
}

// Timeouts of the loop.
const (
	leaseWait = 25              // seconds, in one call
	errorWait = 5 * time.Second // after a failed call
)

// New creates a runner. It removes leftovers of an earlier runner in the directory, except the
// cache.
func New(ctx context.Context, c Config) (*Runner, error) {
	var err error
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, err
	}
	r := &Runner{Config: c}
	if err := os.MkdirAll(r.cacheDir(), 0o700); err != nil {
		return nil, err
	}
	if r.unlock, err = lockDir(r.Dir); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// prepare clears the directory of runs and selects the sandbox.
func (r *Runner) prepare(ctx context.Context) (err error) {
	if err := removeAll(r.runsDir()); err != nil {
		return err
	}
	if err := os.MkdirAll(r.runsDir(), 0o700); err != nil {
		return err
	}
	r.sandbox, err = newSandbox(ctx, r.Config)
	return err
}

// Close releases the directory. No run may be active.
func (r *Runner) Close() error { return r.unlock() }

// Forget removes the cached repositories and the leftovers of runs. No run may be active.
func (r *Runner) Forget() error {
	return errors.Join(removeAll(r.cacheDir()), removeAll(r.runsDir()), os.Mkdir(r.cacheDir(), 0o700),
		os.Mkdir(r.runsDir(), 0o700))
}

// Remove deletes the directory of a former runner, including its repositories. It fails if a runner
// uses the directory.
func Remove(dir string) error {
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(removeAll(dir), unlock())
}

// Isolates reports whether scanners have no access to the network and to other files.
func (r *Runner) Isolates() bool { return r.sandbox.isolates() }

// IsolatedBy describes the isolation of scanners for display.
func (r *Runner) IsolatedBy() string { return r.sandbox.String() }

func (r *Runner) cacheDir() string { return filepath.Join(r.Dir, "cache") }
func (r *Runner) runsDir() string  { return filepath.Join(r.Dir, "runs") }

// ErrToken means that the server rejects the runner's token: it was revoked, has expired, or its
// deployment was deleted.
var ErrToken = errors.New("the server no longer accepts this token")

// Run executes runs until the context is canceled. It then reports the active run as failed. It
// returns ErrToken if the token is rejected.
func (r *Runner) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		worked, err := r.RunOne(ctx, leaseWait)
		if no := Refused(err); no != nil {
			return no
		}
		if err != nil && ctx.Err() == nil {
			r.Logger.Warn("leasing or reporting a run failed", "error", err)
		}
		if err != nil && !worked {
			select {
			case <-ctx.Done():
			case <-time.After(errorWait):
			}
		}
	}
	return nil
}

// Refused returns an error if err means that the server rejects the runner: ErrToken for an invalid
// token. Otherwise it returns nil.
func Refused(err error) error {
	p, is := errors.AsType[*api.Problem](err)
	switch {
	case is && p.Code == api.CodeUnauthenticated:
		return fmt.Errorf("%w: %w", ErrToken, err)
	case is && (p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden):
		return fmt.Errorf("the server does not allow runs with this token: %w", err)
	}
	return nil
}

// RunOne leases a run, waiting for one up to the given seconds, and executes it. worked is false if
// there was none.
func (r *Runner) RunOne(ctx context.Context, seconds int) (worked bool, err error) {
	leased, err := r.Client.LeaseRun(ctx, api.LeaseRunRequest{
		Name:      r.Name,
		Labels:    append([]string{}, r.Labels...),
		Version:   r.Version,
		Isolation: r.IsolatedBy(),
		Wait:      seconds,
	})
	if err != nil || leased == nil {
		return false, err
	}
	r.Logger.Info("run started", "run", leased.ID, "project", leased.Project, "kind", leased.Kind,
		"attempt", leased.Attempt)
	end, err := r.make(ctx, leased)
	if errors.Is(err, api.ErrRunLost) {
		r.Logger.Info("run was reassigned", "run", leased.ID)
		return true, nil
	}
	r.Logger.Info("run ended", "run", leased.ID, "state", end.State, "reason", end.Reason)
	return true, err
}

// errTime is the cause of a context whose run exceeded its time limit.
var errTime = errors.New("the run exceeded its time limit")

// finishWithin is the time a stopping runner has to report the outcome of its run.
const finishWithin = 10 * time.Second

// make executes one run and reports the outcome.
func (r *Runner) make(parent context.Context, leased *api.LeasedRun) (end api.FinishRunRequest, err error) {
	ctx, cancel := context.WithTimeoutCause(parent, time.Duration(leased.Limits.Seconds)*time.Second, errTime)
	defer cancel()
	progress := newProgressReporter(r.Client, leased)
	ctx, stop := progress.follow(ctx)
	scanID, workErr := r.work(ctx, leased, progress)
	lost := stop()
	if lost != nil {
		return end, lost
	}
	end = outcome(parent, ctx, workErr)
	end.Claim, end.ScanID, end.Reason = leased.Claim, scanID, progress.hide.clean(end.Reason)
	within := model.RunLease
	if parent.Err() != nil {
		within = finishWithin
	}
	reportCtx, cancelReport := context.WithTimeout(context.WithoutCancel(parent), within)
	defer cancelReport()
	return end, retryReport(reportCtx, func(ctx context.Context) error {
		if err := progress.flush(ctx); err != nil {
			return err
		}
		_, err := r.Client.FinishRun(ctx, leased.ID, end)
		return err
	})
}

// outcome converts the result of a run to a request of the protocol.
func outcome(parent, ctx context.Context, err error) api.FinishRunRequest {
	var f *failure
	switch {
	case err == nil:
		return api.FinishRunRequest{State: "done"}
	case parent.Err() != nil:
		return api.FinishRunRequest{State: "failed", Failure: "transient", Reason: "the runner was stopped"}
	case errors.Is(context.Cause(ctx), errTime):
		return api.FinishRunRequest{State: "timed_out", Reason: errTime.Error()}
	case errors.As(err, &f):
		return api.FinishRunRequest{State: "failed", Failure: f.class, Reason: f.reason}
	}
	return api.FinishRunRequest{State: "failed", Failure: "transient", Reason: "the runner failed: " + err.Error()}
}

// failure is an error with a class and a reason for users.
type failure struct{ class, reason string }

func (f *failure) Error() string { return f.reason }

func permanent(format string, args ...any) error {
	return &failure{"permanent", fmt.Sprintf(format, args...)}
}

func transient(format string, args ...any) error {
	return &failure{"transient", fmt.Sprintf(format, args...)}
}

// work fetches, checks out and scans in a temporary directory.
func (r *Runner) work(
	ctx context.Context, leased *api.LeasedRun, progress *progressReporter,
) (scanID string, err error) {
	dir, err := os.MkdirTemp(r.runsDir(), "run-*")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, removeAll(dir)) }()
	defer r.trimCache()
	for _, part := range []string{"home", "src", "out", "private"} {
		if err := os.Mkdir(filepath.Join(dir, part), 0o700); err != nil {
			return "", err
		}
	}
	progress.state("fetching")
	f := &fetch{Runner: r, run: leased, dir: dir, progress: progress}
	if err := f.fetch(ctx); err != nil {
		return "", err
	}
	progress.found(f.ref, f.commit)
	progress.state("scanning")
	// the run's token permits uploads for the reported ref and commit only
	if err := progress.flushWithRetry(ctx); err != nil {
		return "", err
	}
	if err := f.checkOut(ctx); err != nil {
		return "", err
	}
	s := &scan{Runner: r, run: leased, fetched: f, dir: dir, progress: progress}
	return s.scan(ctx)
}
