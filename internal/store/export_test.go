package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
)

// DB is the database itself, for what no method answers.
func (s *Store) DB() *sql.DB { return s.engine.read }

// ExecRaw writes to the database beside all that this package holds.
func (s *Store) ExecRaw(ctx context.Context, query string) error {
	_, err := s.engine.write.ExecContext(ctx, query)
	return err
}

// ScanTwo reads two columns of the rows of a query.
func (s *Store) ScanTwo(ctx context.Context, query string) error {
	return s.engine.view(ctx, func(ctx context.Context, q *session) error {
		return each(ctx, q, func(r row) error {
			var a, b int64
			return r.Scan(&a, &b)
		}, query)
	})
}

// Relation is relation.
type Relation struct{ Table, Column, Other string }

// Relations are relations.
var Relations = func() (out []Relation) {
	for _, r := range relations {
		out = append(out, Relation{r.table, r.column, r.other})
	}
	return out
}()

// TenantTables is tenantTables, SharedTables sharedTables.
var (
	TenantTables = tenantTables
	SharedTables = sharedTables
)

// MaxTokens is maxTokens, MaxSessions maxSessions, MaxGrantsOf maxGrantsOf.
const (
	MaxTokens   = maxTokens
	MaxGrantsOf = maxGrantsOf
	MaxSessions = maxSessions
)

// MaxArgs is maxArgs.
const MaxArgs = maxArgs

// Exec is exec.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.exec(ctx, query, args...)
}

// Insert is insert.
func (tx *Tx) Insert(ctx context.Context, into string, rows [][]any, conflict string) error {
	return tx.insert(ctx, into, rows, conflict)
}

// In reads a column of a table where it is one of a list.
func In[T any](ctx context.Context, tx *Tx, table, column string, values any) ([]T, error) {
	in, list := tx.in(column, 2, values)
	return many(ctx, tx, scalar[T], `SELECT `+column+` FROM `+table+` WHERE deployment_id = $1 AND `+in, list)
}

// Count counts the rows of a table that belong to the tenant.
func (tx *Tx) Count(ctx context.Context, table string) (int, error) {
	return one(ctx, tx, scalar[int], `SELECT COUNT(*) FROM `+table+` WHERE deployment_id = $1`)
}

// ChangeProject says that a project changed, for tests of the feed.
func (tx *Tx) ChangeProject(id int64) { tx.change(changeProject, id) }

// PackRuns and UnpackRuns are how ascending numbers are kept.
var (
	PackRuns   = packRuns
	UnpackRuns = unpackRuns
)

// EncodeGraph is encodeGraph, DecodeGraph decodeGraph.
var (
	EncodeGraph = encodeGraph
	DecodeGraph = decodeGraph
)

// KeptDocument is keptDocument, TooMany tooMany.
type KeptDocument = keptDocument

// NewKeptDocument makes one.
func NewKeptDocument(id int64, requester string, bytes int64) KeptDocument {
	return keptDocument{id, requester, bytes}
}

// TooMany is tooMany.
var TooMany = tooMany

// FillLogins has requests for tokens wait, as AddLogin keeps them, at one go.
func (s *Store) FillLogins(ctx context.Context, addresses []string) error {
	now := s.now()
	rows := make([][]any, len(addresses))
	for i, address := range addresses {
		code := fmt.Sprint("FILL-", i)
		rows[i] = []any{[]byte(code), code, address, "semgrep", now, now.Add(model.LoginFor), "", "", ""}
	}
	return s.engine.update(ctx, func(ctx context.Context, q *session) error {
		return q.insert(ctx, pendingLogin, `login_request (deployment_id, key_hash, code, address, agent, asked_at, expires_at, token_json, approved_json, program_json)`, rows, "")
	})
}

// SetVEXBytes has documents say as much as is told, without saying it.
func SetVEXBytes(ctx context.Context, tx *Tx, bytes int64, ids ...int64) error {
	in, arg := tx.in("id", 3, ids)
	return tx.write(ctx, `UPDATE exception SET bytes = $2 WHERE deployment_id = $1 AND `+in, bytes, arg)
}

// Waiting counts the writers of this process that wait for their turn.
func (s *Store) Waiting() (n int) {
	s.engine.turns.mu.Lock()
	defer s.engine.turns.mu.Unlock()
	for _, l := range s.engine.turns.lines {
		n += len(l.short) + len(l.long)
	}
	return n
}

// Identities tells the rows of lineage_identity of the deployment, each as text.
func Identities(ctx context.Context, tx *Tx) ([]string, error) {
	return many(ctx, tx, func(r row) (string, error) {
		var project, kind, lineage int64
		var hash []byte
		err := r.Scan(&project, &kind, &hash, &lineage)
		return fmt.Sprint(project, " ", kind, " ", string(hash), " ", lineage), err
	}, `SELECT project_id, kind, hash, lineage_id FROM lineage_identity WHERE deployment_id = $1`)
}

// MakeBaseline makes a database of the baseline, without the migrations after it.
func MakeBaseline(ctx context.Context, c Config) error {
	e, err := openEngine(ctx, c)
	if err != nil {
		return err
	}
	provider, err := e.migrator()
	if err == nil {
		_, err = provider.UpTo(ctx, baseline)
	}
	return errors.Join(err, e.close())
}
