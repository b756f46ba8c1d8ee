package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/apihttp/scans"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/auth/sso"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/embedded"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/mcp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/oauth"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
	"github.com/redoubt/redoubt/internal/updater"
	"github.com/redoubt/redoubt/internal/web"
)

// service is a server, as used by serve and demo.
type service struct {
	advisories *advisory.Library
	updates    *updater.Jobs
	storage    config.Storage
	config     config.Server
	store      *store.Store
	index      *index.Index
	server     *apihttp.Server
	scanner    *agent.Agent
	queue      *queue.Queue
	runners    *embedded.Runners // nil unless the server executes managed runs
	sessions   *auth.Sessions
	codeHosts  *hosts.Service
	notifier   *notify.Notifier
	listener   net.Listener
	metrics    net.Listener // nil without a separate address
	pair       *certificate // nil without TLS
	log        *slog.Logger
}

// newService creates a service and opens its listener, but serves no requests yet.
func newService(a *command.App, storage config.Storage, c config.Server, st *store.Store) (*service, error) {
	s := &service{storage: storage, config: c, store: st, log: a.Log}
	var err error
	listen := new(net.ListenConfig)
	if s.listener, err = listen.Listen(a.Ctx, "tcp", c.Addr); err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w (try another --addr)", c.Addr, err)
	}
	if c.TLSCert != "" {
		pair, err := loadCertificate(c.TLSCert, c.TLSKey, a.Clock, a.Log)
		if err != nil {
			return nil, errors.Join(err, s.listener.Close())
		}
		s.pair = pair
		s.listener = tls.NewListener(s.listener, &tls.Config{
			GetCertificate: pair.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		})
	}
	if c.MetricsAddr != "" {
		if s.metrics, err = listen.Listen(a.Ctx, "tcp", c.MetricsAddr); err != nil {
			return nil, errors.Join(fmt.Errorf("cannot listen on %s for metrics: %w", c.MetricsAddr, err), s.listener.Close())
		}
	}
	if err := s.wire(a); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// wire creates and connects the components.
func (s *service) wire(a *command.App) error {
	proxies, err := s.config.Proxies()
	if err != nil {
		return err
	}
	ring, err := command.OpenKeys(a, s.storage, s.store)
	if err != nil {
		return err
	}
	secret := ring.Secret
	signing := keyring.Watch(s.storage.KeyPath(), ring, a.Clock, s.rotated).SigningKeys
	if s.codeHosts, err = newCodeHosts(a, s.config.Outbound, ring, s.store, s.baseURL); err != nil {
		return err
	}
	s.codeHosts.HookURL = s.config.PublicURL
	s.advisories = advisory.NewLibrary(command.AdvisoryOrders)
	s.updates = &updater.Jobs{App: a, Config: s.config, Storage: s.storage, Store: s.store, Library: s.advisories}
	s.scanner = s.scanners(a, secret)
	s.openIndex(a)
	findings := s.index
	if err := s.openClones(a, ring); err != nil {
		return err
	}
	if err := s.notifications(a, ring); err != nil {
		return err
	}
	signIn, err := s.SignIn(a, proxies, ring)
	if err != nil {
		return err
	}
	pages, err := web.New(web.Config{
		Store: s.store, Index: findings, Clock: a.Clock, Logger: a.Log, PublicURL: s.config.PublicURL, Version: about.Version,
		SignIn: signIn, CodeHosts: s.codeHosts, Notifier: s.notifier, CreatesTickets: true, SigningKeys: signing,
		Uploads: func() web.Uploads { return scans.Uploads{Server: s.server} },
	})
	if err != nil {
		return err
	}
	clients := oauth.New(oauth.Config{Store: s.store, Keys: httpx.SigningKeys(signing).All, Clock: a.Clock})
	assistants := mcp.NewHTTP(mcp.HTTPConfig{
		Challenge: oauth.Challenge, API: func() http.Handler { return s.server.Handler() },
		PublicURL: s.config.PublicURL, Version: about.Version, Clock: a.Clock,
	})
	s.server, err = apihttp.New(apihttp.Config{
		Mounted:    slices.Concat(s.scanner.Routes(), clients.Routes(), assistants.Routes(), s.codeHosts.Routes()),
		Collectors: append(s.scanner.Collectors(), updater.Collector{Store: s.store, Clock: a.Clock}),
		Pages:      pages.Handler(), Advisories: s.advisories,
		Store: s.store, Index: findings, Connections: s.codeHosts, Notifier: s.notifier, ReadQuery: web.FindingQuery,
		Clock: a.Clock, Logger: a.Log, Version: about.Version, SigningKeys: signing, SecretKey: secret, CreatesTickets: true,
		PublicURL: s.config.PublicURL, Listening: s.baseURL(), Names: s.hostNames(),
		TrustedProxies: proxies, MetricsElsewhere: s.metrics != nil,
		Limits: apihttp.Limits{Upload: s.config.MaxUpload, Rate: s.config.RateLimit},
	})
	if s.config.Runner {
		s.runners = s.newRunners(a)
	}
	if err == nil {
		s.queue = queue.New(s.store, s.kinds(a), queue.Options{Clock: a.Clock, Logger: a.Log})
		s.store.OnQueued(s.queue.Wake)
	}
	return err
}

// newRunners returns the runners that execute managed runs within this process.
func (s *service) newRunners(a *command.App) *embedded.Runners {
	return embedded.NewRunners(embedded.Config{
		App: a, Config: s.config, Storage: s.storage, Store: s.store, BaseURL: s.baseURL, LogFailure: s.logFailure,
		Serve: func(ctx context.Context) *http.Server { return s.serve(ctx, a, s.server.Handler()) },
	})
}

// openClones configures the clone URLs and credentials for runners.
func (s *service) openClones(a *command.App, ring keyring.Ring) error {
	hosts, err := command.CodeHosts(a, s.config.Outbound)
	if err != nil {
		return err
	}
	sealer, err := ring.Sealer("connections")
	if err == nil {
		s.scanner.CloneSource = embedded.CloneSource(scm.NewVault(sealer), hosts)
	}
	return err
}

// openIndex creates the index of findings, which follows commits.
func (s *service) openIndex(a *command.App) {
	s.index = index.New(s.store, index.Options{
		BodyCache:   cmp.Or(s.config.BodyCache, ownMemory()/4),
		Checkpoints: index.Checkpoints{Dir: s.storage.IndexPath(), Registry: s.store, Least: checkpointFrom},
		Memory:      cmp.Or(s.config.IndexMemory, ownMemory()/2), Clock: a.Clock, Logger: a.Log,
	})
	s.codeHosts.Findings = func(ctx context.Context, deploymentID int64) (triage.Selector, error) {
		return s.index.Deployment(ctx, deploymentID)
	}
	s.store.OnCommit(s.index.Committed)
}

// notifications creates the notifier.
func (s *service) notifications(a *command.App, ring keyring.Ring) (err error) {
	s.notifier, err = newNotifier(a, s.config.Notifications, ring, s.store, s.index, s.baseURL)
	return err
}

// rotated logs that the key file changed while the server was running.
func (s *service) rotated(err error) {
	if err != nil {
		s.log.Error("the key file changed", "error", err)
		return
	}
	s.log.Info("the key file changed: signing with another key")
}

// SignIn returns the configuration of user sign-in. A key of the ring encrypts the secrets of
// second factors.
func (s *service) SignIn(a *command.App, proxies []netip.Prefix, ring keyring.Ring) (*web.SignIn, error) {
	sealer, err := ring.Sealer("second factors")
	if err != nil {
		return nil, err
	}
	c := s.config
	limits := auth.SessionLimits{Idle: s.config.SessionIdle, Max: s.config.SessionMax}
	s.sessions = auth.NewSessions(s.store, auth.NewPasswords(), a.Clock, limits)
	in := &web.SignIn{
		Sessions:       s.sessions,
		Factors:        auth.NewSecondFactors(s.sessions, s.store, sealer),
		Secure:         c.BrowsersUseTLS(),
		TrustedProxies: proxies,
	}
	if c.PublicURL != "" {
		if in.Passkeys, err = auth.NewPasskeys(c.PublicURL, in.Factors, s.store); err != nil {
			s.log.Warn("passkeys are unavailable", "cause", err)
		}
	}
	if c.OIDCIssuer == "" {
		return in, nil
	}
	rules := make([]sso.Rule, len(c.OIDCRole))
	for i, text := range c.OIDCRole {
		if rules[i], err = sso.ParseRule(text); err != nil {
			return nil, fmt.Errorf("--oidc-role %w", err)
		}
	}
	in.Provider = sso.New(sso.Config{
		Issuer: c.OIDCIssuer, ClientID: c.OIDCClientID,
		ClientSecret: string(c.OIDCClientSecret), Title: c.OIDCTitle, Scopes: c.OIDCScope,
		GroupsClaim: c.OIDCGroupsClaim, Rules: rules, Domains: c.OIDCDomain, Clock: a.Clock,
	})
	return in, nil
}

// scanners returns the service for scanners.
func (s *service) scanners(a *command.App, secret []byte) *agent.Agent {
	return agent.New(agent.Config{
		Store: s.store, Logger: a.Log, Clock: a.Clock, SecretKey: secret,
		MaxUpload: s.config.MaxUpload, Advisories: s.advisories,
		EncodeOutcome: gate.ScanAnswer, Wait: s.config.ScanWait,
	})
}

// baseURL returns the public base URL of the server.
func (s *service) baseURL() string {
	if s.config.PublicURL != "" {
		return s.config.PublicURL
	}
	host, port, _ := net.SplitHostPort(s.listener.Addr().String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return s.config.Scheme() + "://" + net.JoinHostPort(host, port)
}

// hostNames returns the names of the server's machine that are known without --public-url.
func (s *service) hostNames() (names []string) {
	if host, _, err := net.SplitHostPort(s.config.Addr); err == nil && host != "" {
		names = append(names, host)
	}
	if machine, err := os.Hostname(); err == nil {
		names = append(names, machine)
	}
	return names
}

// run serves requests until the context is canceled, and then waits for active requests. It calls
// ready once the server responds, and again while it returns that the database is unavailable.
func (s *service) run(a *command.App, ready func() error) error {
	ctx, cancel := context.WithCancel(a.Ctx)
	defer cancel()
	requests, end := context.WithCancelCause(context.WithoutCancel(a.Ctx))
	cancelRequests := func() { end(model.ErrUnavailable) } // distinguishes timeouts from disconnected clients
	defer cancelRequests()
	servers := []*http.Server{s.serve(requests, a, s.server.Handler())}
	failed := make(chan error, 2)
	go func() { failed <- servers[0].Serve(s.listener) }()
	if s.metrics != nil {
		servers = append(servers, s.serve(requests, a, s.server.MetricsHandler()))
		go func() { failed <- servers[1].Serve(s.metrics) }()
	}
	var background sync.WaitGroup
	work, endWork := context.WithCancel(context.WithoutCancel(ctx)) // active requests need it
	defer endWork()
	s.begin(ctx, work, a, &background)
	err := s.start(ctx, &background, ready)
	if err == nil {
		select {
		case err = <-failed:
		case <-ctx.Done():
			s.drain(failed)
		}
	}
	cancel()
	began := a.Clock()
	stopped := s.stop(servers, cancelRequests)
	endWork()
	ended := wait(&background, s.config.ShutdownTimeout)
	s.saveIndex(max(s.config.ShutdownTimeout-a.Clock().Sub(began), responseGrace))
	return errors.Join(err, stopped, ended)
}

// begin starts the background work. Work that the next process can resume ends with ctx; work that
// requests need ends with work.
func (s *service) begin(ctx, work context.Context, a *command.App, background *sync.WaitGroup) {
	background.Go(func() { s.queue.Run(ctx, work) })
	if s.config.DatabaseListen {
		background.Go(func() { s.store.Listen(work) })
	}
	background.Go(func() { s.housekeeping(ctx, a.Clock) })
	background.Go(func() { s.index.Run(work) })
	background.Go(func() { s.scanner.Background(work) })
	background.Go(func() { s.server.Background(work) })
	background.Go(func() { s.recordSessionUse(work) })
	if s.runners != nil {
		background.Go(func() { s.runners.Background(ctx, work) })
	}
	hangups := hangups()
	background.Go(func() { s.reloadOnSIGHUP(work, hangups) })
}

// drain keeps serving for a grace period after shutdown is requested. Proxies see by /readyz, and
// clients by each response, that they should use another connection.
func (s *service) drain(failed <-chan error) {
	s.server.Drain()
	if s.config.Drain > 0 {
		s.log.Info("shutdown requested; requests are still served, /readyz fails", "for", s.config.Drain)
		select {
		case <-failed: //nolint:errcheck // the listener failed, and the log contains the reason
		case <-time.After(s.config.Drain):
		}
	}
	s.log.Info("stopping; waiting for active requests", "within", s.config.ShutdownTimeout)
}

// checkpointFrom is the minimum number of findings for a checkpoint. Fewer findings load from the
// store in a few hundredths of a second.
const checkpointFrom = 2000

const (
	// recently is the time since the last write for a deployment to be loaded at the start.
	recently = 30 * 24 * time.Hour
	// recentMost is the maximum number of deployments loaded at the start.
	recentMost = 1000
)

// startIndex loads recently used deployments in the background.
func (s *service) startIndex(a *command.App) {
	s.index.Start(a.Ctx, func(ctx context.Context) ([]int64, error) {
		return s.store.RecentDeployments(ctx, a.Clock().Add(-recently), recentMost)
	})
}

// saveIndex writes checkpoints of the index within a time limit.
func (s *service) saveIndex(within time.Duration) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), within, errors.New("shutdown timeout expired"))
	defer cancel()
	s.index.Save(ctx)
}

// serve returns an HTTP server with limits for slow clients. Uploads and downloads may be long, so
// they have a minimum speed instead of a timeout. ctx is the base context of requests.
func (s *service) serve(ctx context.Context, a *command.App, h http.Handler) *http.Server {
	return &http.Server{
		BaseContext: func(net.Listener) context.Context { return ctx },
		Handler:     defaultPace(a.Clock).handler(h), ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
}

// responseGrace is the time for canceled requests to send their response.
const responseGrace = 2 * time.Second

// stop waits for active requests. After the shutdown timeout it cancels them, so that they respond
// with 503, and closes the remaining connections.
func (s *service) stop(servers []*http.Server, cancelRequests func()) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownTimeout+responseGrace)
	defer cancel()
	defer time.AfterFunc(s.config.ShutdownTimeout, cancelRequests).Stop()
	var errs []error
	for _, srv := range servers {
		if err := srv.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("active requests were aborted: %w", err), srv.Close())
		}
	}
	return errors.Join(errs...)
}

func wait(group *sync.WaitGroup, limit time.Duration) error {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("background work did not finish within %s; it resumes at the next start", limit)
	}
}

func (s *service) close() error {
	err := s.listener.Close()
	if s.metrics != nil {
		err = errors.Join(err, s.metrics.Close())
	}
	return err
}

// writeReadyFile writes the ready file atomically, so that it is never read partially. It contains
// a token, so only its owner can read it.
func (s *service) writeReadyFile(file string, text []byte) error {
	if file == "" {
		return nil
	}
	if err := command.ReplaceFile(file, text); err != nil {
		return fmt.Errorf("write the ready file: %w", err)
	}
	return nil
}
