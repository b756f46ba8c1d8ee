package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

type serveCmd struct {
	config.Storage
	config.Server
	Deployment string `help:"Slug of the deployment that the first start creates." default:"default" env:"REDOUBT_DEPLOYMENT" placeholder:"SLUG"`
	admin.StarterFlag
	LogFormat string `help:"Log format: json or text." enum:"json,text" default:"json" env:"REDOUBT_LOG_FORMAT"`
}

// Run serves until the context is canceled.
func (c serveCmd) Run(a *command.App) error {
	if err := c.Check(); err != nil {
		return err
	}
	a.Log = slog.New(slog.NewTextHandler(a.Err, nil))
	if c.LogFormat == "json" {
		a.Log = slog.New(slog.NewJSONHandler(a.Err, &slog.HandlerOptions{ReplaceAttr: seconds}))
	}
	if len(a.Unknown) > 0 {
		a.Log.Warn("unknown environment variables are ignored", "variables", a.Unknown)
	}
	st, err := a.Create(c.Storage)
	if err != nil {
		return err
	}
	return errors.Join(c.serve(a, st), st.Close())
}

// seconds converts durations to seconds, as log tools expect.
func seconds(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() == slog.KindDuration {
		attr.Value = slog.Float64Value(attr.Value.Duration().Seconds())
	}
	return attr
}

// isLoopback reports whether a host is reachable from this machine only.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c serveCmd) serve(a *command.App, st *store.Store) error {
	s, err := newService(a, c.Storage, c.Server, st)
	if err != nil {
		return err
	}
	s.startIndex(a)
	s.checkFile(a.Ctx)
	// connections are accepted from here on, and wait until the server is ready
	a.Log.Info("redoubt is ready", "url", s.baseURL(), "version", about.Version, "store", st.Engine())
	if host, _, err := net.SplitHostPort(c.Addr); err == nil && c.PublicURL == "" && !isLoopback(host) {
		a.Log.Warn("links in responses and messages start with the listen address: set --public-url to the address "+
			"that clients use", "links", s.baseURL())
	}
	steps := &starting{serveCmd: c, service: s}
	return s.run(a, func() error { return steps.finishStart(a) })
}

// starting contains the remaining steps of a start that write to the database or print once. While
// the database accepts no writes, the server still runs and retries the failed step.
type starting struct {
	serveCmd
	service   *service
	first     *ready // nil until the first deployment was searched for
	announced bool
	setup     *string // nil until a link was created or found unnecessary
}

// finishStart executes the remaining steps. Concurrently starting servers execute them one after another.
// Otherwise, a server would replace a first token that another one is about to print.
func (s *starting) finishStart(a *command.App) error {
	return s.service.store.Exclusive(a.Ctx, func(context.Context) error { return s.steps(a) })
}

func (s *starting) steps(a *command.App) error {
	st, base := s.service.store, s.service.baseURL()
	if s.first == nil {
		first, err := s.firstStart(a, st)
		if err != nil {
			return err
		}
		s.first = &first
	}
	if s.ReadyFile == "" && !s.announced {
		s.first.announce(a.Out)
		s.announced = true
	}
	if s.setup == nil {
		setup, err := s.setupLink(a, st, base)
		if err != nil {
			return err
		}
		s.setup = &setup
		if s.ReadyFile == "" {
			ready{SetupURL: setup}.announce(a.Out)
		}
	}
	if err := s.writeReady(a, st, base); err != nil {
		return err
	}
	return markTokenShown(a, st)
}

// writeReady writes the ready file, if configured.
func (s *starting) writeReady(a *command.App, st *store.Store, base string) (err error) {
	if s.ReadyFile == "" {
		return nil
	}
	content := *s.first
	if content.Token == "" {
		if content, err = readyToken(a, st, s.Deployment); err != nil {
			return err
		}
	}
	content.BaseURL, content.SetupURL = base, *s.setup
	if err := content.write(s.service, s.ReadyFile); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, "A token, and a link that creates the first admin if there is none, are in the ready file. "+
		"Protect this file.")
	return nil
}

// ready is the content of the ready file, for scripts that use the server.
type ready struct {
	BaseURL        string `json:"base_url"`
	DeploymentID   string `json:"deployment_id"`
	DeploymentSlug string `json:"deployment_slug"`
	Token          string `json:"token"`
	SetupURL       string `json:"setup_url,omitempty"`   // creates the first admin, once
	SignInURL      string `json:"sign_in_url,omitempty"` // of the demo: signs in its admin, once
}

// announce prints the first token and the setup link. They are not printed if there is a ready
// file, because the output of a service is usually stored in logs.
func (r ready) announce(w io.Writer) {
	if r.Token != "" {
		fmt.Fprintf(w, "Created deployment %q. Its token, shown only once:\n\n    %s\n\n", r.DeploymentSlug, r.Token)
	}
	if r.SetupURL != "" {
		fmt.Fprintf(w, "Create the first admin with this link (valid once, for one day):\n\n    %s\n\n", r.SetupURL)
	}
}

func (r ready) write(s *service, file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.writeReadyFile(file, append(text, '\n'))
}

// setupFor is the validity of the setup link of a start.
const setupFor = 24 * time.Hour

// setupLink creates a link for the first admin of the deployment, or returns "" if there is an
// admin.
func (c serveCmd) setupLink(a *command.App, st *store.Store, base string) (string, error) {
	d, err := command.Tenant{Deployment: c.Deployment}.Find(a.Ctx, st)
	if errors.Is(err, model.ErrUnavailable) {
		return "", err
	}
	if err != nil {
		return "", nil //nolint:nilerr // the deployment to make at the first start was renamed or deleted since
	}
	var members []model.Member
	err = st.View(a.Ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
		members, err = tx.Members(ctx)
		return err
	})
	if err != nil || slices.ContainsFunc(members, func(m model.Member) bool { return m.Role == model.RoleAdmin }) {
		return "", err
	}
	return admin.NewLink(a, st, model.UserLink{Kind: model.LinkSetup, Deployment: d.ID}, setupFor, base)
}

// unprintedToken is the setting with the slug of the first deployment until its token was printed. It
// is written together with the token, so that the start after a killed one prints a new token.
const unprintedToken = "untold first token"

// firstTokenName is the name of the token that the first start prints.
const firstTokenName = "first token"

// firstStart creates the first deployment and its token in one transaction, if there is no
// deployment. If an earlier start was killed before it printed its token, that token is replaced.
// Otherwise it returns an empty ready.
func (c serveCmd) firstStart(a *command.App, st *store.Store) (r ready, err error) {
	unprinted, err := st.StoredSetting(a.Ctx, unprintedToken)
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return ready{}, err
	}
	if len(unprinted) > 0 {
		return c.replaceFirstToken(a, st, string(unprinted))
	}
	all, err := st.Deployments(a.Ctx)
	if err != nil || len(all) > 0 {
		return ready{}, err
	}
	_, err = st.CreateDeployment(a.Ctx, c.Deployment, c.Deployment, a.Actor(), c.Rules,
		func(ctx context.Context, tx *store.Tx) (err error) {
			if r, err = mintFor(ctx, tx, firstTokenName); err != nil {
				return err
			}
			return tx.PutSetting(ctx, unprintedToken, []byte(r.DeploymentID))
		})
	return r, err
}

// replaceFirstToken replaces the first token of a deployment. It returns an empty ready if the
// deployment was deleted.
func (c serveCmd) replaceFirstToken(a *command.App, st *store.Store, deployment string) (ready, error) {
	d, err := st.Deployment(a.Ctx, deployment)
	if errors.Is(err, model.ErrNotFound) {
		return ready{}, nil
	}
	if err != nil {
		return ready{}, err
	}
	return newToken(a, st, d, firstTokenName)
}

// markTokenShown records that the first token was printed.
func markTokenShown(a *command.App, st *store.Store) error {
	unprinted, err := st.StoredSetting(a.Ctx, unprintedToken)
	if errors.Is(err, model.ErrNotFound) || err == nil && len(unprinted) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return st.PutSetting(a.Ctx, unprintedToken, nil)
}

// newToken creates a token with all client scopes. It revokes the previous token with that name.
func newToken(a *command.App, st *store.Store, d model.Deployment, name string) (r ready, err error) {
	err = st.Update(a.Ctx, d.ID, a.Actor(), func(ctx context.Context, tx *store.Tx) error {
		tokens, err := tx.Tokens(ctx)
		for _, t := range tokens {
			if err == nil && t.Name == name && t.RevokedAt.IsZero() {
				err = tx.RevokeToken(ctx, t.ID)
			}
		}
		if err == nil {
			r, err = mintFor(ctx, tx, name)
		}
		return err
	})
	return r, err
}

func mintFor(ctx context.Context, tx *store.Tx, name string) (ready, error) {
	d := tx.Deployment()
	token, _, err := command.CreateToken(ctx, tx, model.Token{
		Name: name, Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}, Dialect: model.DialectContract,
	})
	return ready{DeploymentID: fmt.Sprint(d.ID), DeploymentSlug: d.Slug, Token: token}, err
}

// readyTokenName is the name of the token in the ready file of later starts.
const readyTokenName = "ready file"

// readyToken creates a new token for the ready file, because earlier ones cannot be shown again. It
// revokes the token of the previous start.
func readyToken(a *command.App, st *store.Store, slug string) (ready, error) {
	d, err := command.Tenant{Deployment: slug}.Find(a.Ctx, st)
	if err != nil {
		if d, err = (command.Tenant{}).Find(a.Ctx, st); err != nil {
			return ready{}, err
		}
	}
	return newToken(a, st, d, readyTokenName)
}
