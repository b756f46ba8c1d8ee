package web

import (
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/store"
)

// Config is what the pages are made of.
type Config struct {
	Store  *store.Store
	Index  *index.Index
	Clock  func() time.Time
	Logger *slog.Logger
	// PublicURL is how others reach the server, without a slash at the end;
	// empty takes what each request asked for.
	PublicURL string
	Version   string
	// SigningKeys are those that all servers of one store share, of at least 16
	// bytes. The pages derive their own of them.
	SigningKeys httpx.SigningKeys
	// SignIn lets people sign in here; nil where somebody else does.
	SignIn *SignIn
	// Viewers knows who is signed in; nil asks SignIn.
	Viewers Viewers
	// CodeHosts asks code hosts. Nil asks none: no connection is made, changed or tested.
	CodeHosts CodeHosts
	// Notifier makes, changes and tries the rules by which people are told. Nil makes none.
	Notifier *notify.Notifier
	// Uploads takes in what people hand in. Nil takes nothing.
	Uploads func() Uploads
	// CreatesTickets reports whether this process runs the queue, which creates tickets.
	CreatesTickets bool
}

// Pages answers everything that people look at.
type Pages struct {
	Config
	assets    *assets
	templates map[string]*template.Template
	mux       *http.ServeMux
	handler   http.Handler
	known     known
	codes     *auth.Limiter // tries of codes that nobody waits under, by user
}

// New makes the pages. It starts nothing: serve Handler.
func New(c Config) (*Pages, error) {
	if c.Store == nil || c.Index == nil || c.Clock == nil || c.Logger == nil {
		return nil, errors.New("make the pages: store, index, clock and logger are needed")
	}
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	switch {
	case c.Viewers != nil:
	case c.SignIn != nil:
		c.Viewers = members{c.SignIn}
	default:
		c.Viewers = nobody{}
	}
	p := &Pages{Config: c, codes: auth.NewLimiter(triesPerSecond, triesAtOnce, c.Clock)}
	if c.SigningKeys == nil {
		return nil, errors.New("make the pages: signing keys are needed")
	}
	var err error
	for _, key := range c.SigningKeys.All() {
		if _, err = newOnce(key); err != nil {
			return nil, fmt.Errorf("make the pages: %w", err)
		}
	}
	if p.assets, err = newAssets(); err != nil {
		return nil, err
	}
	if p.templates, err = p.parse(); err != nil {
		return nil, err
	}
	p.mux = p.table()
	if p.handler, err = p.guard(p.mux); err != nil {
		return nil, err
	}
	return p, nil
}

// Handler answers all pages and what they load. A request's Pattern is that of
// the page afterwards.
func (p *Pages) Handler() http.Handler { return p.handler }

// contentPolicy lets a page load what the server itself serves, and nothing
// inline.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard refuses what another site makes a browser send, and says on every
// answer what a browser may do with it.
func (p *Pages) guard(next http.Handler) (http.Handler, error) {
	csrf := http.NewCrossOriginProtection()
	if p.PublicURL != "" {
		if err := csrf.AddTrustedOrigin(origin(p.PublicURL)); err != nil {
			return nil, err
		}
	}
	csrf.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.fail(w, r, Viewer{}, errCrossOrigin)
	}))
	inner := csrf.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-store") // all but the assets, which say so themselves
		inner.ServeHTTP(w, r)
	}), nil
}

// origin is the scheme and host of an address.
func origin(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// table has every row of the table, the assets, and a page for what is not there.
func (p *Pages) table() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes() {
		mux.Handle(route.Method+" "+route.Pattern, p.serve(route))
	}
	mux.HandleFunc("GET /assets/{file}", p.assets.serve)
	mux.Handle("/", p.serve(route{row(get, "/", anyone, reads), missing}))
	return mux
}
