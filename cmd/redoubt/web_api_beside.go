package main

import (
	"net/http"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/server"
	"github.com/redoubt/redoubt/internal/web"
)

// openBeside returns a client of a handler in this process, which listens nowhere and runs no
// jobs: the next server runs the queued ones.
func openBeside(a *app, storage config.Storage, deployment string, to senders) (*api.Client, string, error) {
	if storage.Data == "" {
		storage.Data = config.DefaultData // the keys of PostgreSQL are there
	}
	st, err := a.open(storage)
	if err != nil {
		return nil, "", err
	}
	a.atEnd(st.Close)
	a.exportBeside = func() { exportBeside(a, st) }
	d, err := tenant{Deployment: deployment}.find(a.ctx, st)
	if err != nil {
		return nil, "", err
	}
	ring, err := openKeys(a, storage, st)
	if err != nil {
		return nil, "", err
	}
	keeper, err := newKeeper(a, to.hosts.Outbound, ring, st, func() string { return to.hosts.PublicURL })
	if err != nil {
		return nil, "", err
	}
	keeper.HookURL = to.hosts.PublicURL
	address, err := storedSetting(a, st, addressSetting)
	if err != nil {
		return nil, "", err
	}
	findings := index.New(st, index.Options{Clock: a.clock, Logger: a.log})
	notifier, err := newNotifier(a, to.notify, ring, st, findings, func() string { return string(address) })
	if err != nil {
		return nil, "", err
	}
	keys := keyring.Watch(storage.KeyPath(), ring, a.clock, func(error) {})
	s, err := server.New(server.Config{
		Store: st, Index: findings, Clock: a.clock, Logger: a.log, Version: about.Version,
		SigningKeys: keys.SigningKeys, SecretKey: ring.Secret, PublicURL: string(address),
		Advisories: advisory.NewLibrary(orders), Connections: keeper, Notifier: notifier, ReadQuery: web.FindingQuery,
	})
	if err != nil {
		return nil, "", err
	}
	caller := auth.ByOperator(d, a.actor())
	transport := httpx.InProcess{Handler: s.Handler(), Prepare: func(in *http.Request) *http.Request {
		return in.WithContext(httpx.WithCaller(in.Context(), caller))
	}}
	return &api.Client{
		BaseURL: "http://redoubt", Retries: -1, UserAgent: "redoubt/" + about.Version, HTTP: &http.Client{Transport: transport},
	}, d.Slug, nil
}
