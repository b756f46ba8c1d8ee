package main

import (
	"net/http"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/web"
)

// openInProcess returns a client of a handler in this process, which has no listener and runs no jobs:
// the next server runs the queued ones.
func openInProcess(
	a *command.App, storage config.Storage, deployment string, to command.Senders,
) (*api.Client, string, error) {
	if storage.Data == "" {
		storage.Data = config.DefaultData // contains the keys of PostgreSQL
	}
	st, err := a.Open(storage)
	if err != nil {
		return nil, "", err
	}
	a.AtEnd(st.Close)
	a.ExportInProcess = func() { exportInProcess(a, st) }
	d, err := command.Tenant{Deployment: deployment}.Find(a.Ctx, st)
	if err != nil {
		return nil, "", err
	}
	ring, err := command.OpenKeys(a, storage, st)
	if err != nil {
		return nil, "", err
	}
	codeHosts, err := newCodeHosts(a, to.Hosts.Outbound, ring, st, func() string { return to.Hosts.PublicURL })
	if err != nil {
		return nil, "", err
	}
	codeHosts.HookURL = to.Hosts.PublicURL
	address, err := command.StoredSetting(a, st, admin.AddressSetting)
	if err != nil {
		return nil, "", err
	}
	findings := index.New(st, index.Options{Clock: a.Clock, Logger: a.Log})
	notifier, err := newNotifier(a, to.Notify, ring, st, findings, func() string { return string(address) })
	if err != nil {
		return nil, "", err
	}
	keys := keyring.Watch(storage.KeyPath(), ring, a.Clock, func(error) {})
	s, err := apihttp.New(apihttp.Config{
		Store: st, Index: findings, Clock: a.Clock, Logger: a.Log, Version: about.Version,
		SigningKeys: keys.SigningKeys, SecretKey: ring.Secret, PublicURL: string(address),
		Advisories:  advisory.NewLibrary(command.AdvisoryOrders),
		Connections: codeHosts, Notifier: notifier, ReadQuery: web.FindingQuery,
	})
	if err != nil {
		return nil, "", err
	}
	caller := auth.ByOperator(d, a.Actor())
	transport := httpx.InProcess{Handler: s.Handler(), Prepare: func(in *http.Request) *http.Request {
		return in.WithContext(httpx.WithCaller(in.Context(), caller))
	}}
	return &api.Client{
		BaseURL: "http://redoubt", Retries: -1, UserAgent: "redoubt/" + about.Version, HTTP: &http.Client{Transport: transport},
	}, d.Slug, nil
}
