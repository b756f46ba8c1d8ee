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

// Config configures the pages.
type Config struct {
	Store  *store.Store
	Index  *index.Index
	Clock  func() time.Time
	Logger *slog.Logger
	// PublicURL is the server's public address without a trailing slash. If empty, the address of
	// each request is used.
	PublicURL string
	Version   string
	// SigningKeys are shared by all servers of one store and have at least 16 bytes. The pages
	// derive their own keys from them.
	SigningKeys httpx.SigningKeys
	// SignIn signs users in; nil if authentication happens elsewhere.
	SignIn *SignIn
	// Viewers determines the viewer of a request; nil uses SignIn.
	Viewers Viewers
	// CodeHosts sends requests to code hosts. If nil, connections cannot be created, changed or
	// tested.
	CodeHosts CodeHosts
	// Notifier creates, changes and tests notification rules. If nil, rules cannot be created.
	Notifier *notify.Notifier
	// Uploads imports uploaded files. If nil, uploads are disabled.
	Uploads func() Uploads
	// CreatesTickets reports whether this process runs the job queue, which creates tickets.
	CreatesTickets bool
}

// Pages serves the HTML pages.
type Pages struct {
	Config
	assets      *assets
	templates   map[string]*template.Template
	mux         *http.ServeMux
	handler     http.Handler
	CodeLimiter *auth.Limiter // limits attempts with unknown device codes, by user
}

// New returns the pages of a route table, with the templates of the packages of its handlers. It
// starts no goroutines: serve Handler.
func New(c Config, table []Route, templates ...fs.FS) (*Pages, error) {
	if c.Store == nil || c.Index == nil || c.Clock == nil || c.Logger == nil {
		return nil, errors.New("create the pages: store, index, clock and logger are required")
	}
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	switch {
	case c.Viewers != nil:
	case c.SignIn != nil:
		c.Viewers = members{c.SignIn}
	default:
		c.Viewers = signedOut{}
	}
	p := &Pages{Config: c, CodeLimiter: auth.NewLimiter(triesPerSecond, triesAtOnce, c.Clock)}
	if c.SigningKeys == nil {
		return nil, errors.New("create the pages: signing keys are required")
	}
	var err error
	for _, key := range c.SigningKeys.All() {
		if _, err = newOnce(key); err != nil {
			return nil, fmt.Errorf("create the pages: %w", err)
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

// Handler serves all pages and assets. It sets the Pattern of a request to that of its page.
func (p *Pages) Handler() http.Handler { return p.handler }

// ContentPolicy is the content security policy. It allows resources of the server itself, without
// inline code.
const ContentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard rejects cross-origin requests and sets the security headers of every response.
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
		h.Set("Cache-Control", "no-store") // assets override this header
		inner.ServeHTTP(w, r)
	}), nil
}

// origin returns the scheme and host of an address.
func origin(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// serveAll routes the table, the assets, and an error page for other addresses.
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
	// PrepareCheck reads the account and the repositories of a connection. hostErr is the host's
	// error.
	PrepareCheck(ctx context.Context, deploymentID, id int64) (save store.SaveConnection, hostErr, err error)
	// PrepareUpdate checks a changed connection, with its new credential if there is one.
	PrepareUpdate(
		ctx context.Context, deploymentID, id int64, change model.ConnectionChange,
	) (store.SaveConnection, error)
	// PrepareRemove deletes the webhooks of a connection.
	PrepareRemove(ctx context.Context, deploymentID, id int64) (store.SaveConnection, error)
	// HooksAt returns the address of the webhooks' receiver, or "" if none is configured.
	HooksAt() string
	// Hook creates the webhook of a repository, or those of the whole connection if its id is 0. It
	// returns their number; refused is the host's error. A server without a public address returns
	// model.ErrConflict.
	Hook(ctx context.Context, deploymentID int64, by model.Actor, id, repositoryID int64) (n int, refused, err error)
}

// Rate limit of attempts with unknown device codes, per user. A code has 40 bits and cannot be
// guessed at this rate.
const (
	triesPerSecond = 0.1
	triesAtOnce    = 20
)

// Uploads imports uploaded files as the Web API does.
type Uploads interface {
	// ImportUpload reads the form into input and imports its files, all or none. UploadResult returns
	// the result by key. Errors are of type *api.Problem.
	ImportUpload(
		w http.ResponseWriter, r *http.Request, caller auth.Caller, input *api.ImportQuery,
	) (key string, err error)
	// UploadResult returns the result without findings, and the number of changed advisories of each
	// import. It returns model.ErrNotFound unless the upload was in the last day.
	UploadResult(ctx context.Context, tx *store.Tx, key string) (taken api.ImportResponse, advised []int, err error)
}
