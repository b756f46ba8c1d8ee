// Package runner makes managed runs: it asks a server for one, fetches the repository,
// checks it out, has it scanned and says how that went.
//
// Its border: it knows the wire (api) and git, and is handed the program that scans. What
// is under test is hostile. Nothing of it is run here: git is told to run nothing that a
// repository names, files are written by this package and not by git, and the scanner runs
// where it sees the checkout and nothing else.
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

// Config is what a runner is made of.
type Config struct {
	// Client asks the server for runs.
	Client *api.Client
	// Server is where scans are uploaded, by Transport; nil takes http.DefaultTransport.
	Server    *url.URL
	Transport http.RoundTripper

	Name    string
	Labels  []string
	Version string

	// Dir holds the cache of repositories and the folders of runs. No other runner may
	// work in it.
	Dir string
	// Program is this program, which scans and is its own way out of the sandbox.
	Program string
	// Path is where git and bubblewrap are looked for, as in the variable PATH.
	Path string
	// Semgrep is the scanner; empty scans lockfiles alone.
	Semgrep string
	// Isolation says how scanners are kept in.
	Isolation Isolation
	// Resolve finds the address that a host may be fetched from, which git is held to:
	// model.ErrUnavailable where another try may help, any other error where none is
	// allowed. Nil leaves it to git.
	Resolve func(ctx context.Context, host string) (netip.Addr, error)
	// Local lets repositories be folders of this machine, as file:///srv/x.git.
	Local bool

	Limits Limits
	Logger *slog.Logger
}

// Limits bound one run.
type Limits struct {
	Memory int64 // bytes that the scanner and what it starts may take together
	Disk   int64 // bytes that a checkout, and what scanning it leaves, may take
	Cache  int64 // bytes of repositories that are kept for the next runs
	Files  int   // of a checkout
	// Processes is how many the scanner may have at a time.
	Processes int
}

// DefaultLimits are those of a runner that is told none.
func DefaultLimits() Limits {
	return Limits{Memory: 4 << 30, Disk: 8 << 30, Cache: 20 << 30, Files: 500_000, Processes: 1024}
}

// Runner makes runs, one at a time.
type Runner struct {
	Config
	sandbox  sandbox
	unlock   func() error // of Dir; kept here, the lock lasts as long as the runner
	onResult func([]byte) // hears what a scan wrote; nil but in tests
}

// Waits of the loop.
const (
	leaseWait = 25              // seconds, in one call
	errorWait = 5 * time.Second // after a call that failed
)

// New makes a runner. What a runner before it left in the folder goes, but for its cache.
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

// prepare empties the folder of runs, and finds out how scanners are kept in.
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

// Close leaves the folder to another runner. Nothing may be under way.
func (r *Runner) Close() error { return r.unlock() }

// Forget removes the repositories that are kept for the next runs, and what a run left.
// Nothing may be under way.
func (r *Runner) Forget() error {
	return errors.Join(removeAll(r.cacheDir()), removeAll(r.runsDir()), os.Mkdir(r.cacheDir(), 0o700),
		os.Mkdir(r.runsDir(), 0o700))
}

// Remove removes the folder of a runner that is no more, with all repositories in it. It is an
// error where a runner works there.
func Remove(dir string) error {
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(removeAll(dir), unlock())
}

// Isolates reports whether scanners are kept from the network and the rest of the disk.
func (r *Runner) Isolates() bool { return r.sandbox.isolates() }

// IsolatedBy says for people how scanners are kept in.
func (r *Runner) IsolatedBy() string { return r.sandbox.String() }

func (r *Runner) cacheDir() string { return filepath.Join(r.Dir, "cache") }
func (r *Runner) runsDir() string  { return filepath.Join(r.Dir, "runs") }

// ErrToken means that the server takes the runner's token no more: it was revoked, has
// expired, or went with its deployment.
var ErrToken = errors.New("the server takes this token no more")

// Run makes runs until the context ends; the one under way is told to be lost then. A token that
// is taken no more is ErrToken.
func (r *Runner) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		worked, err := r.RunOne(ctx, leaseWait)
		if no := Refused(err); no != nil {
			return no
		}
		if err != nil && ctx.Err() == nil {
			r.Logger.Warn("no run could be taken or told of", "error", err)
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
		return fmt.Errorf("the server lets this token take no runs: %w", err)
	}
	return nil
}

// RunOne takes a run, waiting some seconds for one, and makes it. worked is false where
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
	r.Logger.Info("run begins", "run", leased.ID, "project", leased.Project, "kind", leased.Kind,
		"attempt", leased.Attempt)
	end, err := r.make(ctx, leased)
	if errors.Is(err, api.ErrRunLost) {
		r.Logger.Info("run was taken away", "run", leased.ID)
		return true, nil
	}
	r.Logger.Info("run ended", "run", leased.ID, "state", end.State, "reason", end.Reason)
	return true, err
}

// errTime is the cause of a context whose run took too long.
var errTime = errors.New("the run took longer than it may")

// finishWithin bounds how long a runner that stops tells of its run.
const finishWithin = 10 * time.Second

// make makes one run and tells how it ended.
func (r *Runner) make(parent context.Context, leased *api.LeasedRun) (end api.FinishRunRequest, err error) {
	ctx, cancel := context.WithTimeoutCause(parent, time.Duration(leased.Limits.Seconds)*time.Second, errTime)
	defer cancel()
	tell := newTeller(r.Client, leased)
	ctx, stop := tell.follow(ctx)
	scanID, workErr := r.work(ctx, leased, tell)
	lost := stop()
	if lost != nil {
		return end, lost
	}
	end = outcome(parent, ctx, workErr)
	end.Claim, end.ScanID, end.Reason = leased.Claim, scanID, tell.hide.clean(end.Reason)
	within := model.RunLease
	if parent.Err() != nil {
		within = finishWithin
	}
	told, cancelTold := context.WithTimeout(context.WithoutCancel(parent), within)
	defer cancelTold()
	return end, again(told, func(ctx context.Context) error {
		if err := tell.flush(ctx); err != nil {
			return err
		}
		_, err := r.Client.FinishRun(ctx, leased.ID, end)
		return err
	})
}

// outcome puts how the work ended into the words of the protocol.
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
	return api.FinishRunRequest{State: "failed", Failure: "transient", Reason: "the runner had trouble: " + err.Error()}
}

// failure is an end with its class and a reason for people.
type failure struct{ class, reason string }

func (f *failure) Error() string { return f.reason }

func permanent(format string, args ...any) error {
	return &failure{"permanent", fmt.Sprintf(format, args...)}
}

func transient(format string, args ...any) error {
	return &failure{"transient", fmt.Sprintf(format, args...)}
}

// work fetches, checks out and scans, in a folder that is gone afterwards.
func (r *Runner) work(ctx context.Context, leased *api.LeasedRun, tell *teller) (scanID string, err error) {
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
	tell.state("fetching")
	f := &fetch{Runner: r, run: leased, dir: dir, tell: tell}
	if err := f.fetch(ctx); err != nil {
		return "", err
	}
	tell.found(f.ref, f.commit)
	tell.state("scanning")
	if err := tell.flushAgain(ctx); err != nil { // the run's token uploads what the run is known to be about
		return "", err
	}
	if err := f.checkOut(ctx); err != nil {
		return "", err
	}
	s := &scan{Runner: r, run: leased, fetched: f, dir: dir, tell: tell}
	return s.scan(ctx)
}
