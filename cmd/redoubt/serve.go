package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
)

type serveCmd struct {
	config.Storage
	config.Server
	Deployment string `help:"Deployment to make at the first start, by its slug." default:"default" env:"REDOUBT_DEPLOYMENT" placeholder:"SLUG"`
	LogFormat  string `help:"How to log: json or text." enum:"json,text" default:"json" env:"REDOUBT_LOG_FORMAT"`
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
	first, err := c.firstStart(a, st)
	if err != nil {
		return errors.Join(err, s.close())
	}
	return s.run(a, func() error {
		a.log.Info("redoubt answers", "url", s.baseURL(), "version", version, "store", st.Engine())
		if first.Token != "" {
			fmt.Fprintf(a.out, "Deployment %q was made. Its token, shown this once:\n\n    %s\n\n", first.DeploymentSlug, first.Token)
		}
		if c.ReadyFile == "" {
			return nil
		}
		if first.Token == "" {
			if first, err = readyToken(a, st, c.Deployment); err != nil {
				return err
			}
		}
		first.BaseURL = s.baseURL()
		return first.write(s, c.ReadyFile)
	})
}

// ready is the content of the ready file: all that a script needs to start.
type ready struct {
	BaseURL        string `json:"base_url"`
	DeploymentID   string `json:"deployment_id"`
	DeploymentSlug string `json:"deployment_slug"`
	Token          string `json:"token"`
}

func (r ready) write(s *service, file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.announce(file, append(text, '\n'))
}

// firstStart makes the first deployment and its token where there is none yet,
// and returns an empty ready where there is.
func (c serveCmd) firstStart(a *app, st *store.Store) (ready, error) {
	all, err := st.Deployments(a.ctx)
	if err != nil || len(all) > 0 {
		return ready{}, err
	}
	d, err := st.CreateDeployment(a.ctx, c.Deployment, c.Deployment, a.actor())
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
