package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
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
func (s *service) openClones(ring keyring.Ring) error {
	sealer, err := ring.Sealer("connections")
	if err == nil {
		s.scanner.CloneSource = s.cloneSource(scm.NewVault(sealer))
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
	known := map[int64]bool{}
	for ctx.Err() == nil {
		deployments, err := s.store.Deployments(ctx)
		for _, d := range deployments {
			if err != nil || known[d.ID] {
				continue
			}
			var r *runner.Runner
			if r, err = s.ownRunner(ctx, a, d, transport); err == nil {
				known[d.ID] = true
				runners.Go(func() { s.logRunner(ctx, d, r.Run(ctx)) })
			}
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("the built-in runner cannot begin; it is tried again", "error", err)
		}
		wait := ownRunnerEvery
		if len(known) == 0 { // a server that starts for the first time makes its deployment meanwhile
			wait = ownRunnerFirst
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

func (s *service) logRunner(ctx context.Context, d redoubt.Deployment, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.Error("the built-in runner ended", "deployment", d.Slug, "error", err)
	}
}

// ownRunner makes the runner of a deployment, with a token that takes the place of the one
// before.
func (s *service) ownRunner(ctx context.Context, a *app, d redoubt.Deployment, transport http.RoundTripper) (*runner.Runner, error) {
	base, err := url.Parse(s.baseURL())
	if err != nil {
		return nil, err
	}
	base.Scheme = "http" // the pipe has no TLS; links are the public address's
	c, err := runnerConfig(a, "")
	if err != nil {
		return nil, err
	}
	var token string
	err = s.store.Update(ctx, d.ID, redoubt.Actor{Kind: "system", Name: ownRunnerName}, func(ctx context.Context, tx *store.Tx) error {
		tokens, err := tx.Tokens(ctx)
		for _, t := range tokens {
			if err == nil && t.Name == ownRunnerName && t.UserID == 0 && t.RevokedAt.IsZero() {
				err = tx.RevokeToken(ctx, t.ID)
			}
		}
		if err == nil {
			token, _, err = mint(ctx, tx, redoubt.Token{Name: ownRunnerName, Scopes: []redoubt.Scope{redoubt.ScopeRunner}, Dialect: redoubt.DialectContract})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	c.Client = &api.Client{BaseURL: base.String(), Token: token, HTTP: &http.Client{Transport: transport}, UserAgent: "redoubt-runner/" + version}
	c.Server, c.Transport, c.Name = base, transport, ownRunnerName
	c.Dir = filepath.Join(s.storage.Data, "runner", fmt.Sprint(d.ID))
	c.Local = s.config.RunnerLocal
	return runner.New(ctx, c)
}

// cloneSource tells a runner where a project's repository is, with the credential of its
// connection.
func (s *service) cloneSource(vault *scm.Vault) func(context.Context, *store.Tx, redoubt.Project) (redoubt.CloneSource, error) {
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
			return out, errors.New("the token of a GitHub App's installation is not made for runs: connect with a token")
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
