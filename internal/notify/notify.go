// Package notify matches events against notification rules and delivers messages by webhook, chat
// and mail. Match reads the store and the index and writes messages; Deliver sends them. No
// transaction includes a request to a receiver, so that a slow receiver cannot block a deployment.
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

// Reach restricts the addresses of receivers. scm.Reach implements it.
type Reach interface {
	// Allows reports whether a receiver may have an address.
	Allows(a netip.Addr) bool
	// Dial connects to an address if it is allowed.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Filter parses the query of a findings page for one issue type. selects is false if the query
// cannot match findings of that type. Invalid queries are a *model.InvalidError.
type Filter func(t model.IssueType, query string, now time.Time) (f model.FindingFilter, selects bool, err error)

// Config contains the dependencies of a Notifier.
type Config struct {
	Store  *store.Store
	Index  *index.Index // nil if no events are matched, as in the command line
	Filter Filter
	Sealer cipher.AEAD // encrypts the addresses of receivers
	Reach  Reach
	Mail   Mail
	Clock  func() time.Time
	Logger *slog.Logger
	// PublicURL returns the public base URL of the server, without a trailing slash.
	PublicURL func() string
	Name      string // of the program, in requests
}

// Notifier sends notifications. It is safe for concurrent use.
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

// by is the actor of changes to messages.
var by = model.Actor{Kind: "system", Name: "notifications"}
