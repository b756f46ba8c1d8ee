package ui

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
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
	assets      *assets
	templates   map[string]*template.Template
	mux         *http.ServeMux
	handler     http.Handler
	CodeLimiter *auth.Limiter // tries of codes that nobody waits under, by user
}

// New makes the pages of a table, with the templates of the packages that its handlers are in. It starts nothing:
// serve Handler.
func New(c Config, table []Route, templates ...fs.FS) (*Pages, error) {
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
	p := &Pages{Config: c, CodeLimiter: auth.NewLimiter(triesPerSecond, triesAtOnce, c.Clock)}
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
	if p.templates, err = p.parse(templates...); err != nil {
		return nil, err
	}
	p.mux = p.serveAll(table)
	if p.handler, err = p.guard(p.mux); err != nil {
		return nil, err
	}
	return p, nil
}

// Handler answers all pages and what they load. A request's Pattern is that of
// the page afterwards.
func (p *Pages) Handler() http.Handler { return p.handler }

// ContentPolicy lets a page load what the server itself serves, and nothing
// inline.
const ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
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
		h.Set("Content-Security-Policy", ContentPolicy)
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

// serveAll serves every row of the table, the assets, and a page for what is not there.
func (p *Pages) serveAll(table []Route) *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range table {
		mux.Handle(route.Method+" "+route.Pattern, p.serve(route))
	}
	mux.HandleFunc("GET /assets/{file}", p.assets.serve)
	mux.Handle("/", p.serve(Row(get, "/", Anyone, httpx.Reads, missing)))
	return mux
}

// CodeHosts sends requests to code hosts, outside of any transaction. Faults of the host or of the
// request are a *model.InvalidError.
type CodeHosts interface {
	// PrepareAdd checks a new connection.
	PrepareAdd(ctx context.Context, c model.Connection, credential model.HostCredential) (store.SaveConnection, error)
	// PrepareCheck reads the account and the repositories of a connection; asked is the refusal of the host.
	PrepareCheck(ctx context.Context, deploymentID, id int64) (keep store.SaveConnection, asked, err error)
	// PrepareUpdate checks a changed connection, with its new credential if there is one.
	PrepareUpdate(
		ctx context.Context, deploymentID, id int64, change model.ConnectionChange,
	) (store.SaveConnection, error)
	// PrepareRemove deletes the webhooks of a connection.
	PrepareRemove(ctx context.Context, deploymentID, id int64) (store.SaveConnection, error)
	// HooksAt returns the address of the webhooks' receiver, or "" if none is configured.
	HooksAt() string
	// Hook creates the webhook of a repository, or those of the whole connection if its id is 0.
	// It returns their number; refused is the refusal of the host. A server without a public
	// address returns model.ErrConflict.
	Hook(ctx context.Context, deploymentID int64, by model.Actor, id, repositoryID int64) (n int, refused, err error)
}

// How often one person may try codes that nobody waits under. Of 40 bits, nobody
// guesses one so.
const (
	triesPerSecond = 0.1
	triesAtOnce    = 20
)

// Uploads takes in what people hand in, as the Web API takes in what programs do.
type Uploads interface {
	// TakeUpload reads a form, its fields into said, and takes its files in, all or none.
	// UploadTaken tells by the key what became of them. What fails is an *api.Problem.
	TakeUpload(w http.ResponseWriter, r *http.Request, caller auth.Caller, said *api.ImportQuery) (key string, err error)
	// UploadTaken has no findings, but of each import how many of the advisories changed. It
	// is model.ErrNotFound of what was not uploaded in the last day.
	UploadTaken(ctx context.Context, tx *store.Tx, key string) (taken api.ImportResponse, advised []int, err error)
}
