package main

import (
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/scm"
)

// codeHosts is what code hosts are asked with.
func codeHosts(a *app, o config.Outbound) (scm.Config, error) {
	reach, err := reachOf(o)
	return scm.Config{
		Reach: reach, Clock: a.clock, Name: "redoubt/" + about.Version, Local: o.Local,
		Known: scm.NewKnown(), Tokens: scm.NewTokens(), RateLimits: scm.NewRateLimits(),
	}, err
}

// reachOf says which addresses code hosts may have.
func reachOf(o config.Outbound) (scm.Reach, error) {
	private, also, err := o.Networks()
	return scm.Reach{NoPrivate: !private, Also: also}, err
}

// hostSettings are the settings of commands that send requests to code hosts. A server has
// its own.
type hostSettings struct {
	config.Outbound
	PublicURL string `help:"Beside the database: where the host reaches this server, as https://redoubt.example.com. A server has its own." env:"REDOUBT_PUBLIC_URL" placeholder:"URL"`
}

// senders are the settings of commands that send requests or messages elsewhere. A server
// has its own.
type senders struct {
	hosts  hostSettings
	notify config.Notifications
}
