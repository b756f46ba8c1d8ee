package store_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFailedWriteFailsTransaction checks that the commit fails and nothing is stored if a
// caller ignores the error of a write.
func TestFailedWriteFailsTransaction(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t, "postgres", storetest.NewClock()))
	d := storetest.Deployment(t, s)
	p := projectIn(t, s, d)
	err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Insert(ctx, "project_alias (deployment_id, name, project_id)", [][]any{{"acme/old", p.ID}}, ""); err != nil {
			return err
		}
		twice := [][]any{{p.ID, 0, "twice"}, {p.ID, 0, "twice"}}
		fails(t, "the write", tx.Insert(ctx, "project_tag (deployment_id, project_id, position, tag)", twice, ""), model.ErrConflict)
		return nil
	})
	if err == nil {
		t.Error("the transaction was committed")
	}
	view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		tags, err := tx.Count(ctx, "project_tag")
		aliases, err2 := tx.Count(ctx, "project_alias")
		same(t, "rows", tags+aliases, 0)
		return errors.Join(err, err2)
	})
}

// TestCommitReturnsErrorOnRollback checks that a ROLLBACK by PostgreSQL in response to a
// commit is an error.
func TestCommitReturnsErrorOnRollback(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t, "postgres", storetest.NewClock()))
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), `INSERT INTO deployment (id) VALUES (NULL)`); err == nil {
		t.Fatal("a row without an id was stored")
	}
	fails(t, "the commit", tx.Commit(), pgx.ErrTxCommitRollback)
}

// projectIn creates a project.
func projectIn(t *testing.T, s *store.Store, d model.Deployment) (p model.Project) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.CreateProject(ctx, model.Project{Name: "acme/a"})
		return err
	})
	return p
}

// TestPostgresWithoutPreparedStatements opens a database as behind a pooler without support for
// prepared statements.
func TestPostgresWithoutPreparedStatements(t *testing.T) {
	config := storetest.Database(t, "postgres", storetest.NewClock())
	config.DatabaseURL += "&default_query_exec_mode=exec"
	s := storetest.Open(t, config)
	d := storetest.Deployment(t, s)
	p := projectIn(t, s, d)
	tags := []string{"a", "b\x00", "c"}
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{Tags: &tags})
		return err
	})
	view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Projects(ctx, store.ProjectQuery{})
		if err == nil {
			same(t, "tags", len(list[0].Tags), len(tags))
		}
		return err
	})
	if _, err := s.Version(t.Context(), d.ID); err != nil {
		t.Error(err)
	}
	var prepared int
	if err := s.DB().QueryRowContext(t.Context(), `SELECT count(*) FROM pg_prepared_statements`).Scan(&prepared); err != nil || prepared != 0 {
		t.Errorf("%d statements are prepared, %v", prepared, err)
	}
}
