package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redoubt/redoubt"
)

const exceptionColumns = `id, target, paths_json, projects_json, reason, triage_reason, until_at, created_at, created_by`

func scanException(r row) (e redoubt.Exception, err error) {
	return e, r.Scan(&e.ID, &e.Target, decoded(&e.Paths), decoded(&e.Projects), &e.Reason, &e.TriageReason, instant(&e.Until), instant(&e.CreatedAt), &e.CreatedBy)
}

// exceptionImage is what the audit trail tells of an exception.
type exceptionImage struct {
	Target       string   `json:"target"`
	Paths        []string `json:"paths,omitempty"`
	Projects     []string `json:"projects,omitempty"`
	Reason       string   `json:"reason"`
	TriageReason string   `json:"triage_reason"`
	Until        string   `json:"until"` // "forever" where it has no end
}

func imageOfException(e redoubt.Exception) exceptionImage {
	until := "forever"
	if !e.Until.IsZero() {
		until = e.Until.UTC().Format(time.RFC3339)
	}
	return exceptionImage{e.Target, e.Paths, e.Projects, e.Reason, e.TriageReason.String(), until}
}

// Exceptions lists the deployment's exceptions by id, expired ones too.
func (tx *Tx) Exceptions(ctx context.Context) ([]redoubt.Exception, error) {
	return many(ctx, tx, scanException, `SELECT `+exceptionColumns+` FROM exception WHERE deployment_id = $1 ORDER BY id`)
}

// ExceptionQuery selects exceptions, expired ones too.
type ExceptionQuery struct {
	Globs redoubt.ProjectGlobs // only those of no project beside those that these allow
	After int64                // an id; 0 is the start
	Skip  int                  // so many of them first
	Limit int                  // of what is answered
}

// ExceptionPage lists exceptions by id, and says whether there are more.
func (tx *Tx) ExceptionPage(ctx context.Context, q ExceptionQuery) (list []redoubt.Exception, more bool, err error) {
	seen := func(e redoubt.Exception) bool { return e.Within(q.Globs) }
	return upTo(ctx, tx, q.Limit, seen, scanException, `SELECT `+exceptionColumns+` FROM exception WHERE deployment_id = $1 AND id > $2
		ORDER BY id LIMIT $3 OFFSET $4`, q.After, unlessKept(q.Limit, q.Globs), q.Skip)
}

// CountExceptions counts the deployment's exceptions, expired ones too.
func (tx *Tx) CountExceptions(ctx context.Context) (int, error) {
	return one(ctx, tx, scalar[int], `SELECT COUNT(*) FROM exception WHERE deployment_id = $1`)
}

// Exception finds one by its id; an unknown one is redoubt.ErrNotFound.
func (tx *Tx) Exception(ctx context.Context, id int64) (redoubt.Exception, error) {
	e, err := one(ctx, tx, scanException, `SELECT `+exceptionColumns+` FROM exception WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return e, fmt.Errorf("exception %d: %w", id, err)
	}
	return e, nil
}

// InsertException stores an exception and returns its id.
func (tx *Tx) InsertException(ctx context.Context, e redoubt.Exception) (id int64, err error) {
	if e.ID, err = tx.newID(ctx, seqException); err != nil {
		return 0, err
	}
	row := []any{
		e.ID, e.Target, encoded(orEmpty(e.Paths)), encoded(orEmpty(e.Projects)), e.Reason, int64(e.TriageReason), e.Until, e.CreatedAt, e.CreatedBy,
	}
	if err := tx.insert(ctx, `exception (deployment_id, `+exceptionColumns+`)`, [][]any{row}, ""); err != nil {
		return 0, err
	}
	tx.audit("exception.create", subject("exception", e.ID), nil, imageOfException(e))
	return e.ID, nil
}

// DeleteException forgets an exception.
func (tx *Tx) DeleteException(ctx context.Context, e redoubt.Exception) error {
	tx.audit("exception.delete", subject("exception", e.ID), imageOfException(e), nil)
	err := tx.write(ctx, `DELETE FROM exception WHERE deployment_id = $1 AND id = $2`, e.ID)
	return err
}

// ignoredByException selects what exceptions ignore now: $2 is the state, $3 the
// exceptions.
func (tx *Tx) ignoredByException(ids []int64) (condition string, args []any) {
	actors := make([]string, len(ids))
	for i, id := range ids {
		actors[i] = encoded((&redoubt.Exception{ID: id}).Actor())
	}
	in, arg := tx.in("l.triaged_by_json", 3, actors)
	return `l.automatic = 1 AND l.triage_state = $2 AND ` + in, []any{int64(redoubt.TriageIgnored), arg}
}

// CountByException counts the lineages that exceptions ignore now, by their ids.
func (tx *Tx) CountByException(ctx context.Context, ids ...int64) (map[int64]int, error) {
	counts := map[int64]int{}
	condition, args := tx.ignoredByException(ids)
	return counts, each(ctx, tx, func(r row) error {
		var by redoubt.Actor
		var n int
		if err := r.Scan(decoded(&by), &n); err != nil {
			return err
		}
		of, err := strconv.ParseInt(by.ID, 10, 64)
		counts[of] = n
		return err
	}, `SELECT l.triaged_by_json, COUNT(*) FROM lineage l WHERE l.deployment_id = $1 AND `+condition+` GROUP BY l.triaged_by_json`, args...)
}

// FindingsByException lists the occurrences of what exceptions ignore now, by
// their ids and by product.
func (tx *Tx) FindingsByException(ctx context.Context, ids ...int64) (map[int64]map[redoubt.IssueType][]int64, error) {
	out := map[int64]map[redoubt.IssueType][]int64{}
	condition, args := tx.ignoredByException(ids)
	return out, each(ctx, tx, func(r row) error {
		var by redoubt.Actor
		var t redoubt.IssueType
		var finding int64
		if err := r.Scan(decoded(&by), &t, &finding); err != nil {
			return err
		}
		of, err := strconv.ParseInt(by.ID, 10, 64)
		if out[of] == nil {
			out[of] = map[redoubt.IssueType][]int64{}
		}
		out[of][t] = append(out[of][t], finding)
		return err
	}, `SELECT l.triaged_by_json, f.issue_type, f.id FROM lineage l
		JOIN finding f ON f.deployment_id = l.deployment_id AND f.lineage_id = l.id
		WHERE l.deployment_id = $1 AND `+condition, args...)
}
