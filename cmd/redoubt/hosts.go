package main

import (
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// keeper makes what keeps the connections to code hosts.
func (a *app) keeper(o config.Outbound, ring keyring.Ring, st *store.Store, publicURL func() string) (*hosts.Keeper, error) {
	private, also, err := o.Networks()
	if err != nil {
		return nil, err
	}
	sealer, err := ring.Sealer("connections")
	if err != nil {
		return nil, err
	}
	return hosts.New(hosts.Config{
		Store: st, Vault: scm.NewVault(sealer), Clock: a.clock, Logger: a.log, PublicURL: publicURL,
		Hosts: scm.Config{Reach: scm.Reach{NoPrivate: !private, Also: also}, Clock: a.clock, Name: "redoubt/" + version},
	}), nil
}
