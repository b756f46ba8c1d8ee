// Package storetest gives a test a fresh store on SQLite and on PostgreSQL,
// always with a second, noisy tenant in it whose rows must never show.
//
// Its border: it is imported by tests only. PostgreSQL is a throw-away cluster
// of the test binary, started from the programs on this machine; where they
// are missing the test is skipped, saying what to install. A package that uses
// it ends its cluster with Main:
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

// Engines are the databases that the store runs on.
var Engines = []string{"sqlite", "postgres"}

// Actor is who the tests act for.
var Actor = model.Actor{Kind: "cli", Name: "test"}

// Main runs the tests of a package and stops the cluster they started.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests are those of a package whose TestMain does more than Main.
type Tests struct{ *testing.M }

// Run runs them, stops the cluster they started and returns the exit code.
func (t Tests) Run() int {
	defer removeScratch()
	defer stopCluster()
	return t.M.Run()
}

// scratch is the folder that this test binary's databases are in. Making one
// writes hundreds of files, which on a disk takes a second and in memory twenty
// milliseconds; where there is no memory for it, it is the usual temporary one.
// Those of benchmarks are on the disk, as users' are.
var scratch = sync.OnceValue(func() string {
	if benchmarks() {
		return ""
	}
	return memoryDir()
})

// benchmarks reports whether this run is one of benchmarks.
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

// folder makes an empty folder for a test's database.
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

// Checks sets how many random cases the properties of a test try. Tests that use it do not run in parallel.
func Checks(t testing.TB, n int) {
	t.Helper()
	const name = "rapid.checks"
	before := flag.Lookup(name).Value.String()
	t.Cleanup(func() { _ = flag.Set(name, before) })
	if err := flag.Set(name, fmt.Sprint(n)); err != nil {
		t.Fatal(err)
	}
}

// Each runs a test on a fresh store of each engine.
func Each(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	for _, engine := range Engines {
		t.Run(engine, func(t *testing.T) { test(t, New(t, engine)) })
	}
}

// New opens a fresh store on an engine, with a clock of its own that stands at
// Epoch. It is closed with the test.
func New(t testing.TB, engine string) *store.Store {
	t.Helper()
	return Open(t, Database(t, engine, NewClock()))
}

// Open opens a database, a second time too. It is closed with the test.
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

// Database makes a fresh database with the noisy tenant in it, to be opened
// with the configuration it returns, as often as the test likes.
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

// Empty makes a database that no store was ever opened on.
func Empty(t testing.TB, engine string) store.Config {
	t.Helper()
	c := store.Config{Dir: folder(t)}
	if engine == "postgres" {
		c = freshPostgres(t, "template0")
	}
	c.Clock = NewClock().Now
	return c
}

// Deployment makes a tenant for a test in a store, beside the noisy one.
func Deployment(t testing.TB, s *store.Store) model.Deployment {
	t.Helper()
	d, err := s.CreateDeployment(t.Context(), "acme", "Acme", Actor)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sqliteTemplate is the bytes of a migrated database with the noise in it.
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

// Template is a SQLite database that the first test which wants it fills, and
// that every test gets a copy of: a world that takes long to make is made once a
// package. The zero value is ready to use.
type Template struct {
	once sync.Once
	file []byte
	err  error
}

// Database makes a copy of what fill made of a fresh database, to be opened with
// the configuration it returns. Fill runs at Epoch, in the first test only; the
// clock is that of the copy.
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
	if err := errors.Join(fill(s), s.Close()); err != nil { // closed, its log has moved into the file
		return nil, err
	}
	return os.ReadFile(filepath.Join(c.Dir, databaseFile))
}

// databaseFile is the name of SQLite's file in the folder of its database.
const databaseFile = "redoubt.db"

// makeTemplate migrates an empty database and makes the noise in it.
func makeTemplate(c store.Config) error {
	ctx := context.Background()
	c.Clock = NewClock().Now
	s, err := store.Open(ctx, c)
	if err != nil {
		return err
	}
	defer s.Close() // SQLite moves its log into the file when the last one closes it
	return makeNoise(ctx, s)
}

// Epoch is when the clocks of tests start.
var Epoch = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// Clock is a clock that a test sets. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at Epoch.
func NewClock() *Clock { return &Clock{now: Epoch} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on, or back by a negative duration.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Claim leases the first due job of some kinds as a queue does; nil without due jobs.
func Claim(ctx context.Context, s *store.Store, lease time.Duration, kinds ...string) (*model.Job, error) {
	due, err := s.DueJobs(ctx, kinds, 0)
	for _, d := range due {
		if j, err := s.ClaimJob(ctx, d, nil, lease); j != nil || err != nil {
			return j, err
		}
	}
	return nil, err
}
