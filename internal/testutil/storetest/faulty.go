package storetest

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver for reading files

	"github.com/redoubt/redoubt/internal/store"
)

// CrashPostgres kills the cluster, to simulate a crash, and starts it again. All connections are
// lost.
func CrashPostgres(t testing.TB) {
	t.Helper()
	c := theCluster.cluster
	if c == nil {
		t.Fatal("there is no cluster to stop")
	}
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	restarted := exec.Command(c.server.Path, c.server.Args[1:]...)
	restarted.Dir, restarted.SysProcAttr = c.server.Dir, c.server.SysProcAttr
	c.server, c.ended = restarted, make(chan struct{})
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	err := errors.New("it was not asked")
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		err = c.admin.PingContext(t.Context())
	}
	if err != nil {
		t.Fatalf("PostgreSQL did not recover: %v", err)
	}
}

// DamagePostgres overwrites the first page of a table or index. It restarts the cluster, so that no
// page is cached.
func DamagePostgres(t testing.TB, c store.Config, relation string) {
	t.Helper()
	db, err := sql.Open("pgx", c.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var path string
	if _, err = db.ExecContext(t.Context(), `CHECKPOINT`); err == nil {
		err = db.QueryRowContext(t.Context(), `SELECT pg_relation_filepath($1)`, relation).Scan(&path)
	}
	if err != nil {
		t.Fatal(err)
	}
	CrashPostgres(t)
	file, err := os.OpenFile(filepath.Join(theCluster.dir, "data", path), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(bytes.Repeat([]byte{0xa5}, 64), 0)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// Change writes to a database while stores have it open.
func Change(t testing.TB, c store.Config, query string) {
	t.Helper()
	driver, name := "sqlite", filepath.Join(c.Dir, databaseFile)
	if c.DatabaseURL != "" {
		driver, name = "pgx", c.DatabaseURL
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

// Page is a page of a SQLite file, numbered from 1.
type Page struct {
	Name string // of the table or index that starts with it
	Root int
	Size int // bytes
}

// Pages returns the first pages of all tables and indexes of the SQLite database in a directory.
// The database must be closed.
func Pages(ctx context.Context, dir string) (list []Page, err error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(
		ctx, `SELECT name, rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE rootpage > 0 ORDER BY rootpage`,
	)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p Page
		if err := rows.Scan(&p.Name, &p.Root, &p.Size); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}
