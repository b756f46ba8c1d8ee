package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// TestServeOverTLS starts a server with a certificate, a public address and a separate metrics
// listener, and stops it as a signal would.
func TestServeOverTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, 1, time.Now())
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	a := &command.App{Ctx: ctx, Out: io.Discard, Err: io.Discard, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	file := filepath.Join(dir, "ready.json")
	done := make(chan error, 1)
	go func() {
		done <- serveCmd{
			Storage: config.Storage{Data: filepath.Join(dir, "data")},
			Server: config.Server{
				Addr: "127.0.0.1:0", MetricsAddr: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile,
				PublicURL: "https://redoubt.example", ReadyFile: file, MaxUpload: 1 << 20, ShutdownTimeout: 5 * time.Second,
			},
			Deployment: "acme", LogFormat: "text",
		}.Run(a)
	}()
	r := waitReady(t, file, done)
	if r.BaseURL != "https://redoubt.example" || r.DeploymentSlug != "acme" || r.DeploymentID == "" || r.Token == "" {
		t.Errorf("the ready file holds %+v", r)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the ready file holds a token and others may read it: %v, %v", info.Mode(), err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("the server stopped with %v", err)
	}
}

func waitReady(t *testing.T, file string, done <-chan error) ready {
	t.Helper()
	return ready(programtest.WaitReady(t, file, done))
}

// TestListeners sends requests to both listeners of a service, over TLS and plain HTTP.
func TestListeners(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, 1, time.Now())
	s, stop := startService(t, config.Server{
		Addr: "127.0.0.1:0", MetricsAddr: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile, ShutdownTimeout: 5 * time.Second,
	})
	defer stop()
	pem, err := os.ReadFile(certFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/healthz", "/readyz", "/version", "/api/v1/ping"} {
		res, err := client.Get("https://" + s.listener.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK || res.ProtoMajor != 2 {
			t.Errorf("%s answers %d over %s", path, res.StatusCode, res.Proto)
		}
	}
	res, err := http.Get("http://" + s.metrics.Addr().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(text), `route="/healthz"`) && !strings.Contains(string(text), `route="/api/v1/ping"`) {
		t.Errorf("the metrics name no route: %v\n%.2000s", err, text)
	}
}

// startService runs a service on a new directory until stop is called.
func startService(t *testing.T, c config.Server) (s *service, stop func()) {
	t.Helper()
	return startServiceOn(t, c, config.Storage{Data: t.TempDir()}, slog.New(slog.DiscardHandler), func(*command.App, *service) error { return nil })
}

// startServiceOn runs a service on a storage until stop is called. It returns once ready has been
// called.
func startServiceOn(t *testing.T, c config.Server, on config.Storage, log *slog.Logger, ready func(*command.App, *service) error) (s *service, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	a := &command.App{Ctx: ctx, Out: io.Discard, Err: io.Discard, Clock: time.Now, Log: log, Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(on)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = newService(a, on, c, st); err != nil {
		t.Fatal(err)
	}
	answers, done := make(chan struct{}), make(chan error, 1)
	go func() {
		once := sync.OnceFunc(func() { close(answers) })
		done <- s.run(a, func() error {
			defer once()
			return ready(a, s)
		})
	}()
	<-answers
	return s, func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the service stopped with %v", err)
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestStopDuringStart checks that a service stopped during its start ends without an
// error and logs none.
func TestStopDuringStart(t *testing.T) {
	var logged programtest.Output
	log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctx, cancel := context.WithCancel(t.Context())
	on := config.Storage{Data: t.TempDir()}
	a := &command.App{Ctx: ctx, Out: io.Discard, Err: io.Discard, Clock: time.Now, Log: log, Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(on)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	s, err := newService(a, on, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second}, st)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.run(a, func() error {
		cancel()
		_, err := st.Deployments(ctx)
		return err
	}); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if logged.String() != "" {
		t.Errorf("it logs %s", logged.String())
	}
}

// TestStopRespondsToInterruptedRequests stops a service while a request takes longer than the shutdown
// timeout.
func TestStopRespondsToInterruptedRequests(t *testing.T) {
	s, stop := startService(t, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 500 * time.Millisecond})
	d, err := s.store.CreateDeployment(t.Context(), "acme", "Acme", model.Actor{Kind: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := newToken(&command.App{Ctx: t.Context()}, s.store, d, "test")
	if err != nil {
		t.Fatal(err)
	}
	locked, answered, stopped, wrote := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		wrote <- s.store.Update(context.Background(), d.ID, model.Actor{Kind: "cli"}, func(context.Context, *store.Tx) error {
			close(locked)
			<-answered
			return nil
		})
	}()
	<-locked
	stopping := func() { // the server requests the body: the handler is running
		go func() {
			stop()
			close(stopped)
		}()
	}
	r, err := http.NewRequest(http.MethodPost, s.baseURL()+"/api/v1/deployments/acme/projects", strings.NewReader(`{"name":"acme/a"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token.Token)
	r.Header.Set("Expect", "100-continue")
	r = r.WithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: stopping}))
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	res, err := client.Do(r)
	close(answered)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	<-stopped
	if err != nil {
		t.Fatalf("the request was cut off: %v", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("the answer is %s", res.Status)
	}
}

// TestTidyExpiresRefs imports an old branch. With a retention it expires, and it returns with the
// next scan.
func TestTidyExpiresRefs(t *testing.T) {
	s, stop := startService(t, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second, RefRetention: 24 * time.Hour})
	defer stop()
	by := model.Actor{Kind: "cli"}
	d, err := s.store.CreateDeployment(t.Context(), "acme", "Acme", by)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	imported := func(at time.Time) ingest.Summary {
		t.Helper()
		var sum ingest.Summary
		err := s.store.Update(t.Context(), d.ID, by, func(ctx context.Context, tx *store.Tx) (err error) {
			rule := &model.Rule{Name: "eqeq", IssueType: model.SAST, Severity: model.SeverityHigh}
			sum, err = ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{
				Project: model.Project{Name: "acme/app"}, Ref: "feature", Full: true, At: at,
				Report: &model.Report{Tool: "semgrep", Rules: []*model.Rule{rule}, Results: []model.Result{{
					Rule: rule, Path: "a.py", Location: model.Location{Line: 1}, Code: "x == x", Severity: model.SeverityHigh,
				}}},
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	// Another branch is fully scanned first, so that it is the default one.
	err = s.store.Update(t.Context(), d.ID, by, func(ctx context.Context, tx *store.Tx) error {
		_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{
			Project: model.Project{Name: "acme/app"}, Ref: "main", Full: true, At: now.Add(-72 * time.Hour),
			Report: &model.Report{Tool: "semgrep"},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	imported(now.Add(-48 * time.Hour))
	s.cleanDeployments(t.Context(), now)
	if sum := imported(time.Time{}); sum.Returned != 1 || sum.Repeat {
		t.Errorf("scanned again after its ref expired, the finding did not return: %+v", sum)
	}
	s.cleanDeployments(t.Context(), now)
	if sum := imported(now.Add(-time.Hour)); sum.Returned != 0 {
		t.Errorf("a ref scanned today expired: %+v", sum)
	}
}

// TestTidyDeletesOldResponses checks that a stored response is deleted after a day, and not before.
func TestTidyDeletesOldResponses(t *testing.T) {
	s, stop := startService(t, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second})
	defer stop()
	d, err := s.store.CreateDeployment(t.Context(), "acme", "Acme", model.Actor{Kind: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.store.Update(t.Context(), d.ID, model.Actor{Kind: "token"}, func(ctx context.Context, tx *store.Tx) error {
		return tx.StoreAnswer(ctx, model.StoredAnswer{Key: "k", Request: []byte("asked"), Answer: []byte("told")})
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := func() error {
		return s.store.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.StoredAnswer(ctx, "k")
			return err
		})
	}
	s.cleanDeployments(t.Context(), time.Now().Add(model.AnswerRetention-time.Hour))
	if err := stored(); err != nil {
		t.Errorf("before its day was over: %v", err)
	}
	s.cleanDeployments(t.Context(), time.Now().Add(model.AnswerRetention+time.Hour))
	if err := stored(); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("after its day: %v", err)
	}
}

// TestTidyDeletesExpiredGrants checks that an unused code is deleted when it expires.
func TestTidyDeletesExpiredGrants(t *testing.T) {
	s, stop := startService(t, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second})
	defer stop()
	d, err := s.store.CreateDeployment(t.Context(), "acme", "Acme", model.Actor{Kind: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	err = s.store.Update(t.Context(), d.ID, model.Actor{Kind: "user"}, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.AddOAuthGrant(ctx, model.OAuthGrant{CodeHash: []byte("code"), ClientHash: []byte("client")}); err != nil {
			return err
		}
		g, err := tx.OAuthGrantByCode(ctx, []byte("code"))
		g.RefreshHash, g.ExpiresAt = []byte("refresh"), time.Now().Add(24*time.Hour)
		return errors.Join(err, tx.RenewOAuthGrant(ctx, g))
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := func() error {
		return s.store.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.OAuthGrantByCode(ctx, []byte("code"))
			return err
		})
	}
	s.cleanDeployments(t.Context(), time.Now().Add(time.Hour))
	if err := stored(); err != nil {
		t.Errorf("before it is over: %v", err)
	}
	s.cleanDeployments(t.Context(), time.Now().Add(25*time.Hour))
	if err := stored(); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("after it is over: %v", err)
	}
}

// TestReadyFileIsComplete checks that a failed write leaves no partial file.
func TestReadyFileIsComplete(t *testing.T) {
	s := &service{}
	file := filepath.Join(t.TempDir(), "ready.json")
	if err := (ready{Token: "t"}).write(s, file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || !bytes.HasSuffix(text, []byte("}\n")) {
		t.Errorf("the ready file holds %q, %v", text, err)
	}
	if err := (ready{}).write(s, filepath.Join(t.TempDir(), "none", "ready.json")); err == nil {
		t.Error("a ready file in no folder was written")
	}
}
