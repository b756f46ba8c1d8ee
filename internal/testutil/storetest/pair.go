package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/store"
)

// standbyName is the application name of the standby.
const standbyName = "db2"

// Pair is a PostgreSQL server with a synchronous standby: acknowledged writes are on both.
type Pair struct {
	t                testing.TB
	primary, standby *cluster
}

// NewPair creates a pair, which is stopped when the test ends.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	bin, missing := findPostgres()
	if missing != "" {
		t.Skip(missing)
	}
	p := &Pair{t: t}
	p.primary = p.cluster()
	p.must(p.primary.initialise(bin))
	p.must(p.primary.serve(bin))
	p.must(p.primary.exec(`CREATE DATABASE redoubt`))
	p.standby = p.cluster()
	how, err := attributes(p.standby.dir)
	p.must(err)
	backup := exec.Command(filepath.Join(bin, "pg_basebackup"), "-D", filepath.Join(p.standby.dir, "data"), "-X", "stream",
		"-R", "--no-sync", "--checkpoint=fast",
		"-d", "host="+p.primary.dir+" user=redoubt application_name="+standbyName)
	backup.Dir, backup.SysProcAttr = p.standby.dir, how
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("copy the primary: %v\n%s", err, out)
	}
	p.must(p.standby.serve(bin))
	p.must(p.primary.exec(`ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (` + standbyName + `)'`))
	p.must(p.primary.exec(`SELECT pg_reload_conf()`))
	p.waits(
		"the standby is synchronous", p.primary, `SELECT COALESCE(MAX(sync_state), '') = 'sync' FROM pg_stat_replication`,
	)
	return p
}

// Database returns the configuration that connects to the server that accepts writes.
func (p *Pair) Database() store.Config {
	return store.Config{DatabaseURL: "postgres://redoubt@/redoubt?host=" + url.QueryEscape(p.primary.dir+","+p.standby.dir) + "&target_session_attrs=read-write", Clock: NewClock().Now}
}

// LosePrimary kills the primary permanently, to simulate the loss of a machine.
func (p *Pair) LosePrimary() {
	p.t.Helper()
	p.must(p.primary.server.Process.Signal(syscall.SIGQUIT))
	<-p.primary.ended
}

// Promote promotes the standby.
func (p *Pair) Promote() {
	p.t.Helper()
	p.must(p.standby.exec(`SELECT pg_promote()`))
}

func (p *Pair) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// cluster creates the directory of a server.
func (p *Pair) cluster() *cluster {
	p.t.Helper()
	dir, err := os.MkdirTemp(scratch(), "pg") // short: a socket's path has at most 107 bytes
	p.must(err)
	c := &cluster{dir: dir, ended: make(chan struct{})}
	p.t.Cleanup(func() {
		if err := c.stop(); err != nil {
			p.t.Error(err)
		}
	})
	return c
}

// serve runs a server with streaming replication.
func (c *cluster) serve(bin string) error {
	how, err := attributes(c.dir)
	if err != nil {
		return err
	}
	c.server = exec.Command(filepath.Join(bin, "postgres"), "-D", filepath.Join(c.dir, "data"),
		"-c", "listen_addresses=", "-c", "unix_socket_directories="+c.dir, "-c", "fsync=off", "-c", "max_connections=100",
		"-c", "wal_level=replica", "-c", "max_wal_senders=5", "-c", "hot_standby=on")
	c.server.Dir, c.server.SysProcAttr = c.dir, how
	if err := c.run(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if c.admin, err = sql.Open("pgx", c.url("postgres")); err != nil {
		return err
	}
	err = errors.New("it was not asked")
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		err = c.admin.Ping()
	}
	return err
}

func (c *cluster) exec(query string) error {
	_, err := c.admin.ExecContext(context.Background(), query)
	return err
}

// waits waits until a query on a server returns true.
func (p *Pair) waits(what string, c *cluster, query string) {
	p.t.Helper()
	yes := false
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err := c.admin.QueryRowContext(p.t.Context(), query).Scan(&yes); err == nil && yes {
			return
		}
	}
	p.t.Fatalf("not within a minute: %s", what)
}
