package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// app is what every command is run with.
type app struct {
	ctx   context.Context
	out   io.Writer
	err   io.Writer
	clock func() time.Time

	getenv  func(name string) string // an environment variable
	environ func() []string          // all of them, as NAME=value
	log     *slog.Logger

	// openBeside returns a client of the Web API beside a database, and the slug of the deployment.
	openBeside func(a *app, at config.Storage, deployment string, to senders) (*api.Client, string, error)
	// exportBeside runs exports in this process until the command ends. It is nil with a server.
	exportBeside func()

	ends    []func() error // what atEnd was given
	unknown []string       // environment variables named REDOUBT_… that no command reads
}

// atEnd adds a function that runs when the command is done.
func (a *app) atEnd(fn func() error) { a.ends = append(a.ends, fn) }

// end runs what atEnd was given, the last first.
func (a *app) end() (err error) {
	for _, fn := range slices.Backward(a.ends) {
		err = errors.Join(err, fn())
	}
	a.ends = nil
	return err
}

// actor names the person at the command line in the audit trail.
func (a *app) actor() model.Actor {
	by := model.Actor{Kind: "cli"}
	if u, err := user.Current(); err == nil {
		by.Name = u.Username
	}
	return by
}

// create opens the storage and makes it where there is none.
func (a *app) create(c config.Storage) (*store.Store, error) {
	return store.Open(a.ctx, store.Config{
		Dir: c.Data, DatabaseURL: string(c.DatabaseURL), Timeout: c.DatabaseTimeout, Clock: a.clock, Logger: a.log,
	})
}

// open opens storage that is there. A command that only looks or manages makes
// none, so that a mistyped folder does not pass for an empty one.
func (a *app) open(c config.Storage) (*store.Store, error) {
	if c.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(c.Data, store.FileName)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no Redoubt data in %s: name its folder with --data, or make it with redoubt "+
				"serve or redoubt deployment create", c.Data)
		}
	}
	return a.create(c)
}

// tenant is what the commands that work on one deployment take.
type tenant struct {
	config.Storage
	Deployment string `help:"Deployment, by id or slug; not needed while there is only one." env:"REDOUBT_DEPLOYMENT" placeholder:"SLUG"`
}

// use opens the storage and finds the deployment.
func (t tenant) use(a *app) (*store.Store, model.Deployment, error) {
	st, err := a.open(t.Storage)
	if err != nil {
		return nil, model.Deployment{}, err
	}
	d, err := t.find(a.ctx, st)
	if err != nil {
		return nil, model.Deployment{}, errors.Join(err, st.Close())
	}
	return st, d, nil
}

func (t tenant) find(ctx context.Context, st *store.Store) (model.Deployment, error) {
	if t.Deployment != "" {
		d, err := st.Deployment(ctx, t.Deployment)
		if errors.Is(err, model.ErrNotFound) {
			return d, fmt.Errorf("there is no deployment %q; redoubt deployment list shows what there is", t.Deployment)
		}
		return d, err
	}
	all, err := st.Deployments(ctx)
	switch {
	case err != nil:
		return model.Deployment{}, err
	case len(all) == 0:
		return model.Deployment{}, errors.New("there is no deployment yet: make one with redoubt deployment create SLUG")
	case len(all) > 1:
		slugs := make([]string, len(all))
		for i, d := range all {
			slugs[i] = d.Slug
		}
		return model.Deployment{}, fmt.Errorf("there are %d deployments: choose with --deployment (%s)",
			len(all), strings.Join(slugs, ", "))
	}
	return all[0], nil
}

// view runs fn on the deployment that the command line chose.
func (t tenant) view(a *app, fn func(context.Context, *store.Tx) error) error {
	st, d, err := t.use(a)
	if err != nil {
		return err
	}
	return errors.Join(st.View(a.ctx, d.ID, fn), st.Close())
}

// update runs fn in one transaction on the deployment that the command line
// chose, and says what was done only once it is committed.
func (t tenant) update(a *app, fn func(context.Context, *store.Tx) (done string, err error)) error {
	st, d, err := t.use(a)
	if err != nil {
		return err
	}
	var done string
	err = st.Update(a.ctx, d.ID, a.actor(), func(ctx context.Context, tx *store.Tx) error {
		done, err = fn(ctx, tx)
		return err
	})
	if err == nil {
		_, err = fmt.Fprintln(a.out, done)
	}
	return errors.Join(err, st.Close())
}
