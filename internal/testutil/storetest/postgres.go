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
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver for the cluster

	"github.com/redoubt/redoubt/internal/store"
)

// cluster is a PostgreSQL server of this test binary. It is reachable only through a socket in its
// directory.
type cluster struct {
	dir    string
	server *exec.Cmd
	ended  chan struct{} // closed when the server has ended
	admin  *sql.DB
	next   atomic.Int64 // number of the next database
}

// theCluster is started by the first test that uses it.
var theCluster struct {
	sync.Once
	*cluster
	missing string // why there is none, and what to install
	err     error
}

const templateDatabase = "redoubt_template"

// freshPostgres creates a database as a copy of a template. Short tests skip it, which saves half
// of their time.
func freshPostgres(t testing.TB, template string) store.Config {
	t.Helper()
	if testing.Short() {
		t.Skip("on SQLite only: make test uses PostgreSQL too, and go test without -short")
	}
	theCluster.Do(func() {
		bin, missing := findPostgres()
		if theCluster.missing = missing; missing == "" {
			theCluster.cluster, theCluster.err = startCluster(bin)
		}
	})
	if theCluster.missing != "" {
		t.Skip(theCluster.missing)
	}
	if theCluster.err != nil {
		t.Fatal(theCluster.err)
	}
	c := theCluster.cluster
	name := "test_" + strconv.FormatInt(c.next.Add(1), 10)
	// For such a small database, copying files is faster than writing to the log.
	if _, err := c.admin.ExecContext(
		t.Context(), `CREATE DATABASE `+name+` TEMPLATE `+template+` STRATEGY file_copy`,
	); err != nil {
		t.Fatal(err)
	}
	// Cleanups run in reverse order: stores that use the database are closed before.
	t.Cleanup(func() {
		if _, err := c.admin.ExecContext(context.Background(), `DROP DATABASE `+name+` WITH (FORCE)`); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return store.Config{DatabaseURL: c.url(name)}
}

// findPostgres returns the directory of initdb and postgres, or what to install.
func findPostgres() (bin, missing string) {
	if named := os.Getenv("REDOUBT_TEST_PG_BIN"); named != "" {
		if hasPostgres(named) {
			return named, ""
		}
		return "", "REDOUBT_TEST_PG_BIN names " + named + ", which holds no initdb and postgres"
	}
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is valid
	slices.SortFunc(debian, func(a, b string) int { return debianVersion(b) - debianVersion(a) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			debian = append(debian, filepath.Dir(path))
		}
	}
	for _, dir := range debian {
		if hasPostgres(dir) {
			return dir, ""
		}
	}
	return "", "PostgreSQL is not here: install it (apt-get install postgresql, or make setup), or name the folder of " +
		"initdb in REDOUBT_TEST_PG_BIN"
}

func debianVersion(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin))) // 0 for an unexpected name: the last choice
	return n
}

func hasPostgres(dir string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// startCluster creates a cluster and the template database. Its locale does not sort like bytes,
// which reveals queries without an explicit collation.
func startCluster(bin string) (*cluster, error) {
	dir, err := os.MkdirTemp(scratch(), "pg") // short: a socket's path has at most 107 bytes
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, ended: make(chan struct{})}
	if err := c.start(bin); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// initialise creates the files of a cluster.
func (c *cluster) initialise(bin string) error {
	how, err := attributes(c.dir)
	if err != nil {
		return err
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(c.dir, "data"), "-U",
		"redoubt", "--auth=trust",
		"--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = c.dir, how
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("create a PostgreSQL cluster with %s (15 or later is needed): %w\n%s", bin, err, out)
	}
	return nil
}

func (c *cluster) start(bin string) error {
	if err := c.initialise(bin); err != nil {
		return err
	}
	how, err := attributes(c.dir)
	if err != nil {
		return err
	}
	durable, wal := "off", "128MB"
	if benchmarks() { // benchmarks include the cost of commits
		durable, wal = "on", "1GB"
	}
	c.server = exec.Command(filepath.Join(bin, "postgres"), "-D", filepath.Join(c.dir, "data"),
		"-c", "listen_addresses=", "-c", "unix_socket_directories="+c.dir,
		"-c", "fsync="+durable, "-c", "full_page_writes="+durable, "-c", "max_connections=300",
		"-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "max_wal_size="+wal)
	c.server.Dir, c.server.SysProcAttr = c.dir, how
	if err := c.run(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	return c.makeTemplate()
}

// run starts the server and ensures that it dies with this process. The system ties that to the
// starting thread, so the thread is locked.
func (c *cluster) run() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := c.server.Start()
		started <- err
		if err == nil {
			_ = c.server.Wait() // it is killed
			close(c.ended)
		}
	}()
	return <-started
}

func (c *cluster) makeTemplate() (err error) {
	if c.admin, err = sql.Open("pgx", c.url("postgres")); err != nil {
		return err
	}
	// The connections live as long as the cluster; two suffice for parallel tests.
	c.admin.SetMaxOpenConns(2)
	for range 200 {
		if err = c.admin.Ping(); err == nil {
			break
		}
		time.Sleep(25 * time.Millisecond) // the server does not signal that it is ready
	}
	if err != nil {
		return fmt.Errorf("PostgreSQL did not start: %w", err)
	}
	if _, err := c.admin.Exec(`CREATE DATABASE ` + templateDatabase); err != nil {
		return err
	}
	return makeTemplate(store.Config{DatabaseURL: c.url(templateDatabase)})
}

func (c *cluster) url(database string) string {
	return "postgres://redoubt@/" + database + "?host=" + url.QueryEscape(c.dir)
}

// stop kills the server, because its data is not needed.
func (c *cluster) stop() error {
	if c.admin != nil {
		_ = c.admin.Close() // the server is about to be stopped
	}
	if c.server != nil && c.server.Process != nil {
		if err := c.server.Process.Signal(syscall.SIGQUIT); err == nil {
			<-c.ended
		}
	}
	return os.RemoveAll(c.dir)
}

func stopCluster() {
	if theCluster.cluster == nil {
		return
	}
	if err := theCluster.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "storetest: stop PostgreSQL:", err)
	}
}
