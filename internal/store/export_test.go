package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/accounts"
	"github.com/redoubt/redoubt/internal/store/check"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// DB returns the database for direct queries.
func (s *Store) DB() *sql.DB { return s.PartsForTests().Read }

// ExecRaw writes directly to the database.
func (s *Store) ExecRaw(ctx context.Context, query string) error {
	_, err := s.PartsForTests().Write.ExecContext(ctx, query)
	return err
}

// ScanTwo scans two columns of each row of a query.
func (s *Store) ScanTwo(ctx context.Context, query string) error {
	return s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return sqldb.Each(ctx, q, func(r sqldb.Row) error {
			var a, b int64
			return r.Scan(&a, &b)
		}, query)
	})
}

// Relations are the references that redoubt check verifies.
var Relations = check.Relations

// Limits of other packages.
const (
	MaxTokens   = accounts.MaxTokens
	MaxGrantsOf = accounts.MaxGrantsOf
	MaxSessions = accounts.MaxSessions
)

// Tables of tenants, and those of them that stay on the coordinator.
var (
	TenantTables = sqldb.TenantTables
	SharedTables = sqldb.SharedTables
)

// In returns the values of a column that are in a list.
func In[T any](ctx context.Context, tx *Tx, table, column string, values any) ([]T, error) {
	in, list := tx.In(column, 2, values)
	return sqldb.Many(ctx, tx, sqldb.Scalar[T], `SELECT `+column+` FROM `+table+` WHERE deployment_id = $1 AND `+in, list)
}

// Count returns the tenant's number of rows in a table.
func (tx *Tx) Count(ctx context.Context, table string) (int, error) {
	return sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM `+table+` WHERE deployment_id = $1`)
}

// ChangeProject adds a project to the feed.
func (tx *Tx) ChangeProject(id int64) { tx.Change(sqldb.ChangeProject, id) }

// FillLogins adds undecided token requests in one statement, without the limits of AddLogin.
func (s *Store) FillLogins(ctx context.Context, addresses []string) error {
	now := s.Now()
	rows := make([][]any, len(addresses))
	for i, address := range addresses {
		code := fmt.Sprint("FILL-", i)
		rows[i] = []any{[]byte(code), code, address, "semgrep", now, now.Add(model.LoginFor), "", "", ""}
	}
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return q.Insert(ctx, accounts.PendingLogin, `login_request (deployment_id, key_hash, code, address, agent, asked_at, expires_at,
			token_json, approved_json, program_json)`, rows, "")
	})
}

// SetVEXBytes sets the size of documents without their content.
func SetVEXBytes(ctx context.Context, tx *Tx, bytes int64, ids ...int64) error {
	in, arg := tx.In("id", 3, ids)
	return tx.Write(ctx, `UPDATE exception SET bytes = $2 WHERE deployment_id = $1 AND `+in, bytes, arg)
}

// Waiting returns the number of this process's waiting writers.
func (s *Store) Waiting() int { return s.PartsForTests().Waiting() }

// Identities returns the deployment's rows of lineage_identity as texts.
func Identities(ctx context.Context, tx *Tx) ([]string, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (string, error) {
		var project, kind, lineage int64
		var hash []byte
		err := r.Scan(&project, &kind, &hash, &lineage)
		return fmt.Sprint(project, " ", kind, " ", string(hash), " ", lineage), err
	}, `SELECT project_id, kind, hash, lineage_id FROM lineage_identity WHERE deployment_id = $1`)
}

// MakeBaseline creates a database with the baseline schema, without later migrations.
func MakeBaseline(ctx context.Context, c Config) error { return sqldb.CreateBaselineForTests(ctx, c) }
