package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
)

type serveCmd struct {
	config.Storage
	config.Server
	Deployment string `help:"Slug of the deployment to create at the first start." default:"default" env:"REDOUBT_DEPLOYMENT" placeholder:"SLUG"`
	starterFlag
	LogFormat string `help:"Log format: json or text." enum:"json,text" default:"json" env:"REDOUBT_LOG_FORMAT"`
}

// Run serves until it is told to stop.
func (c serveCmd) Run(a *app) error {
	if err := c.Check(); err != nil {
		return err
	}
	a.log = slog.New(slog.NewTextHandler(a.err, nil))
	if c.LogFormat == "json" {
		a.log = slog.New(slog.NewJSONHandler(a.err, &slog.HandlerOptions{ReplaceAttr: seconds}))
	}
	st, err := a.create(c.Storage)
	if err != nil {
		return err
	}
	return errors.Join(c.serve(a, st), st.Close())
}

// seconds writes durations as the number of seconds that log tools expect.
func seconds(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() == slog.KindDuration {
		attr.Value = slog.Float64Value(attr.Value.Duration().Seconds())
	}
	return attr
}

func (c serveCmd) serve(a *app, st *store.Store) error {
	s, err := newService(a, c.Server, st)
	if err != nil {
		return err
	}
	s.storage = c.Storage
	first, err := c.firstStart(a, st)
	if err != nil {
		return errors.Join(err, s.close())
	}
	return s.run(a, func() error {
		a.log.Info("redoubt answers", "url", s.baseURL(), "version", version, "store", st.Engine())
		if first.Token != "" {
			fmt.Fprintf(a.out, "Deployment %q was made. Its token, shown this once:\n\n    %s\n\n", first.DeploymentSlug, first.Token)
		}
		setup, err := c.setupLink(a, st, s.baseURL())
		if err != nil {
			return err
		}
		if setup != "" {
			fmt.Fprintf(a.out, "There is no admin yet. This link makes one; it works once, for a day:\n\n    %s\n\n", setup)
		}
		if c.ReadyFile == "" {
			return nil
		}
		if first.Token == "" {
			if first, err = readyToken(a, st, c.Deployment); err != nil {
				return err
			}
		}
		first.BaseURL, first.SetupURL = s.baseURL(), setup
		return first.write(s, c.ReadyFile)
	})
}

// ready is the content of the ready file: all that a script needs to start.
type ready struct {
	BaseURL        string `json:"base_url"`
	DeploymentID   string `json:"deployment_id"`
	DeploymentSlug string `json:"deployment_slug"`
	Token          string `json:"token"`
	SetupURL       string `json:"setup_url,omitempty"`   // makes the first admin, once
	SignInURL      string `json:"sign_in_url,omitempty"` // of the demo: signs its admin in, once
}

func (r ready) write(s *service, file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.writeReadyFile(file, append(text, '\n'))
}

// setupFor is how long the setup link of a start is good for.
const setupFor = 24 * time.Hour

// setupLink makes a link for the first admin of the deployment; none where there
// is one already.
func (c serveCmd) setupLink(a *app, st *store.Store, base string) (string, error) {
	d, err := tenant{Deployment: c.Deployment}.find(a.ctx, st)
	if err != nil {
		return "", nil //nolint:nilerr // the deployment to make at the first start was renamed or deleted since
	}
	var members []redoubt.Member
	err = st.View(a.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
		members, err = tx.Members(ctx)
		return err
	})
	if err != nil || slices.ContainsFunc(members, func(m redoubt.Member) bool { return m.Role == redoubt.RoleAdmin }) {
		return "", err
	}
	return newLink(a, st, redoubt.UserLink{Kind: redoubt.LinkSetup, Deployment: d.ID}, setupFor, base)
}

// firstStart makes the first deployment and its token where there is none yet,
// and returns an empty ready where there is.
func (c serveCmd) firstStart(a *app, st *store.Store) (ready, error) {
	all, err := st.Deployments(a.ctx)
	if err != nil || len(all) > 0 {
		return ready{}, err
	}
	d, err := st.CreateDeployment(a.ctx, c.Deployment, c.Deployment, a.actor(), c.rules)
	if err != nil {
		return ready{}, err
	}
	return newToken(a, st, d, "first token")
}

// newToken makes a token that opens everything there is to a client.
func newToken(a *app, st *store.Store, d redoubt.Deployment, name string) (ready, error) {
	r := ready{DeploymentID: fmt.Sprint(d.ID), DeploymentSlug: d.Slug}
	err := st.Update(a.ctx, d.ID, a.actor(), func(ctx context.Context, tx *store.Tx) (err error) {
		r.Token, _, err = mint(ctx, tx, redoubt.Token{
			Name: name, Scopes: []redoubt.Scope{redoubt.ScopeWebAPI, redoubt.ScopeCI}, Dialect: redoubt.DialectContract,
		})
		return err
	})
	return r, err
}

// readyTokenName is that of the token in the ready file of a later start.
const readyTokenName = "ready file"

// readyToken makes a new token for the ready file: those made before cannot be
// shown again. The one of the start before is revoked.
func readyToken(a *app, st *store.Store, slug string) (ready, error) {
	d, err := tenant{Deployment: slug}.find(a.ctx, st)
	if err != nil {
		if d, err = (tenant{}).find(a.ctx, st); err != nil {
			return ready{}, err
		}
	}
	err = st.Update(a.ctx, d.ID, a.actor(), func(ctx context.Context, tx *store.Tx) error {
		tokens, err := tx.Tokens(ctx)
		for _, t := range tokens {
			if err == nil && t.Name == readyTokenName && t.RevokedAt.IsZero() {
				err = tx.RevokeToken(ctx, t.ID)
			}
		}
		return err
	})
	if err != nil {
		return ready{}, err
	}
	return newToken(a, st, d, readyTokenName)
}
