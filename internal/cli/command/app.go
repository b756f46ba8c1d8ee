// Package command contains what the commands share: their context, the selection of a deployment,
// tables and exit codes. Commands that use the Web API and commands that use the store import it.
// It does not parse flags and contains no command.
package command

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

// App is the context of a command.
type App struct {
	Ctx   context.Context
	Out   io.Writer
	Err   io.Writer
	Clock func() time.Time

	Getenv  func(name string) string // returns an environment variable
	Environ func() []string          // returns all variables as NAME=value
	Log     *slog.Logger

	// OpenInProcess opens a database and returns an in-process client of its Web API and the slug of
	// the deployment.
	OpenInProcess func(a *App, at config.Storage, deployment string, to Senders) (*api.Client, string, error)
	// ExportInProcess runs exports in this process until the command ends. It is nil if a server is
	// used.
	ExportInProcess func()

	ends    []func() error // functions of AtEnd
	Unknown []string       // environment variables named REDOUBT_… that no command reads
}

// AtEnd registers a function that runs when the command ends.
func (a *App) AtEnd(fn func() error) { a.ends = append(a.ends, fn) }

// End runs the functions of AtEnd in reverse order.
func (a *App) End() (err error) {
	for _, fn := range slices.Backward(a.ends) {
		err = errors.Join(err, fn())
	}
	a.ends = nil
	return err
}

// Actor returns the actor of audit events: the operating system user.
func (a *App) Actor() model.Actor {
	by := model.Actor{Kind: "cli"}
	if u, err := user.Current(); err == nil {
		by.Name = u.Username
	}
	return by
}

// Create opens the storage and creates it if it does not exist.
func (a *App) Create(c config.Storage) (*store.Store, error) {
	return store.Open(a.Ctx, store.Config{
		Dir: c.Data, DatabaseURL: string(c.DatabaseURL), Timeout: c.DatabaseTimeout, Clock: a.Clock, Logger: a.Log,
	})
}

// Open opens existing storage. It never creates storage, so that a mistyped directory is not
// mistaken for an empty database.
func (a *App) Open(c config.Storage) (*store.Store, error) {
	if c.DatabaseURL == "" {
		if _, err := os.Stat(filepath.Join(c.Data, store.FileName)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("no Redoubt data in %s: set its folder with --data, or create it with redoubt "+
				"serve or redoubt deployment create", c.Data)
		}
	}
	return a.Create(c)
}

// Tenant contains the flags of commands that work on one deployment.
type Tenant struct {
	config.Storage
	Deployment string `help:"Id or slug of the deployment; optional if only one exists." env:"REDOUBT_DEPLOYMENT" placeholder:"SLUG"`
}

// Use opens the storage and returns the deployment.
func (t Tenant) Use(a *App) (*store.Store, model.Deployment, error) {
	st, err := a.Open(t.Storage)
	if err != nil {
		return nil, model.Deployment{}, err
	}
	d, err := t.Find(a.Ctx, st)
	if err != nil {
		return nil, model.Deployment{}, errors.Join(err, st.Close())
	}
	return st, d, nil
}

// Find returns the deployment of the flag, or the only one.
func (t Tenant) Find(ctx context.Context, st *store.Store) (model.Deployment, error) {
	if t.Deployment != "" {
		d, err := st.Deployment(ctx, t.Deployment)
		if errors.Is(err, model.ErrNotFound) {
			return d, fmt.Errorf("deployment %q not found: run redoubt deployment list", t.Deployment)
		}
		return d, err
	}
	all, err := st.Deployments(ctx)
	switch {
	case err != nil:
		return model.Deployment{}, err
	case len(all) == 0:
		return model.Deployment{}, errors.New("no deployment exists: run redoubt deployment create SLUG")
	case len(all) > 1:
		slugs := make([]string, len(all))
		for i, d := range all {
			slugs[i] = d.Slug
		}
		return model.Deployment{}, fmt.Errorf("%d deployments exist: choose one with --deployment (%s)",
			len(all), strings.Join(slugs, ", "))
	}
	return all[0], nil
}

// View runs fn on the selected deployment.
func (t Tenant) View(a *App, fn func(context.Context, *store.Tx) error) error {
	st, d, err := t.Use(a)
	if err != nil {
		return err
	}
	return errors.Join(st.View(a.Ctx, d.ID, fn), st.Close())
}

// Update runs fn in one transaction on the selected deployment. It prints done after the commit.
func (t Tenant) Update(a *App, fn func(context.Context, *store.Tx) (done string, err error)) error {
	st, d, err := t.Use(a)
	if err != nil {
		return err
	}
	var done string
	err = st.Update(a.Ctx, d.ID, a.Actor(), func(ctx context.Context, tx *store.Tx) error {
		done, err = fn(ctx, tx)
		return err
	})
	if err == nil {
		_, err = fmt.Fprintln(a.Out, done)
	}
	return errors.Join(err, st.Close())
}
