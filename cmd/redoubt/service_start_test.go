package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestUploadBeyondGracePeriod checks an upload that is still being sent when the server ends.
func TestUploadBeyondGracePeriod(t *testing.T) {
	s, stop := startService(t, config.Server{Addr: "127.0.0.1:0", MaxUpload: 1 << 20, ShutdownTimeout: 2 * time.Second})
	d, err := s.store.CreateDeployment(t.Context(), "acme", "Acme", model.Actor{Kind: "cli"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := newToken(&command.App{Ctx: t.Context()}, s.store, d, "test")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /api/v1/deployments/acme/imports?project=acme/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Expect: 100-continue\r\nContent-Length: 100000\r\n\r\n", token.Token)
	answers := bufio.NewReader(conn)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("the server asks for the body with %q, %v", line, err)
	}
	if _, err := answers.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, `{"version":"1.0","results":[`)
	stop()
	res, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("the upload was cut off: %v", err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("the answer is %s", res.Status)
	}
}

// TestSIGHUPReloadsCertificate sends SIGHUP to a server with a new pair, and to one without
// a pair.
func TestSIGHUPReloadsCertificate(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, 1, time.Now())
	for _, c := range []config.Server{
		{Addr: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile, ShutdownTimeout: 5 * time.Second},
		{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second},
	} {
		logged, want := &programtest.Output{}, "there is no certificate to reload"
		s, stop := startServiceOn(t, c, config.Storage{Data: t.TempDir()}, slog.New(slog.NewTextHandler(logged, nil)), func(*command.App, *service) error { return nil })
		if s.pair != nil {
			// With the same modification time, only the signal causes a reload.
			writeCertificate(t, dir, 2, s.pair.stamp[0])
			want = "certificate reloaded"
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		logged.Wait(t, want)
		stop()
	}
}

// TestInterruptedFirstStart interrupts the first start after each step. The next start prints a
// valid token, and the one after that prints none.
func TestInterruptedFirstStart(t *testing.T) {
	st := storetest.Open(t, storetest.Empty(t, "sqlite"))
	out := &programtest.Output{}
	a := &command.App{Ctx: t.Context(), Out: out, Err: io.Discard, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
	c := serveCmd{Deployment: "acme"}
	var tokens []string
	for range 3 { // killed before the token was printed, and once more
		r, err := c.firstStart(a, st)
		if err != nil || r.Token == "" || r.DeploymentSlug != "acme" || r.DeploymentID == "" {
			t.Fatalf("the start tells %+v, %v", r, err)
		}
		tokens = append(tokens, r.Token)
	}
	for i, token := range tokens {
		id, hash, err := auth.ParseSecret(token)
		if err != nil {
			t.Fatal(err)
		}
		found, err := st.TokenByHash(t.Context(), id, hash)
		if works := err == nil && found.RevokedAt.IsZero(); works != (i == len(tokens)-1) {
			t.Errorf("token %d works: %v, %v", i, works, err)
		}
	}
	if err := markTokenShown(a, st); err != nil {
		t.Fatal(err)
	}
	if r, err := c.firstStart(a, st); err != nil || r.Token != "" {
		t.Errorf("a start after the token was shown creates %+v, %v", r, err)
	}
	if all, err := st.Deployments(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("there are %d deployments, %v", len(all), err)
	}
}

// TestStartSurvivesDatabaseOutage disconnects PostgreSQL between the listener and the setup link. The
// server responds, and creates the link when the database is back.
func TestStartSurvivesDatabaseOutage(t *testing.T) {
	database := storetest.Empty(t, "postgres")
	proxy, through := storetest.Through(t, database)
	logged, stdout := &programtest.Output{}, &programtest.Output{}
	file := filepath.Join(t.TempDir(), "ready.json")
	c := serveCmd{Deployment: "acme", Server: config.Server{ReadyFile: file}}
	var steps *starting
	s, stop := startServiceOn(t, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second},
		config.Storage{Data: t.TempDir(), DatabaseURL: config.Secret(through.DatabaseURL), DatabaseTimeout: time.Second, KeyFile: filepath.Join(t.TempDir(), "key")}, slog.New(slog.NewTextHandler(logged, nil)),
		func(a *command.App, s *service) error {
			if steps == nil {
				proxy.Refuse()
				steps = &starting{serveCmd: c, service: s}
			}
			a.Out = stdout
			return steps.finishStart(a)
		})
	defer stop()
	logged.Wait(t, "retries until the database is available")
	res, err := http.Get(s.baseURL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without a database readiness is %d", res.StatusCode)
	}
	proxy.Resume()
	logged.Wait(t, "the start is complete")
	if stdout.String() == "" {
		t.Errorf("the output does not name the ready file:\n%s", stdout)
	}
	if r := waitReady(t, file, nil); r.SetupURL == "" || r.Token == "" || r.DeploymentSlug != "acme" {
		t.Errorf("the ready file holds %+v", r)
	}
}

// TestDamageIsReportedAtStart checks that damage is logged and makes the server unready.
func TestDamageIsReportedAtStart(t *testing.T) {
	dir := t.TempDir()
	st, err := store.Open(t.Context(), store.Config{Dir: dir, Clock: time.Now})
	if err == nil {
		err = st.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(dir, store.FileName), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := file.Stat()
	if err == nil {
		_, err = file.WriteAt(bytes.Repeat([]byte{0xa5}, 100), info.Size()-4096) // the start of the last page
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	logged := &programtest.Output{}
	s, stop := startServiceOn(t, config.Server{Addr: "127.0.0.1:0", ShutdownTimeout: 5 * time.Second}, config.Storage{Data: dir}, slog.New(slog.NewTextHandler(logged, nil)),
		func(a *command.App, s *service) error {
			s.checkFile(a.Ctx)
			return nil
		})
	defer stop()
	logged.Wait(t, "the database is damaged")
	res, err := http.Get(s.baseURL() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusServiceUnavailable || !bytes.Contains(text, []byte("damaged")) {
		t.Errorf("readiness is %d: %s, %v", res.StatusCode, text, err)
	}
}
