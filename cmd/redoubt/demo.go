package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/demo"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

type demoCmd struct {
	Data      string `help:"Folder for the demo's data (default: temporary, removed at exit)." placeholder:"DIR" type:"path"`
	Addr      string `help:"Listen address; port 0 selects a free port." default:"127.0.0.1:8080" placeholder:"HOST:PORT"`
	Runner    bool   `help:"Add a Git repository and scan its commits. Requires git; code scans also require semgrep."`
	ReadyFile string `help:"JSON file for address, deployment and token; written when ready." placeholder:"FILE" type:"path"`
}

// Run fills a new store with the demo's history and serves it.
func (c demoCmd) Run(a *command.App) (err error) {
	if c.Data == "" {
		if c.Data, err = os.MkdirTemp("", "redoubt-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.Data)) }()
	}
	clock := &demoClock{real: a.Clock}
	inDemo := *a
	inDemo.Clock = clock.now
	st, err := inDemo.Create(config.Storage{Data: c.Data})
	if err != nil {
		return err
	}
	return errors.Join(c.serve(&inDemo, clock, st), st.Close())
}

func (c demoCmd) serve(a *command.App, clock *demoClock, st *store.Store) error {
	defaults := config.Server{Addr: c.Addr, MaxUpload: 256 << 20, ShutdownTimeout: 20 * time.Second}
	if c.Runner {
		defaults.Runner, defaults.RunnerParallel, defaults.Isolation, defaults.Local = true, 1, "auto", true
	}
	s, err := newService(a, config.Storage{Data: c.Data}, defaults, st)
	if err != nil {
		return err
	}
	d, err := c.fill(a, clock, s)
	if err != nil {
		return errors.Join(err, s.close())
	}
	if c.Runner {
		if err := c.addRepository(a, s, d); err != nil {
			return errors.Join(err, s.close())
		}
	}
	r, err := newToken(a, st, d, "demo")
	if err != nil {
		return errors.Join(err, s.close())
	}
	r.BaseURL = s.baseURL()
	if r.SignInURL, err = demoLink(a, st, r.BaseURL); err != nil {
		return errors.Join(err, s.close())
	}
	return s.run(a, func() error {
		if err := c.printWelcome(a, r); err != nil || c.ReadyFile == "" {
			return err
		}
		return r.write(s, c.ReadyFile)
	})
}

// demoLink creates a sign-in link for the owner of the demo's projects.
func demoLink(a *command.App, st *store.Store, base string) (string, error) {
	u, err := st.User(a.Ctx, demo.Owner)
	if err != nil {
		return "", fmt.Errorf("the demo in this folder has no user %s: choose another --data folder: %w", demo.Owner, err)
	}
	return admin.NewLink(a, st, model.UserLink{Kind: model.LinkSignIn, UserID: u.ID}, 24*time.Hour, base)
}

// fill plays the history, unless the demo deployment exists.
func (c demoCmd) fill(a *command.App, clock *demoClock, s *service) (model.Deployment, error) {
	if d, err := s.store.Deployment(a.Ctx, "demo"); !errors.Is(err, model.ErrNotFound) {
		return d, err
	}
	p := player{app: a, service: s, clock: clock, start: a.Clock()}
	err := p.play()
	return p.deployment, err
}

// printWelcome prints the address of the demo and example requests.
func (c demoCmd) printWelcome(a *command.App, r ready) error {
	api := r.BaseURL + "/api/v1/deployments/" + r.DeploymentSlug
	_, err := fmt.Fprintf(a.Out,
		`Redoubt is running at %[1]s with the deployment %[2]s (id %[3]s). API reference: %[1]s/api/docs
Sign in as an admin with this link (valid once, for one day):

    %[6]s

TOKEN=%[4]s

curl -H "Authorization: Bearer $TOKEN" '%[5]s/projects'
curl -H "Authorization: Bearer $TOKEN" '%[5]s/findings?severities=high,critical&status=open&dedup=true'
curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"pageSize":10}' '%[5]s/dependencies'

%[7]sPress Ctrl-C to stop.
`, r.BaseURL, r.DeploymentSlug, r.DeploymentID, r.Token, api, r.SignInURL, c.aboutRunner())
	return err
}
