package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/runner"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// ownRunnerName is that of the runner, and of its token, that a server has inside.
const ownRunnerName = "built-in runner"

// How often a server looks for deployments that have no runner yet, and for its first one.
const (
	ownRunnerEvery = 30 * time.Second
	ownRunnerFirst = time.Second
)

// beginRuns queues managed scans, and makes them where the server is to.
func (s *service) beginRuns(ctx context.Context, a *app, background *sync.WaitGroup) {
	background.Go(func() { s.scheduleRuns(ctx) })
	if s.config.Runner {
		background.Go(func() { s.ownRunners(ctx, a) })
	}
}

// openClones lets runners be told where repositories are, and what is shown there.
func (s *service) openClones(a *app, ring keyring.Ring) error {
	hosts, err := a.hosts(s.config.Outbound)
	if err != nil {
		return err
	}
	sealer, err := ring.Sealer("connections")
	if err == nil {
		s.scanner.CloneSource = s.cloneSource(scm.NewVault(sealer), hosts)
	}
	return err
}

// ownRunners takes runs for every deployment of the server until the context ends, over
// the same protocol as a runner elsewhere, on connections that never leave the process.
func (s *service) ownRunners(ctx context.Context, a *app) {
	pipe := newPipe()
	server := s.serve(context.WithoutCancel(ctx), a, s.server.Handler()) // a runner that stops tells of its run
	var runners, serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(pipe); err != nil && ctx.Err() == nil {
			s.log.Error("the built-in runner has no way to the server", "error", err)
		}
	})
	transport := &http.Transport{DialContext: pipe.dial, MaxIdleConns: 8, IdleConnTimeout: time.Minute}
	told, running := map[int64]string{}, map[int64]*ownRunner{}
	places := newRunPlaces(s.config.RunnerParallel)
	for wait := ownRunnerFirst; ctx.Err() == nil; { // a server that starts for the first time makes its deployment meanwhile
		deployments, err := s.store.Deployments(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("the built-in runner cannot begin; it is tried again", "error", err)
		}
		if err == nil {
			s.forgetOwnRunners(deployments, told, running)
		}
		for _, r := range s.beginOwnRunners(ctx, a, deployments, transport, told) {
			r.places, running[r.deployment.ID] = places, r
			runners.Go(func() { r.keepRunning(ctx) })
		}
		if len(told) > 0 {
			wait = ownRunnerEvery
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	runners.Wait()
	_ = server.Close() // nobody is left to speak with it
	serving.Wait()
}

// beginOwnRunners makes the runners of the deployments that have none. told has by
// deployment why there is none, and nothing where there is one: a reason is logged once,
// and keeps no other deployment waiting.
func (s *service) beginOwnRunners(ctx context.Context, a *app, deployments []redoubt.Deployment, transport http.RoundTripper, told map[int64]string) (begun []*ownRunner) {
	for _, d := range deployments {
		why, tried := told[d.ID]
		if tried && why == "" {
			continue
		}
		r, err := s.ownRunner(ctx, a, d, transport)
		if err == nil {
			told[d.ID], begun = "", append(begun, r)
			continue
		}
		if told[d.ID] = err.Error(); told[d.ID] != why && ctx.Err() == nil {
			s.log.Error("the built-in runner cannot begin; it is tried again", "deployment", d.Slug, "error", err)
		}
	}
	return begun
}

// forgetOwnRunners forgets the runners that have ended, and removes what those of deployments
// that are gone by now keep on the disk, repositories among it: also those that were deleted
// while no server ran.
func (s *service) forgetOwnRunners(deployments []redoubt.Deployment, told map[int64]string, running map[int64]*ownRunner) {
	for id, r := range running {
		select {
		case <-r.ended:
			delete(running, id)
			delete(told, id)
		default:
		}
	}
	there := map[int64]bool{}
	for _, d := range deployments {
		there[d.ID] = true
	}
	maps.DeleteFunc(told, func(id int64, _ string) bool { return !there[id] && running[id] == nil })
	entries, err := os.ReadDir(filepath.Join(s.storage.Data, "runner"))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, e := range entries {
		if id, other := strconv.ParseInt(e.Name(), 10, 64); other == nil && !there[id] && running[id] == nil {
			err = errors.Join(err, removeOwnRunner(s.storage, id))
		}
	}
	if err != nil {
		s.log.Warn("repositories of a deployment that is gone stay with the built-in runner; it is tried again", "error", err)
	}
}

// removeOwnRunner removes the folder of a deployment's runner, unless one works there. A folder
// that is none of a server's stays.
func removeOwnRunner(at config.Storage, deploymentID int64) error {
	dir := ownRunnerDir(at, deploymentID)
	if _, err := os.Stat(filepath.Join(dir, ownIDFile)); err != nil {
		return nil //nolint:nilerr // there is none
	}
	return runner.Remove(dir)
}

func ownRunnerDir(at config.Storage, deploymentID int64) string {
	return filepath.Join(at.Data, "runner", strconv.FormatInt(deploymentID, 10))
}

// ownRunner is the runner of a deployment that this server has inside.
type ownRunner struct {
	*service
	deployment redoubt.Deployment
	runner     *runner.Runner
	client     *api.Client // the runner's
	name       string      // of its token: another server's has another
	clock      func() time.Time
	places     *runPlaces // of the runs of all
	tokenID    int64
	seenAt     time.Time // when others were told last that it is there
	ended      chan struct{}
}

// ownRunner makes the runner of a deployment, which has no token yet.
func (s *service) ownRunner(ctx context.Context, a *app, d redoubt.Deployment, transport http.RoundTripper) (*ownRunner, error) {
	base, err := url.Parse(s.baseURL())
	if err != nil {
		return nil, err
	}
	base.Scheme = "http" // the pipe has no TLS; links are the public address's
	c, err := runnerConfig(a, "")
	if err != nil {
		return nil, err
	}
	reach, err := reachOf(s.config.Outbound)
	if err != nil {
		return nil, err
	}
	out := &ownRunner{ended: make(chan struct{}), service: s, deployment: d, clock: a.clock, client: &api.Client{BaseURL: base.String(), HTTP: &http.Client{Transport: transport}, UserAgent: "redoubt-runner/" + version}}
	c.Client, c.Server, c.Transport, c.Name, c.Resolve = out.client, base, transport, ownRunnerName, reach.Resolve
	if machine, err := os.Hostname(); err == nil {
		c.Name += " of " + machine
	}
	c.Dir = ownRunnerDir(s.storage, d.ID)
	c.Turn, c.Local = out.turn, s.config.Local
	c.Isolation = cmp.Or(runner.Isolation(s.config.Isolation), runner.IsolateAlways)
	if out.runner, err = runner.New(ctx, c); err != nil {
		return nil, fmt.Errorf("%w (redoubt serve --isolation says how scanners are kept in)", err)
	}
	id, err := ownID(filepath.Join(c.Dir, ownIDFile))
	if err != nil {
		return nil, errors.Join(err, out.runner.Close())
	}
	if !out.runner.Isolates() {
		s.log.Warn("the built-in runner scans without a sandbox: a scanner that hostile code takes over reads what the server reads, its key file and database among it", "deployment", d.Slug, "isolation", out.runner.IsolatedBy())
	}
	out.name = ownRunnerName + " " + id
	return out, nil
}

// ownIDFile is in the folder of a deployment's runner.
const ownIDFile = "id"

// ownID is what a folder's runner is told from others by, which it keeps there.
func ownID(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text = []byte(rand.Text()[:10])
		err = os.WriteFile(file, text, 0o600)
	}
	return redoubt.Line(strings.TrimSpace(string(text))), err
}

// ownTokenLasts is for how long the token of a runner in a server is in force: another is
// made then, and a server that is gone leaves none.
const ownTokenLasts = 30 * 24 * time.Hour

// keepRunning takes runs until the context ends, or the deployment is gone; with another
// token where the one it has is taken no more.
func (r *ownRunner) keepRunning(ctx context.Context) {
	defer close(r.ended)
	defer func() {
		if err := r.runner.Close(); err != nil {
			r.log.Warn("the folder of the built-in runner stays locked", "deployment", r.deployment.Slug, "error", err)
		}
	}()
	for ctx.Err() == nil {
		token, err := r.mintToken(ctx)
		wait := ownRunnerEvery
		if err == nil {
			r.client.Token, wait = token, ownRunnerFirst
			err = r.runner.Run(ctx)
		}
		if err == nil || ctx.Err() != nil || errors.Is(err, redoubt.ErrNotFound) {
			return
		}
		r.log.Warn("the built-in runner begins anew", "deployment", r.deployment.Slug, "cause", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// mintToken makes a token that takes the place of this server's one before.
func (r *ownRunner) mintToken(ctx context.Context) (token string, err error) {
	by := redoubt.Actor{Kind: "system", Name: ownRunnerName}
	err = r.store.Update(ctx, r.deployment.ID, by, func(ctx context.Context, tx *store.Tx) error {
		tokens, err := tx.Tokens(ctx)
		for _, t := range tokens {
			if err == nil && t.Name == r.name && t.UserID == 0 && t.RevokedAt.IsZero() {
				err = tx.RevokeToken(ctx, t.ID)
			}
		}
		if err != nil {
			return err
		}
		var made redoubt.Token
		token, made, err = mint(ctx, tx, redoubt.Token{
			Name: r.name, Scopes: []redoubt.Scope{redoubt.ScopeRunner}, Dialect: redoubt.DialectContract, ExpiresAt: tx.Now().Add(ownTokenLasts),
		})
		r.tokenID, r.seenAt = made.ID, time.Time{}
		return err
	})
	return token, err
}

// cloneSource tells a runner where a project's repository is, with the credential of its
// connection.
func (s *service) cloneSource(vault *scm.Vault, hosts scm.Config) func(context.Context, *store.Tx, redoubt.Project) (redoubt.CloneSource, error) {
	return func(ctx context.Context, tx *store.Tx, p redoubt.Project) (out redoubt.CloneSource, err error) {
		repository, err := tx.Repository(ctx, p.ID)
		if err == nil && !repository.Scannable() {
			err = redoubt.ErrNotFound
		}
		if err != nil {
			return out, err
		}
		connection, err := tx.Connection(ctx, repository.ConnectionID)
		if err != nil {
			return out, err
		}
		if !connection.Serves(repository.CloneURL) { // somebody wrote to the database: the credential goes nowhere else
			return out, fmt.Errorf("%s is not below the address of the connection %s, whose credential is for no other host", repository.CloneURL, connection.Name)
		}
		out.URL, out.WebURL = repository.CloneURL, repository.WebURL
		credential, err := vault.Open(tx.Deployment().ID, connection)
		if err != nil {
			return out, err
		}
		switch credential.Kind {
		case redoubt.CredentialToken, redoubt.CredentialPassword:
			out.Username, out.Password = credential.Basic(connection.Kind)
		case redoubt.CredentialSSHKey:
			out.SSHKey, out.KnownHosts = credential.Secret, credential.KnownHosts
		case redoubt.CredentialApp:
			out.Username = "x-access-token"
			out.Make = func(ctx context.Context) (string, error) {
				return hosts.CloneToken(ctx, connection, credential, repository)
			}
		}
		return out, nil
	}
}

// pipe is a listener whose connections never leave the process.
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

// local is a connection that says it comes from this machine.
type local struct {
	net.Conn
	from net.Addr
}

// RemoteAddr implements net.Conn.
func (l local) RemoteAddr() net.Addr { return l.from }
