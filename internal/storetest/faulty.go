package storetest

import (
	"context"
	"database/sql"
	"errors"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver that a file is looked at with
)

// CrashPostgres ends the cluster at once, as a crash would, and starts it again.
// Whoever uses it meanwhile loses their connections.
func CrashPostgres(t testing.TB) {
	t.Helper()
	c := theCluster.cluster
	if c == nil {
		t.Fatal("there is no cluster to crash")
	}
	if err := c.server.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	again := exec.Command(c.server.Path, c.server.Args[1:]...)
	again.Dir, again.SysProcAttr = c.server.Dir, c.server.SysProcAttr
	c.server, c.ended = again, make(chan struct{})
	if err := c.run(); err != nil {
		t.Fatal(err)
	}
	err := errors.New("it was not asked")
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		err = c.admin.PingContext(t.Context())
	}
	if err != nil {
		t.Fatalf("PostgreSQL did not come back: %v", err)
	}
}

// Page is a page of a SQLite file, from 1.
type Page struct {
	Name string // of the table or index that it is the first of
	Root int
	Size int // bytes
}

// Pages returns the first pages of all tables and indexes of the SQLite database
// in a folder that nobody has open.
func Pages(ctx context.Context, dir string) (list []Page, err error) {
	db, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT name, rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE rootpage > 0 ORDER BY rootpage`)
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
