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

// Config is what a server is made of.
type Config struct {
	Store  *store.Store
	Index  *index.Index
	Clock  func() time.Time
	Logger *slog.Logger
	// SigningKeys sign download addresses and cursors, and are of at least 16 bytes;
	// all servers of one database share them.
	SigningKeys httpx.SigningKeys
	// SecretKey hashes secrets in imported reports (docs/reference/secrets.md).
	SecretKey []byte
	// PublicURL, Listening and Names are those of httpx.Trust.
	PublicURL string
	Listening string
	Names     []string
	// TrustedProxies are the networks whose X-Forwarded headers count.
	TrustedProxies []netip.Prefix
	Limits         Limits
	Version        string
	// Advisories are what uploads are matched against. Nil matches nothing.
	Advisories *advisory.Library
	// Connections asks code hosts. Nil asks none: no connection is made, changed or tested.
	Connections CodeHosts
	// Notifier makes, changes and tries the rules by which people are told. Nil makes none.
	Notifier *notify.Notifier
	// ReadQuery reads the query of a findings page, as saved views keep it. Nil reads none.
	ReadQuery func(t model.IssueType, query string, now time.Time) (index.PageQuery, error)
	// Mounted are the operations of other rooms.
	Mounted []httpx.Mounted
	// Pages answers what no operation, probe or documentation has and is not
	// below /api. Nil leaves such addresses unanswered.
	Pages http.Handler
	// Collectors are metrics of other adapters.
	Collectors []prometheus.Collector
	// MetricsElsewhere leaves /metrics out: MetricsHandler has a listener of its own.
	MetricsElsewhere bool
	// CreatesTickets reports whether this process runs the queue, which creates tickets.
	CreatesTickets bool
}

// Limits bound what clients may ask for; zero members take their default.
type Limits struct {
	Body   int64 // bytes of a JSON body, before and after inflating; 2 MiB
	Upload int64 // bytes of an upload, before and after inflating; 256 MiB
	// bytes of all uploads that are worked on at a time, after inflating, and of the memory that is built of them;
	// four times Upload
	Intake int64
	Rate   float64 // requests a second of one token; 0 sets no limit
	Burst  int     // requests at once of one token; ten seconds' worth
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

// Server answers the Web API.
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

// New makes a server of a table.
func New(c Config, sp *Spec) (*Server, error) {
	if c.Store == nil || c.Index == nil || c.Clock == nil || c.Logger == nil || c.SigningKeys == nil ||
		len(c.SigningKeys.All()[0]) < 16 {
		return nil, errors.New(
			"make the server: store, index, clock, logger and a signing key of 16 bytes or more are needed",
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
		Rounds:  NewRounds(roundsKept),
	}
	s.callers = httpx.NewCallers(s.auth, c.Limits.Rate, c.Limits.Burst, c.Clock)
	for _, collector := range c.Collectors {
		if err := s.metrics.registry.Register(collector); err != nil {
			return nil, fmt.Errorf("make the server: %w", err)
		}
	}
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1024), gzhttp.SuffixETag(compressedTag), gzhttp.EnableZstd(true))
	if err != nil {
		return nil, err
	}
	s.handler = s.hangingUp(s.observe(compress(recovering(canonicalPath(s.mux())))))
	return s, nil
}

// Drain says that the server is about to stop: it answers on, is not ready from now on,
// and has each connection end with its next answer, so that none is in use when it is
// closed.
func (s *Server) Drain() { s.Draining.Store(true) }

// hangingUp tells clients of a server that is about to stop to come by another
// connection. Over HTTP/2 it makes the connection take no more requests.
func (s *Server) hangingUp(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.Draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// Handler answers all of the Web API, its documentation and the probes.
func (s *Server) Handler() http.Handler { return s.handler }

// MetricsHandler answers with the metrics.
func (s *Server) MetricsHandler() http.Handler {
	// What one collector cannot tell hides nothing of the others.
	return promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// flushEvery is how often the last use of tokens is written.
const flushEvery = 5 * time.Second

// Background does what no request waits for, until the context ends.
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
		s.Logger.WarnContext(ctx, "last use of tokens not written", "error", err)
	}
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
