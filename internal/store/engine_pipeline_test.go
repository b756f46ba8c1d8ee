package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestAWriteThatFailsLaterFailsTheTransaction writes what cannot be, then what can:
// whoever asks next hears of it by name, and so does the commit, and nothing stays.
func TestAWriteThatFailsLaterFailsTheTransaction(t *testing.T) {
	for name, asks := range map[string]bool{"a read": true, "the commit": false} {
		storetest.Each(t, func(t *testing.T, s *store.Store) {
			d := storetest.Deployment(t, s)
			p := projectIn(t, s, d)
			err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				again := [][]any{{p.ID, 0, "twice"}, {p.ID, 0, "twice"}}
				if err := tx.Insert(ctx, "project_tag (deployment_id, project_id, position, tag)", again, ""); err != nil {
					return err
				}
				if err := tx.Insert(ctx, "project_alias (deployment_id, name, project_id)", [][]any{{"acme/old", p.ID}}, ""); err != nil {
					return err
				}
				if !asks {
					return nil
				}
				_, err := tx.Count(ctx, "project_alias")
				return err
			})
			fails(t, name, err, redoubt.ErrConflict)
			if s.Engine() == "postgres" && !strings.Contains(err.Error(), "INSERT INTO project_tag") {
				t.Errorf("the error does not name the statement: %v", err)
			}
			view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				tags, err := tx.Count(ctx, "project_tag")
				aliases, err2 := tx.Count(ctx, "project_alias")
				same(t, name+": what stayed", tags+aliases, 0)
				return errors.Join(err, err2)
			})
		})
	}
}

// TestAnnouncedReadsAnswerAsOthers changes what was announced: the transaction sees
// its own writes, and ids are given out once.
func TestAnnouncedReadsAnswerAsOthers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := projectIn(t, s, d)
		read := func(ctx context.Context, tx *store.Tx) {
			_, _ = tx.Project(ctx, p.ID)
			_, _ = tx.NewLineageIDs(ctx, 3)
			_, _ = tx.CreateProject(ctx, redoubt.Project{Name: "acme/never"})
			_, _ = tx.NewFindingIDs(ctx, 1)
		}
		err := s.Update(store.Announce(t.Context(), read), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			for _, url := range []string{"https://one", "https://two"} {
				if _, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{URL: &url}); err != nil {
					return err
				}
				tx.Ahead(ctx, func(ctx context.Context) { read(ctx, tx) })
				now, err := tx.Project(ctx, p.ID)
				same(t, "the URL", now.URL, url)
				if err != nil {
					return err
				}
			}
			given := map[int64]bool{}
			for range 3 {
				tx.Ahead(ctx, func(ctx context.Context) { read(ctx, tx) })
				ids, err := tx.NewLineageIDs(ctx, 2)
				if err != nil {
					return err
				}
				for _, id := range ids {
					given[id] = true
				}
			}
			same(t, "ids", len(given), 6)
			first, err := tx.NewFindingIDs(ctx, 1)
			same(t, "the first finding's id", first, []int64{1})
			_, notFound := tx.ProjectByName(ctx, "acme/never")
			fails(t, "a write that was announced", notFound, redoubt.ErrNotFound)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestAnnouncedReadsWaitForTheLock has a writer announce a read while another holds
// the deployment: it is answered by what that one left.
func TestAnnouncedReadsWaitForTheLock(t *testing.T) {
	clock := storetest.NewClock()
	config := storetest.Database(t, "postgres", clock)
	s, other := storetest.Open(t, config), storetest.Open(t, config) // so that they meet in the database
	d := storetest.Deployment(t, s)
	p := projectIn(t, s, d)
	url, waited := "https://left", make(chan string, 1)
	err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		read := func(ctx context.Context, tx *store.Tx) { _, _ = tx.Project(ctx, p.ID) }
		go func() {
			var seen redoubt.Project
			err := other.Update(store.Announce(t.Context(), read), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
				seen, err = tx.Project(ctx, p.ID)
				return err
			})
			waited <- errors.Join(err, errors.New(seen.URL)).Error()
		}()
		waitsForLock(t, s)
		_, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{URL: &url})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "what the second writer read", <-waited, url)
}

// waitsForLock waits until a session of the database waits for a lock.
func waitsForLock(t *testing.T, s *store.Store) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		var n int
		err := s.DB().QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
	t.Fatal("nobody waits")
}

// TestManyRowsAreOneStatement inserts rows whose columns are all NULL, partly so and
// never, and bytes that are none.
func TestManyRowsAreOneStatement(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			rows := [][]any{
				{1, "a", "hash-a", "one", nil, tx.Now(), nil},
				{2, "b", "hash-b\x00", "two", nil, tx.Now(), tx.Now()},
				{3, "c", "hash-c", "three", nil, tx.Now(), nil},
			}
			answers := [][]any{{"one", []byte{1}, []byte{}, tx.Now(), 1}, {"two", []byte{}, []byte{2}, tx.Now(), 2}}
			return errors.Join(
				tx.Insert(ctx, "user_link_probe", nil, ""), // no rows are no statement
				insertTokens(ctx, tx, rows),
				tx.Insert(ctx, "kept_answer (deployment_id, idem_key, request, answer, at, ends)", answers, ""),
			)
		})
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			one, err := tx.KeptAnswer(ctx, "one")
			two, err2 := tx.KeptAnswer(ctx, "two")
			same(t, "bytes", [][]byte{one.Request, one.Answer, two.Request, two.Answer}, [][]byte{{1}, {}, {}, {2}})
			tokens, err3 := tx.Tokens(ctx)
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			var expire []bool
			for _, token := range tokens {
				expire = append(expire, !token.ExpiresAt.IsZero())
			}
			same(t, "which tokens expire", expire, []bool{false, true, false})
			return nil
		})
	})
}

func insertTokens(ctx context.Context, tx *store.Tx, rows [][]any) error {
	for i, r := range rows {
		rows[i] = append(r, `["ci"]`, `[]`, "contract")
		rows[i][2] = []byte(r[2].(string)) //nolint:forcetypeassert // as written above
	}
	return tx.Insert(ctx, "token (deployment_id, id, public_id, hash, name, last_used_at, created_at, expires_at, scopes_json, globs_json, dialect)", rows, "")
}

// projectIn makes a project.
func projectIn(t *testing.T, s *store.Store, d redoubt.Deployment) (p redoubt.Project) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.CreateProject(ctx, redoubt.Project{Name: "acme/a"})
		return err
	})
	return p
}

// TestPostgresWithoutPreparedStatements opens a database as behind a pooler that knows
// none: nothing is prepared by name, and all is stored as it is otherwise.
func TestPostgresWithoutPreparedStatements(t *testing.T) {
	config := storetest.Database(t, "postgres", storetest.NewClock())
	config.DatabaseURL += "&default_query_exec_mode=exec"
	s := storetest.Open(t, config)
	d := storetest.Deployment(t, s)
	p := projectIn(t, s, d)
	tags := []string{"a", "b\x00", "c"}
	read := func(ctx context.Context, tx *store.Tx) { _, _ = tx.Project(ctx, p.ID) }
	err := s.Update(store.Announce(t.Context(), read), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{Tags: &tags})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
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
