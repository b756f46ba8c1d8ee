package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/demo"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type demoCmd struct {
	Data      string `help:"Folder to keep the demo in; a temporary one by default, removed at the end." placeholder:"DIR" type:"path"`
	Addr      string `help:"Address to listen on; port 0 takes a free one." default:"127.0.0.1:8080" placeholder:"HOST:PORT"`
	ReadyFile string `help:"Write the address, the deployment and a token here, as JSON, once the server answers." placeholder:"FILE" type:"path"`
}

// Run fills a fresh store through the ordinary import path and serves it.
func (c demoCmd) Run(a *app) (err error) {
	if c.Data == "" {
		if c.Data, err = os.MkdirTemp("", "redoubt-demo-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(c.Data)) }()
	}
	st, err := a.create(config.Storage{Data: c.Data})
	if err != nil {
		return err
	}
	return errors.Join(c.serve(a, st), st.Close())
}

func (c demoCmd) serve(a *app, st *store.Store) error {
	d, err := c.fill(a, st)
	if err != nil {
		return err
	}
	defaults := config.Server{Addr: c.Addr, MaxUpload: 256 << 20, ShutdownTimeout: 20 * time.Second}
	s, err := newService(a, defaults, st)
	if err != nil {
		return err
	}
	r, err := newToken(a, st, d, "demo")
	if err != nil {
		return errors.Join(err, s.close())
	}
	r.BaseURL = s.baseURL()
	if r.SignInURL, err = demoLink(a, st, d, r.BaseURL); err != nil {
		return errors.Join(err, s.close())
	}
	return s.run(a, func() error {
		if err := c.greet(a, r); err != nil || c.ReadyFile == "" {
			return err
		}
		return r.write(s, c.ReadyFile)
	})
}

// demoAdmin is who the demo's link signs in.
const demoAdmin = "demo"

// demoLink makes a link that signs the demo's admin in.
func demoLink(a *app, st *store.Store, d redoubt.Deployment, base string) (string, error) {
	u, err := st.User(a.ctx, demoAdmin)
	if errors.Is(err, redoubt.ErrNotFound) {
		err = st.Update(a.ctx, d.ID, a.actor(), func(ctx context.Context, tx *store.Tx) error {
			u, err = tx.CreateUser(ctx, redoubt.User{Name: demoAdmin, DisplayName: "Demo Admin"}, redoubt.RoleAdmin)
			return err
		})
	}
	if err != nil {
		return "", err
	}
	return newLink(a, st, redoubt.UserLink{Kind: redoubt.LinkSignIn, UserID: u.ID}, 24*time.Hour, base)
}

// fill imports the samples in the order of their history, once.
func (c demoCmd) fill(a *app, st *store.Store) (redoubt.Deployment, error) {
	if d, err := st.Deployment(a.ctx, "demo"); !errors.Is(err, redoubt.ErrNotFound) {
		return d, err
	}
	secret, err := key(a.ctx, st, secretKey)
	if err != nil {
		return redoubt.Deployment{}, err
	}
	d, err := st.CreateDeployment(a.ctx, "demo", "Demo", a.actor())
	if err != nil {
		return d, err
	}
	start := a.clock()
	for _, step := range demo.Timeline() {
		reading, err := readSamples(step, secret)
		if err != nil {
			return d, err
		}
		upload := ingest.Upload{
			Project: redoubt.Project{Name: step.Project, URL: step.RepoURL, Tags: step.Tags},
			Ref:     step.Ref, Commit: step.Commit, Full: step.Full, DeclaredFull: step.Full, At: start.Add(-step.Age),
		}
		err = st.Update(a.ctx, d.ID, a.actor(), func(ctx context.Context, tx *store.Tx) error {
			_, err := ingest.ApplyAll(ctx, tx, upload, reading)
			return err
		})
		if err != nil {
			return d, fmt.Errorf("import the sample of %s %s: %w", step.Project, step.Ref, err)
		}
	}
	return d, nil
}

func readSamples(step demo.Step, secret []byte) (*report.Reading, error) {
	reading := &report.Reading{}
	for _, file := range step.Files {
		text, err := demo.Samples.ReadFile(file.Path)
		if err != nil {
			return nil, err
		}
		if err := reading.Add(bytes.NewReader(text), report.Options{Name: file.Name, Key: secret}); err != nil {
			return nil, err
		}
	}
	return reading, nil
}

// greet prints where the demo is and three lines to ask it with.
func (c demoCmd) greet(a *app, r ready) error {
	api := r.BaseURL + "/api/v1/deployments/" + r.DeploymentSlug
	_, err := fmt.Fprintf(a.out, `Redoubt answers at %[1]s with the deployment %[2]s (id %[3]s). Its API is described at %[1]s/api/docs
Open it, signed in as an admin (works once, for a day):

    %[6]s

TOKEN=%[4]s

curl -H "Authorization: Bearer $TOKEN" '%[5]s/projects'
curl -H "Authorization: Bearer $TOKEN" '%[5]s/findings?severities=high,critical&status=open&dedup=true'
curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"pageSize":10}' '%[5]s/dependencies'

Stop it with Ctrl-C.
`, r.BaseURL, r.DeploymentSlug, r.DeploymentID, r.Token, api, r.SignInURL)
	return err
}
