package main

import (
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/embedded"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web"
)

// newCodeHosts creates the service of code-host connections.
func newCodeHosts(
	a *command.App, o config.Outbound, ring keyring.Ring, st *store.Store, publicURL func() string,
) (*hosts.Service, error) {
	opener, err := command.CodeHosts(a, o)
	if err != nil {
		return nil, err
	}
	sealer, err := ring.Sealer("connections")
	if err != nil {
		return nil, err
	}
	return hosts.New(hosts.Config{
		Proposed: embedded.RunProposed, Watched: embedded.BranchOnPush, Pushed: embedded.RunPushed,
		Store: st, Vault: scm.NewVault(sealer), Clock: a.Clock, Logger: a.Log, PublicURL: publicURL,
		Hosts: opener, Instance: ring.Instance(),
	}), nil
}

// newNotifier creates the notifier. If findings is nil, as in the command line, it matches no events.
func newNotifier(
	a *command.App, o config.Notifications, ring keyring.Ring, st *store.Store, findings *index.Index,
	publicURL func() string,
) (*notify.Notifier, error) {
	allowPrivate, allowed, err := o.NotifyNetworks()
	if err != nil {
		return nil, err
	}
	sealer, err := ring.Sealer("notifications")
	if err != nil {
		return nil, err
	}
	return notify.New(notify.Config{
		Store: st, Index: findings, Filter: web.FindingFilter, Sealer: sealer,
		Clock: a.Clock, Logger: a.Log, PublicURL: publicURL, Name: "redoubt/" + about.Version,
		Reach: scm.Reach{NoPrivate: !allowPrivate, Also: allowed, Flag: config.NotifyFlag},
		Mail: notify.Mail{
			Host: o.SMTPHost,
			Port: o.SMTPPort, User: o.SMTPUser, Password: string(o.SMTPPassword), From: o.SMTPFrom, TLS: o.SMTPTLS,
		},
	}), nil
}
