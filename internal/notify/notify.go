// Package notify tells people of what happens: it finds out which rules ask for what a
// transaction did, and delivers their messages by webhook, chat and mail.
//
// Its border: between the outbox of the store and the receivers. Match reads the store and
// the index and writes messages; Deliver sends them. Neither does both in one transaction:
// no receiver holds up a deployment.
package notify

import (
	"context"
	"crypto/cipher"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Reach says where messages may go; scm.Reach does.
type Reach interface {
	// Allows reports whether a receiver may have an address.
	Allows(a netip.Addr) bool
	// Dial connects to addresses that receivers may have.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Filter reads the query of a findings page for one issue type. Selects is false where the
// query asks for what findings of that type do not have. What will not do is a
// *model.InvalidError.
type Filter func(t model.IssueType, query string, now time.Time) (f model.FindingFilter, selects bool, err error)

// Config is what a notifier is made of.
type Config struct {
	Store  *store.Store
	Index  *index.Index // nil where nothing is matched, as at the command line
	Filter Filter
	Sealer cipher.AEAD // for the addresses of receivers
	Reach  Reach
	Mail   Mail
	Clock  func() time.Time
	Logger *slog.Logger
	// PublicURL is how others reach the server, without a slash at its end.
	PublicURL func() string
	Name      string // of the program, in requests
}

// Notifier tells people. It is safe for concurrent use.
type Notifier struct {
	Config
	client *http.Client
	tests  brake
}

// New returns a notifier. Register its Match and Deliver with a queue.
func New(c Config) *Notifier {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Notifier{Config: c, client: newClient(c.Reach)}
}

// by is who changes what is kept of messages.
var by = model.Actor{Kind: "system", Name: "notifications"}
