// Package embedded executes managed runs within the process of a server, and queues them for
// pushes, change requests and schedules. It also contains the command for a runner on another
// machine.
package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/runner"
	"github.com/redoubt/redoubt/internal/store"
)

// ownRunnerName is the name of a built-in runner and of its token.
const ownRunnerName = "built-in runner"

// seenEvery is the interval at which built-in runners update their last-seen time and follow
// created and deleted deployments.
const (
	seenEvery  = time.Minute
	idleRunner = time.Minute // delay when no queued run can start, as their host has enough runs
	seenFirst  = time.Second // at the first start, which concurrently creates the deployment
)

// Config contains the dependencies of the built-in runners.
type Config struct {
	App     *command.App
	Config  config.Server
	Storage config.Storage
	Store   *store.Store
	BaseURL func() string // address of the server
	// Serve returns a server of the Web API for connections within the process.
	Serve      func(context.Context) *http.Server
	LogFailure func(ctx context.Context, d model.Deployment, doing string, err error)
}

// Runners executes managed runs of all deployments with the protocol of external runners, on
// connections within the process. The queue schedules and limits them.
type Runners struct {
	Config
	pipe      *pipe
	transport *http.Transport
	working   sync.WaitGroup

	mu       sync.Mutex
	of       map[int64]*ownRunner
	reported sync.Map // by deployment: the error of creating its runner, logged once
}

// NewRunners returns the runners of a server.
func NewRunners(c Config) *Runners {
	p := newPipe()
	return &Runners{
		Config: c, pipe: p,
		transport: &http.Transport{DialContext: p.dial, MaxIdleConns: 8, IdleConnTimeout: time.Minute},
		of:        map[int64]*ownRunner{},
	}
}

// Background serves the runners until work ends and no run is left. It updates their last-seen
// times until ctx ends.
func (o *Runners) Background(ctx, work context.Context) {
	server := o.Serve(context.WithoutCancel(ctx)) // stopping runners still report their runs
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(o.pipe); err != nil && work.Err() == nil {
			o.App.Log.Error("the connection of the built-in runner failed", "error", err)
		}
	})
	for ctx.Err() == nil {
		wait := seenEvery
		if o.Update(ctx) == 0 {
			wait = seenFirst
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	<-work.Done()
	o.working.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for id := range o.of {
		o.closeRunner(id)
	}
	_ = server.Close() // all clients have stopped
	serving.Wait()
}

// Update creates missing runners, closes those of deleted deployments, and updates last-seen times.
// It returns the number of deployments.
func (o *Runners) Update(ctx context.Context) int {
	deployments, err := o.Store.Deployments(ctx)
	if err != nil {
		o.LogFailure(ctx, model.Deployment{}, "listing the deployments for the built-in runner", err)
		return 0
	}
	o.forget(deployments)
	for _, d := range deployments {
		r, err := o.runner(ctx, d)
		if err != nil {
			continue // already logged, and retried later
		}
		o.LogFailure(ctx, d, "recording the contact of the built-in runner", r.touch(ctx))
	}
	return len(deployments)
}

// runner returns the runner of a deployment, and creates it if necessary. It logs each error once.
func (o *Runners) runner(ctx context.Context, d model.Deployment) (*ownRunner, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r := o.of[d.ID]; r != nil {
		return r, nil
	}
	r, err := o.ownRunner(ctx, d, o.transport)
	if err == nil {
		if err = r.register(ctx); err != nil {
			err = errors.Join(err, r.runner.Close())
		}
	}
	if err != nil {
		if why, _ := o.reported.Load(d.ID); err.Error() != why && ctx.Err() == nil {
			o.reported.Store(d.ID, err.Error())
			o.App.Log.Error("the built-in runner cannot start; retrying", "deployment", d.Slug, "error", err)
		}
		return nil, err
	}
	o.reported.Delete(d.ID)
	o.of[d.ID] = r
	return r, nil
}

// Work is the queue.Work of store.RunJob: it executes one queued run, if any, and adds the next
// job.
func (o *Runners) Work(ctx context.Context, j model.Job) (result []byte, media string, err error) {
	o.working.Add(1)
	defer o.working.Done()
	d := model.Deployment{}
	err = o.Store.View(ctx, j.DeploymentID, func(_ context.Context, tx *store.Tx) error {
		d = tx.Deployment()
		return nil
	})
	if errors.Is(err, model.ErrNotFound) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	r, err := o.runner(ctx, d)
	if err != nil {
		return nil, "", queue.WaitError{Wait: time.Second, Reason: "the built-in runner cannot start: " + err.Error()}
	}
	worked, err := r.runOne(ctx)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, "", err
	}
	return nil, "", o.Store.Update(ctx, d.ID, ownRunnerActor, func(ctx context.Context, tx *store.Tx) error {
		from := tx.Now()
		if !worked { // no queued run can start: their host has enough runs
			from = from.Add(idleRunner)
		}
		return tx.QueueNextRun(ctx, from)
	})
}

// Accepts reports whether the runner of a deployment could be created. If not, other servers
// execute its runs.
func (o *Runners) Accepts(deploymentID int64) bool {
	_, reported := o.reported.Load(deploymentID)
	return !reported
}

// closeRunner releases the directory of a runner without a run.
func (o *Runners) closeRunner(id int64) {
	r := o.of[id]
	if !r.busy.TryLock() {
		return
	}
	defer r.busy.Unlock()
	if err := r.runner.Close(); err != nil {
		o.App.Log.Warn("the folder of the built-in runner could not be unlocked",
			"deployment", r.deployment.Slug, "error", err)
	}
	delete(o.of, id)
}

// forget closes the runners of deleted deployments and removes their directories with all
// repositories. This includes deployments that were deleted while no server was running.
func (o *Runners) forget(deployments []model.Deployment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	exists := map[int64]bool{}
	for _, d := range deployments {
		exists[d.ID] = true
	}
	for id := range o.of {
		if !exists[id] {
			o.closeRunner(id)
		}
	}
	o.reported.Range(func(id, _ any) bool {
		if !exists[id.(int64)] { //nolint:forcetypeassert // the keys are ids
			o.reported.Delete(id)
		}
		return true
	})
	entries, err := os.ReadDir(filepath.Join(o.Storage.Data, "runner"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, e := range entries {
		if id, other := strconv.ParseInt(e.Name(), 10, 64); other == nil && !exists[id] && o.of[id] == nil {
			err = errors.Join(err, command.RemoveRunnerFolder(o.Storage, id))
		}
	}
	if err != nil {
		o.App.Log.Warn(
			"repositories of a deleted deployment could not be removed from the built-in runner; retrying", "error", err,
		)
	}
}

// ownRunner is the built-in runner of a deployment.
type ownRunner struct {
	Config
	deployment model.Deployment
	runner     *runner.Runner
	client     *api.Client // of the runner
	name       string      // of its token; unique per server
	tokenID    int64
	busy       sync.Mutex // held during a run
}

// ownRunner creates the runner of a deployment, without a token.
func (c Config) ownRunner(
	ctx context.Context, d model.Deployment, transport http.RoundTripper,
) (*ownRunner, error) {
	base, err := url.Parse(c.BaseURL())
	if err != nil {
		return nil, err
	}
	base.Scheme = "http" // the pipe has no TLS; links use the public address
	r, err := runnerConfig(c.App, "")
	if err != nil {
		return nil, err
	}
	reach, err := command.NetworkReach(c.Config.Outbound)
	if err != nil {
		return nil, err
	}
	out := &ownRunner{Config: c, deployment: d, client: &api.Client{
		BaseURL: base.String(), HTTP: &http.Client{Transport: transport}, UserAgent: "redoubt-runner/" + about.Version,
	}}
	r.Client, r.Server, r.Transport, r.Name, r.Resolve = out.client, base, transport, ownRunnerName, reach.Resolve
	if machine, err := os.Hostname(); err == nil {
		r.Name += " of " + machine
	}
	r.Dir = command.RunnerFolder(c.Storage, d.ID)
	r.Local = c.Config.Local
	r.Isolation = cmp.Or(runner.Isolation(c.Config.Isolation), runner.IsolateAlways)
	if out.runner, err = runner.New(ctx, r); err != nil {
		return nil, fmt.Errorf("%w (redoubt serve --isolation sets the isolation of scanners)", err)
	}
	id, err := ownID(filepath.Join(r.Dir, command.RunnerIDFile))
	if err != nil {
		return nil, errors.Join(err, out.runner.Close())
	}
	if !out.runner.Isolates() {
		c.App.Log.Warn("the built-in runner scans without a sandbox: hostile code could read the server's files, "+
			"including its key file and database", "deployment", d.Slug, "isolation", out.runner.IsolatedBy())
	}
	out.name = ownRunnerName + " " + id
	return out, nil
}

// ownID returns the id of a runner's directory. It creates the file with a random id if it does not
// exist.
func ownID(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text()[:10])
		err = os.WriteFile(file, text, 0o600)
	}
	return model.Line(strings.TrimSpace(string(text))), err
}

// ownTokenLasts is the lifetime of a built-in runner's token. The token is replaced when it
// expires, and that of a removed server ends.
const ownTokenLasts = 30 * 24 * time.Hour

// touch updates the last-seen time, and replaces a revoked or expired token. During a run its
// progress updates the time.
func (r *ownRunner) touch(ctx context.Context) error {
	if !r.busy.TryLock() {
		return nil
	}
	defer r.busy.Unlock()
	found, err := r.Store.TouchRunner(ctx, r.deployment.ID, r.tokenID)
	if err != nil || found {
		return err
	}
	return r.register(ctx)
}

// runOne executes a queued run, if any. It replaces a revoked or expired token.
func (r *ownRunner) runOne(ctx context.Context) (worked bool, err error) {
	r.busy.Lock()
	defer r.busy.Unlock()
	if worked, err = r.runner.RunOne(ctx, 0); runner.Refused(err) == nil {
		return worked, err
	}
	if err := r.register(ctx); err != nil {
		return false, err
	}
	return r.runner.RunOne(ctx, 0)
}

// ownRunnerActor is the audit actor of built-in runners.
var ownRunnerActor = model.Actor{Kind: "system", Name: ownRunnerName}

// register creates a token, revokes the previous one of this server, and updates the last-seen
// time.
func (r *ownRunner) register(ctx context.Context) error {
	return r.Store.Update(ctx, r.deployment.ID, ownRunnerActor, func(ctx context.Context, tx *store.Tx) error {
		tokens, err := tx.Tokens(ctx)
		for _, t := range tokens {
			if err == nil && t.Name == r.name && t.UserID == 0 && t.RevokedAt.IsZero() {
				err = tx.RevokeToken(ctx, t.ID)
			}
		}
		if err != nil {
			return err
		}
		token, made, err := command.CreateToken(ctx, tx, model.Token{
			Name: r.name, Scopes: []model.Scope{model.ScopeRunner},
			Dialect: model.DialectContract, ExpiresAt: tx.Now().Add(ownTokenLasts),
		})
		if err != nil {
			return err
		}
		r.client.Token, r.tokenID = token, made.ID
		_, err = tx.RecordRunnerContact(ctx, model.Runner{
			Name: r.runner.Name, TokenID: made.ID, Version: r.runner.Version, Isolation: r.runner.IsolatedBy(),
		})
		return err
	})
}

// pipe is a listener for connections within the process.
type pipe struct {
	calls chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipe() *pipe { return &pipe{calls: make(chan net.Conn), done: make(chan struct{})} }

// Accept implements net.Listener.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr implements net.Listener.
func (p *pipe) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.calls <- local{far, p.Addr()}:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// local is a connection with a loopback remote address.
type local struct {
	net.Conn
	from net.Addr
}

// RemoteAddr implements net.Conn.
func (l local) RemoteAddr() net.Addr { return l.from }
