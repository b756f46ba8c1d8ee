package core

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/store"
)

// Config is the configuration of a server.
type Config struct {
	Store  *store.Store
	Index  *index.Index
	Clock  func() time.Time
	Logger *slog.Logger
	// SigningKeys sign download addresses and cursors. They have at least 16 bytes and are the same
	// for all servers of a database.
	SigningKeys httpx.SigningKeys
	// SecretKey hashes secrets in imported reports (docs/reference/secrets.md).
	SecretKey []byte
	// PublicURL, Listening and Names are those of httpx.Trust.
	PublicURL string
	Listening string
	Names     []string
	// TrustedProxies are the networks whose X-Forwarded headers are trusted.
	TrustedProxies []netip.Prefix
	Limits         Limits
	Version        string
	// Advisories are matched against uploads. If nil, no advisory matches.
	Advisories *advisory.Library
	// Connections sends requests to code hosts. If nil, connections cannot be created, changed or
	// tested.
	Connections CodeHosts
	// Notifier creates, changes and tests notification rules. If nil, they cannot be changed.
	Notifier *notify.Notifier
	// ReadQuery parses the query of a findings page, which saved views store. If nil, queries
	// cannot be parsed.
	ReadQuery func(t model.IssueType, query string, now time.Time) (index.PageQuery, error)
	// Mounted are the operations of other packages.
	Mounted []httpx.Mounted
	// Pages serves addresses outside of /api that are no operation, probe or documentation. If nil,
	// they return 404.
	Pages http.Handler
	// Collectors are metrics of other packages.
	Collectors []prometheus.Collector
	// MetricsElsewhere omits /metrics, because MetricsHandler has a separate listener.
	MetricsElsewhere bool
	// CreatesTickets reports whether this process runs the queue that creates tickets.
	CreatesTickets bool
}

// Limits limits the requests of clients. Zero members are set to their default.
type Limits struct {
	Body   int64 // bytes of a JSON body, compressed and decompressed; default 2 MiB
	Upload int64 // bytes of an upload, compressed and decompressed; default 256 MiB
	// bytes of all concurrent uploads, decompressed, and of the memory for their contents; default
	// four times Upload
	Intake int64
	Rate   float64 // requests per second of one token; 0 means no limit
	Burst  int     // burst of requests of one token; default ten seconds' worth
}

func (l Limits) orDefault() Limits {
	if l.Body <= 0 {
		l.Body = 2 << 20
	}
	if l.Upload <= 0 {
		l.Upload = 256 << 20
	}
	if l.Intake <= 0 {
		l.Intake = 4 * l.Upload
	}
	if l.Burst <= 0 {
		l.Burst = int(10 * l.Rate)
	}
	return l
}

// Server serves the Web API.
type Server struct {
	Config
	spec    *Spec
	auth    *auth.Authenticator
	callers *httpx.Callers
	Intake  httpx.Intake
	metrics *metrics
	Rounds  *Rounds
	handler http.Handler
	began   time.Time

	Draining atomic.Bool
}

// New returns a server for the operations of sp.
func New(c Config, sp *Spec) (*Server, error) {
	if c.Store == nil || c.Index == nil || c.Clock == nil || c.Logger == nil || c.SigningKeys == nil ||
		len(c.SigningKeys.All()[0]) < 16 {
		return nil, errors.New(
			"create the server: store, index, clock, logger and a signing key of at least 16 bytes are required",
		)
	}
	c.Limits = c.Limits.orDefault()
	c.PublicURL = strings.TrimSuffix(c.PublicURL, "/")
	s := &Server{
		Config:  c,
		spec:    sp,
		began:   c.Clock(),
		auth:    auth.New(c.Store, c.Clock),
		Intake:  httpx.Intake{Each: c.Limits.Upload, All: c.Limits.Intake},
		metrics: newMetrics(c.Store, c.Index, c.Version),
		Rounds:  NewRounds(maxRoundsSize),
	}
	s.callers = httpx.NewCallers(s.auth, c.Limits.Rate, c.Limits.Burst, c.Clock)
	for _, collector := range c.Collectors {
		if err := s.metrics.registry.Register(collector); err != nil {
			return nil, fmt.Errorf("create the server: %w", err)
		}
	}
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.SuffixETag(compressedTag), gzhttp.EnableZstd(true))
	if err != nil {
		return nil, err
	}
	s.handler = s.hangingUp(s.observe(compress(recovering(canonicalPath(s.mux())))))
	return s, nil
}

// Drain marks the server as stopping. It still serves requests, but is no longer ready. It closes
// each connection after its next response, so that no connection is in use at shutdown.
func (s *Server) Drain() { s.Draining.Store(true) }

// hangingUp closes connections after the response if the server is stopping. Over HTTP/2 the
// connection accepts no further requests.
func (s *Server) hangingUp(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Handler returns the handler of the Web API, its documentation and the probes.
func (s *Server) Handler() http.Handler { return s.handler }

// MetricsHandler returns the handler of the metrics.
func (s *Server) MetricsHandler() http.Handler {
	// The failure of one collector does not hide the metrics of others.
	return promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// flushEvery is the interval of storing the last use of tokens.
const flushEvery = 5 * time.Second

// Background runs periodic work until the context ends.
func (s *Server) Background(ctx context.Context) {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			s.flush(context.WithoutCancel(ctx))
			return
		case <-tick.C:
			s.flush(ctx)
		}
	}
}

func (s *Server) flush(ctx context.Context) {
	if err := s.auth.Flush(ctx); err != nil {
		s.Logger.WarnContext(ctx, "update of token usage failed", "error", err)
	}
}

// CodeHosts sends requests to code hosts, outside of any transaction. Errors of the host or of the
// request are a *model.InvalidError.
type CodeHosts interface {
	// PrepareAdd checks a new connection.
	PrepareAdd(ctx context.Context, c model.Connection, credential model.HostCredential) (store.SaveConnection, error)
	// PrepareCheck reads the account and the repositories of a connection. hostErr is the error of
	// the host.
	PrepareCheck(ctx context.Context, deploymentID, id int64) (save store.SaveConnection, hostErr, err error)
	// PrepareUpdate checks a changed connection, with its new credential if there is one.
	PrepareUpdate(
		ctx context.Context, deploymentID, id int64, change model.ConnectionChange,
	) (store.SaveConnection, error)
	// PrepareRemove deletes the webhooks of a connection.
	PrepareRemove(ctx context.Context, deploymentID, id int64) (store.SaveConnection, error)
	// HooksAt returns the address of the webhooks' receiver, or "" if none is configured.
	HooksAt() string
	// Hook creates the webhook of a repository, or those of the whole connection if repositoryID is
	// 0. It returns their number; refused is the error of the host. A server without a public
	// address returns model.ErrConflict.
	Hook(ctx context.Context, deploymentID int64, by model.Actor, id, repositoryID int64) (n int, refused, err error)
}
