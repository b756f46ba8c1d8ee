package command

import (
	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/scm"
)

// CodeHosts returns the configuration of clients for code hosts.
func CodeHosts(a *App, o config.Outbound) (scm.Config, error) {
	reach, err := NetworkReach(o)
	return scm.Config{
		Reach: reach, Clock: a.Clock, Name: "redoubt/" + about.Version, Local: o.Local,
		Known: scm.NewKnown(), Tokens: scm.NewTokens(), RateLimits: scm.NewRateLimits(),
	}, err
}

// NetworkReach returns the addresses that code hosts may have.
func NetworkReach(o config.Outbound) (scm.Reach, error) {
	private, also, err := o.Networks()
	return scm.Reach{NoPrivate: !private, Also: also}, err
}

// HostSettings are the settings of commands that send requests to code hosts. A server has separate
// settings.
type HostSettings struct {
	config.Outbound
	PublicURL string `help:"Public address of this server, such as https://redoubt.example.com; only for commands on the database." env:"REDOUBT_PUBLIC_URL" placeholder:"URL"`
}

// Senders are the settings of commands that send requests or messages elsewhere. A server has
// separate settings.
type Senders struct {
	Hosts  HostSettings
	Notify config.Notifications
}
