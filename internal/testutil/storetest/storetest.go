// Package storetest provides new stores on SQLite and PostgreSQL for tests, with a second, noisy
// tenant whose rows must never be visible. PostgreSQL is a temporary cluster, started from
// installed programs; tests are skipped without them. A package that uses it stops the cluster with
// Main:
//
//	func TestMain(m *testing.M) { storetest.Main(m) }
package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Engines are the database engines of the store.
var Engines = []string{"sqlite", "postgres"}

// Actor is the actor of tests.
var Actor = model.Actor{Kind: "cli", Name: "test"}

// Main runs the tests of a package and stops their cluster.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests are the tests of a package whose TestMain does more than Main.
type Tests struct{ *testing.M }

// Run runs the tests, stops their cluster and returns the exit code.
func (t Tests) Run() int {
	defer removeScratch()
	defer stopCluster()
	return t.M.Run()
}

// scratch returns the directory of this binary's databases. Creating a database writes hundreds of
// files, which takes a second on disk and twenty milliseconds in memory. It returns "", for the
// default directory, if memory is insufficient and in benchmarks, which measure the disk.
var scratch = sync.OnceValue(func() string {
	if benchmarks() {
		return ""
	}
	return memoryDir()
})

// benchmarks reports whether benchmarks are enabled.
func benchmarks() bool {
	f := flag.Lookup("test.bench")
	return f != nil && f.Value.String() != ""
}

func removeScratch() {
	if dir := scratch(); dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "storetest:", err)
		}
	}
}

// folder creates an empty directory for a test's database.
func folder(t testing.TB) string {
	t.Helper()
	if scratch() == "" {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(scratch(), "db") //nolint:usetesting // it is in memory, and removed below
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Checks sets the number of random cases for property tests. Tests that use it do not run in
// parallel.
func Checks(t testing.TB, n int) {
	t.Helper()
	const name = "rapid.checks"
	before := flag.Lookup(name).Value.String()
	t.Cleanup(func() { _ = flag.Set(name, before) })
	if err := flag.Set(name, fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
}

// Each runs a test with a new store on each engine.
func Each(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) { test(t, New(t, engine)) })
	}
}

// New opens a new store on an engine, with a separate clock at Epoch. It is closed when the test
// ends.
func New(t testing.TB, engine string) *store.Store {
	t.Helper()
	return Open(t, Database(t, engine, NewClock()))
}

// Open opens a database, which may be open already. It is closed when the test ends.
func Open(t testing.TB, c store.Config) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// Database creates a database with the noisy tenant. The returned configuration may be opened
// several times.
func Database(t testing.TB, engine string, clock *Clock) store.Config {
	t.Helper()
	var c store.Config
	if engine == "postgres" {
		c = freshPostgres(t, templateDatabase)
	} else {
		c = freshSQLite(t)
	}
	c.Clock = clock.Now
	return c
}

// Empty creates a database that no store has opened.
func Empty(t testing.TB, engine string) store.Config {
	t.Helper()
	c := store.Config{Dir: folder(t)}
	if engine == "postgres" {
		c = freshPostgres(t, "template0")
	}
	c.Clock = NewClock().Now
	return c
}

// Deployment creates a tenant for a test, in addition to the noisy one.
func Deployment(t testing.TB, s *store.Store) model.Deployment {
	t.Helper()
	d, err := s.CreateDeployment(t.Context(), "acme", "Acme", Actor)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sqliteTemplate returns the bytes of a migrated database with the noise.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp(scratch(), "storetest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := makeTemplate(store.Config{Dir: dir}); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, databaseFile))
})

func freshSQLite(t testing.TB) store.Config {
	t.Helper()
	template, err := sqliteTemplate()
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, databaseFile), template, 0o600); err != nil {
		t.Fatal(err)
	}
	return store.Config{Dir: dir}
}

// Template is a SQLite database that is filled once, by the first test that uses it, and copied for
// each test. The zero value is ready to use.
type Template struct {
	once sync.Once
	file []byte
	err  error
}

// Database returns a copy of a database filled by fill. The configuration may be opened several
// times. The function fill runs at Epoch, in the first test only. The clock is that of the copy.
func (m *Template) Database(t testing.TB, clock *Clock, fill func(*store.Store) error) store.Config {
	t.Helper()
	m.once.Do(func() { m.file, m.err = filled(Database(t, "sqlite", NewClock()), fill) })
	if m.err != nil {
		t.Fatal(m.err)
	}
	dir := folder(t)
	if err := os.WriteFile(filepath.Join(dir, databaseFile), m.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return store.Config{Dir: dir, Clock: clock.Now}
}

// filled opens a database, fills it and returns the bytes of its file.
func filled(c store.Config, fill func(*store.Store) error) ([]byte, error) {
	s, err := store.Open(context.Background(), c)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fill(s), s.Close()); err != nil { // closing moves the log into the file
		return nil, err
	}
	return os.ReadFile(filepath.Join(c.Dir, databaseFile))
}

// databaseFile is the name of the SQLite file in the directory of a database.
const databaseFile = "redoubt.db"

// makeTemplate migrates an empty database and creates the noise.
func makeTemplate(c store.Config) error {
	ctx := context.Background()
	c.Clock = NewClock().Now
	s, err := store.Open(ctx, c)
	if err != nil {
		return err
	}
	defer s.Close() // SQLite moves the log into the file at the last close
	return makeNoise(ctx, s)
}

// Epoch is the start time of test clocks.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// Clock is a clock set by a test. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock at Epoch.
func NewClock() *Clock { return &Clock{now: Epoch} }

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward, or back by a negative duration.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Claim leases the first due job of the given kinds, like a queue. It returns nil without due jobs.
func Claim(ctx context.Context, s *store.Store, lease time.Duration, kinds ...string) (*model.Job, error) {
	due, err := s.DueJobs(ctx, kinds, 0)
	for _, d := range due {
		if j, err := s.ClaimJob(ctx, d, nil, lease); j != nil || err != nil {
			return j, err
		}
	}
	return nil, err
}
