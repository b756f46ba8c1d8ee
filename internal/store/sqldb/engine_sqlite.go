package sqldb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/pressly/goose/v3/database"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/redoubt/redoubt/internal/model"
)

// busyMillis is how long SQLite waits for a lock before Begin checks the caller's context. With
// busyAttempts this is ten seconds in total.
const (
	busyMillis   = "250"
	busyAttempts = 40
)

// SQLiteDriver is the name of the database/sql driver for SQLite. Tests replace it by one that
// counts.
var SQLiteDriver = "sqlite"

// openSQLite opens redoubt.db in a folder and creates both if needed. Readers have their own
// connections and never wait for the writer.
func openSQLite(ctx context.Context, dir string) (*engine, error) {
	if dir == "" {
		return nil, errors.New("the data folder is missing")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path, err := privateFile(filepath.Join(dir, FileName))
	if errors.Is(err, syscall.EROFS) {
		return openReadOnly(ctx, filepath.Join(dir, FileName))
	}
	if err != nil {
		return nil, err
	}
	starters := &sqliteLock{path: filepath.Join(dir, "redoubt.lock")}
	e := newSQLite()
	e.locker = starters
	spare := filepath.Join(dir, spareFile)
	// With FULL, a committed write survives a power failure, not just a crash of the process.
	if err := e.openPools(path, url.Values{}, "journal_mode(WAL)", "synchronous(FULL)"); err != nil {
		return nil, err
	}
	err = e.connect(ctx, starters)
	if errors.Is(e.classify(err), model.ErrDiskFull) && os.Remove(spare) == nil {
		err = e.connect(ctx, starters)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, e.explain(ctx, err)), e.close())
	}
	createSpare(spare)
	return e, nil
}

// newSQLite returns an engine without connections.
func newSQLite() *engine {
	return &engine{
		name: "sqlite", oneWriter: true, dialect: database.DialectSQLite3,
		attempts: busyAttempts, snapshot: &sql.TxOptions{ReadOnly: true},
		fileChecks: []string{`PRAGMA quick_check(10)`, `PRAGMA integrity_check(10)`},
		checks:     sqliteChecks, copyTo: `VACUUM INTO $1`,
		shred: `PRAGMA secure_delete = ON`, flush: `PRAGMA secure_delete = OFF; PRAGMA wal_checkpoint(TRUNCATE)`,
		nextIDs: `UPDATE sequence SET next = next + $2 WHERE name = $1 RETURNING next - $2`,
		// SQLite searches each $N in a list of earlier ones. For thousands of arguments this is
		// fifty times slower than ?.
		mark: func(int) string { return "?" }, numbered: true,
		list: sqliteList, classify: classifySQLite,
	}
}

// openPools opens the pools for writes, for reads and for the index. options are URI parameters of
// SQLite's file name. The driver sorts pragmas, so main.cache_size, which reads the schema, follows
// locking_mode.
func (e *engine) openPools(path string, options url.Values, writePragmas ...string) (err error) {
	readers := max(4, 2*runtime.GOMAXPROCS(0))
	if e.write, err = sqlitePool(
		path, options, 1, append(writePragmas, "foreign_keys(1)", "main.cache_size(-65536)")...,
	); err != nil {
		return err
	}
	if e.read, err = sqlitePool(path, options, readers, "query_only(1)", "main.cache_size(-16384)"); err != nil {
		return errors.Join(err, e.write.Close())
	}
	e.index, err = sqlitePool(path, options, readers+reservedConns, "query_only(1)", "main.cache_size(-4096)")
	if err != nil {
		return errors.Join(err, e.read.Close(), e.write.Close())
	}
	e.setFeedReaders(readers + reservedConns)
	return nil
}

// openReadOnly opens a database on a read-only file system; a disk may become one after an error.
// Each write is model.ErrReadOnly until the next start.
func openReadOnly(ctx context.Context, path string) (*engine, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	options := url.Values{"mode": {"ro"}}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		// The WAL is read without the shared-memory file, which cannot be created here.
		options.Set("vfs", "unix-none")
		options.Set("_pragma", "locking_mode(EXCLUSIVE)")
	} else {
		options.Set("immutable", "1") // prevents SQLite from creating a WAL
	}
	e := newSQLite()
	e.locker = noLock{}
	if err := e.openPools(path, options); err != nil {
		return nil, err
	}
	if err := e.read.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, e.explain(ctx, err)), e.close())
	}
	return e, nil
}

// noLock locks nothing: on a read-only disk no process can migrate the database.
type noLock struct{}

func (noLock) SessionLock(context.Context, *sql.Conn) error { return nil }

func (noLock) SessionUnlock(context.Context, *sql.Conn) error { return nil }

// spareFile reserves disk space, so that a start on a full disk can create SQLite's shared-memory
// file.
const spareFile = "redoubt.spare"

// spareBytes is four times the initial size of the shared-memory file.
const spareBytes = 128 << 10

// createSpare creates the spare file. If there is no space for it, the next start retries.
func createSpare(path string) {
	if info, err := os.Stat(path); err == nil && info.Size() == spareBytes {
		return
	}
	noise := make([]byte, spareBytes) // file systems cannot compress it
	_, _ = rand.Read(noise)           // never fails
	if err := os.WriteFile(path, noise, 0o600); err != nil {
		_ = os.Remove(path)
	}
}

// connect opens the first connection, which may switch a new file to WAL. Two processes doing so at
// once would fail despite the busy timeout.
func (e *engine) connect(ctx context.Context, starters *sqliteLock) error {
	if err := starters.SessionLock(ctx, nil); err != nil {
		return err
	}
	tx, err := e.Begin(ctx, e.write, nil)
	if err == nil {
		err = tx.Rollback()
	}
	return errors.Join(err, starters.SessionUnlock(ctx, nil))
}

// privateFile creates a file readable only by its owner, which SQLite does not do. SQLite's
// additional files inherit the mode.
func privateFile(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if err := f.Close(); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func sqlitePool(path string, options url.Values, size int, pragmas ...string) (*sql.DB, error) {
	query := maps.Clone(options)
	query.Set("_txlock", "immediate")
	query["_pragma"] = append(slices.Concat(options["_pragma"], pragmas), "busy_timeout("+busyMillis+")",
		"temp_store(MEMORY)")
	name := url.URL{Scheme: "file", Path: "/" + strings.TrimPrefix(filepath.ToSlash(path), "/"), RawQuery: query.Encode()}
	db, err := sql.Open(SQLiteDriver, name.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return db, nil
}

// sqliteList passes a list of any length as one JSON argument.
func sqliteList(column string, n int, values any) (condition string, arg any) {
	item := "value"
	switch list := values.(type) {
	case [][]byte:
		item = "unhex(value)"
		words := make([]string, len(list))
		for i, b := range list {
			words[i] = hex.EncodeToString(b)
		}
		values = words
	case []int64:
		if list == nil {
			values = []int64{}
		}
	case []string:
		if list == nil {
			values = []string{}
		}
	}
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("store: a list of %T: %v", values, err)) // a list of another type is a programming error
	}
	return fmt.Sprintf("%s IN (SELECT %s FROM json_each($%d))", column, item, n), string(text)
}

func classifySQLite(err error) error {
	if err == nil {
		return nil
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return classifySystem(err)
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return model.ErrConflict
	}
	if e.Code() == sqlite3.SQLITE_IOERR_NOMEM {
		return model.ErrOutOfMemory
	}
	switch e.Code() & 0xff { // the low byte is the primary result code
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return model.ErrBusy
	case sqlite3.SQLITE_FULL:
		return model.ErrDiskFull
	case sqlite3.SQLITE_IOERR:
		return model.ErrDiskFailed
	case sqlite3.SQLITE_READONLY:
		return model.ErrReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return model.ErrDamaged
	case sqlite3.SQLITE_CANTOPEN:
		return model.ErrOutOfFiles
	case sqlite3.SQLITE_NOMEM:
		return model.ErrOutOfMemory
	}
	return nil
}

// classifySystem classifies errors of the operating system.
func classifySystem(err error) error {
	for errno, kind := range map[syscall.Errno]model.OutageError{
		syscall.ENOSPC: model.ErrDiskFull, syscall.EDQUOT: model.ErrDiskFull, syscall.EFBIG: model.ErrDiskFull,
		syscall.EMFILE: model.ErrOutOfFiles, syscall.ENFILE: model.ErrOutOfFiles, syscall.ENOMEM: model.ErrOutOfMemory,
		syscall.EROFS: model.ErrReadOnly, syscall.EIO: model.ErrDiskFailed,
	} {
		if errors.Is(err, errno) {
			return kind
		}
	}
	// The driver's allocation errors have neither a type nor a value.
	if strings.Contains(err.Error(), "cannot allocate ") {
		return model.ErrOutOfMemory
	}
	return nil
}

// sqliteLock ensures that one process at a time opens and migrates the database. SQLite has no lock
// that outlives a transaction, so it is a transaction on a separate file. The system releases it
// when the process ends.
type sqliteLock struct {
	path string
	db   *sql.DB
	tx   *sql.Tx
}

// SessionLock waits for the lock for at most ten seconds.
func (l *sqliteLock) SessionLock(ctx context.Context, _ *sql.Conn) error {
	path, err := privateFile(l.path)
	if err != nil {
		return err
	}
	if l.db, err = sqlitePool(path, url.Values{}, 1); err != nil {
		return err
	}
	e := engine{attempts: busyAttempts, classify: classifySQLite}
	l.tx, err = e.Begin(ctx, l.db, nil)
	kind := e.classify(err)
	switch {
	// without a lock file, no process can migrate either
	case err == nil, errors.Is(kind, model.ErrDiskFull), errors.Is(kind, model.ErrReadOnly):
		return nil
	case errors.Is(kind, model.ErrBusy):
		err = fmt.Errorf("another process is opening or migrating the database: %w", err)
	}
	return errors.Join(e.explain(ctx, err), l.db.Close())
}

// SessionUnlock releases the lock.
func (l *sqliteLock) SessionUnlock(context.Context, *sql.Conn) error {
	if l.tx == nil {
		return l.db.Close()
	}
	return errors.Join(l.tx.Rollback(), l.db.Close())
}
