package exceptions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const exceptionColumns = `id, state, target, paths_json, projects_json, project_id, reason, triage_reason, until_at,
	wished_at, created_at, created_by_json, creator_id,
	decided_at, decided_by_json, answer, kind, ref, format, author, file, version, issued_at, statements, bytes`

const selectExceptions = `SELECT ` + exceptionColumns + ` FROM exception r WHERE r.deployment_id = $1`

func scanException(r sqldb.Row) (e model.Exception, err error) {
	var kind model.ExceptionKind
	var d model.VEXDocument
	err = r.Scan(&e.ID, &e.State, &e.Target, sqldb.Decoded(&e.Paths), sqldb.Decoded(&e.Projects), &e.ProjectID, &e.Reason,
		&e.TriageReason, sqldb.Instant(&e.Until), sqldb.Instant(&e.Wish),
		sqldb.Instant(&e.CreatedAt), sqldb.Decoded(&e.CreatedBy), &e.CreatorID, sqldb.Instant(&e.DecidedAt),
		sqldb.Decoded(&e.DecidedBy), &e.Answer,
		&kind, &d.Ref, &d.Format, &d.Author, &d.File, &d.Version, sqldb.Instant(&d.IssuedAt), &e.Statements, &e.Bytes)
	if kind == model.ExceptionOfDocument {
		d.ID, d.Name, d.ProjectID, d.Projects = e.ID, e.Target, e.ProjectID, e.Projects
		d.ReceivedAt, d.ReceivedBy, d.Proposed = e.CreatedAt, e.CreatedBy, e.State == model.ExceptionRequested
		e.Document = &d
	}
	return e, err
}

// insertException writes the row of an exception.
func (tx *Tx) insertException(ctx context.Context, e model.Exception) error {
	var d model.VEXDocument
	if e.Document != nil {
		d = *e.Document
	}
	return tx.Insert(ctx, `exception (deployment_id, `+exceptionColumns+`)`, [][]any{{
		e.ID, int64(e.State), e.Target, sqldb.Encoded(sqldb.OrEmpty(e.Paths)),
		sqldb.Encoded(sqldb.OrEmpty(e.Projects)), e.ProjectID, e.Reason, int64(e.TriageReason), e.Until, e.Wish,
		e.CreatedAt, sqldb.Encoded(e.CreatedBy), e.CreatorID, e.DecidedAt, sqldb.Encoded(e.DecidedBy), e.Answer,
		int64(e.Kind()), d.Ref, d.Format, d.Author, d.File, d.Version, d.IssuedAt, e.Statements, e.Bytes,
	}}, "")
}

// exceptionImage is the content of audit events about an exception.
type exceptionImage struct {
	State        string   `json:"state"`
	Target       string   `json:"target,omitempty"`
	Paths        []string `json:"paths,omitempty"`
	Projects     []string `json:"projects,omitempty"`
	Lineages     []int64  `json:"lineages,omitempty"`
	Reason       string   `json:"reason"`
	TriageReason string   `json:"triage_reason"`
	Until        string   `json:"until"` // "forever" if unlimited
	Answer       string   `json:"answer,omitempty"`
}

func imageOfException(e model.Exception) exceptionImage {
	until := "forever"
	if !e.Until.IsZero() {
		until = e.Until.UTC().Format(time.RFC3339)
	}
	return exceptionImage{
		e.State.String(), e.Target, e.Paths, e.Projects, e.Lineages, e.Reason, e.TriageReason.String(), until, e.Answer,
	}
}

// Exceptions returns the deployment's active exceptions by id, without their named findings and
// without VEX documents. Expired ones are included until EndExpiredExceptions runs.
func (tx *Tx) Exceptions(ctx context.Context) ([]model.Exception, error) {
	return sqldb.Many(ctx, tx, scanException, selectExceptions+` AND r.state = $2 AND r.kind < $3 ORDER BY id`,
		int64(model.ExceptionActive), int64(model.ExceptionOfDocument))
}

// ExceptionQuery selects exceptions.
type ExceptionQuery struct {
	Globs     model.ProjectGlobs   // only exceptions limited to matching projects
	State     model.ExceptionState // 0: any; expired exceptions count as ended
	Kind      model.ExceptionKind  // 0: any
	CreatorID int64                // only requests of this user; 0: all
	Before    int64                // only lower ids; 0: all
	Skip      int                  // number of skipped exceptions
	Limit     int
}

// ExceptionPage returns exceptions, newest first, and reports whether there are older ones.
func (tx *Tx) ExceptionPage(ctx context.Context, q ExceptionQuery) (list []model.Exception, more bool, err error) {
	w, err := tx.exceptionsWhere(ctx, q)
	if err != nil {
		return nil, false, err
	}
	w.And(`0 = 0 ORDER BY r.id DESC LIMIT ? OFFSET ?`, sqldb.QueryLimit(q.Limit, q.Globs), q.Skip)
	seen := func(e model.Exception) bool { return e.ProjectID != 0 || e.Within(q.Globs) }
	list, more, err = sqldb.UpTo(ctx, tx, q.Limit, seen, scanException, selectExceptions+w.Text.String(), w.Args...)
	if err != nil {
		return nil, false, err
	}
	return list, more, tx.readExceptionFindings(ctx, list)
}

// CountExceptions counts the exceptions of all pages of ExceptionPage. It ignores part of q.Globs,
// so use it without globs.
func (tx *Tx) CountExceptions(ctx context.Context, q ExceptionQuery) (int, error) {
	w, err := tx.exceptionsWhere(ctx, q)
	if err != nil {
		return 0, err
	}
	return sqldb.One(
		ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM exception r WHERE r.deployment_id = $1`+w.Text.String(), w.Args...,
	)
}

func (tx *Tx) exceptionsWhere(ctx context.Context, q ExceptionQuery) (*sqldb.Where, error) {
	w := &sqldb.Where{Tx: tx.Tx}
	projects, all, err := tx.VisibleProjectIDs(ctx, q.Globs)
	if err != nil {
		return nil, err
	}
	if !all {
		w.In(`r.project_id`, append(slices.Clip(projects), 0))
	}
	switch q.State {
	case 0:
	case model.ExceptionActive:
		w.And(`r.state = ? AND (r.until_at IS NULL OR r.until_at > ?)`, int64(q.State), tx.Now())
	case model.ExceptionEnded:
		w.And(`(r.state = ? OR r.state = ? AND r.until_at <= ?)`, int64(q.State), int64(model.ExceptionActive), tx.Now())
	default:
		w.And(`r.state = ?`, int64(q.State))
	}
	if q.Kind != 0 {
		w.And(`r.kind = ?`, int64(q.Kind))
	}
	if q.CreatorID != 0 {
		w.And(`r.creator_id = ?`, q.CreatorID)
	}
	if q.Before != 0 {
		w.And(`r.id < ?`, q.Before)
	}
	return w, nil
}

// readExceptionFindings reads the lineages that exceptions name. Each occurs once, even if two of
// them were merged.
func (tx *Tx) readExceptionFindings(ctx context.Context, list []model.Exception) error {
	if len(list) == 0 {
		return nil
	}
	ids, at := make([]int64, len(list)), make(map[int64]int, len(list))
	for i, e := range list {
		ids[i], at[e.ID] = e.ID, i
	}
	in, arg := tx.In("exception_id", 2, ids)
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id, lineage int64
		err := r.Scan(&id, &lineage)
		of := &list[at[id]]
		of.Lineages = append(of.Lineages, lineage)
		return err
	}, `SELECT exception_id, lineage_id FROM exception_finding WHERE deployment_id = $1 AND `+in+`
		GROUP BY exception_id, lineage_id ORDER BY exception_id, MIN(number)`, arg)
}

// exceptionsThat returns the exceptions that meet a condition, with their named findings.
func (tx *Tx) exceptionsThat(ctx context.Context, condition string, args ...any) ([]model.Exception, error) {
	list, err := sqldb.Many(ctx, tx, scanException, selectExceptions+` AND `+condition, args...)
	if err != nil {
		return nil, err
	}
	return list, tx.readExceptionFindings(ctx, list)
}

// Exception returns an exception by id, or model.ErrNotFound.
func (tx *Tx) Exception(ctx context.Context, id int64) (model.Exception, error) {
	list, err := tx.exceptionsThat(ctx, `r.id = $2`, id)
	switch {
	case err != nil:
		return model.Exception{}, err
	case len(list) == 0:
		return model.Exception{}, fmt.Errorf("exception %d: %w", id, model.ErrNotFound)
	}
	return list[0], nil
}

// AddException stores a requested or active exception and returns it with id, creator and time. It
// deletes the oldest past exceptions above the limit.
func (tx *Tx) AddException(ctx context.Context, e model.Exception) (model.Exception, error) {
	var err error
	if e.ID, err = tx.NewID(ctx, seqException); err != nil {
		return e, err
	}
	e.CreatedAt, e.CreatedBy = tx.Now(), tx.Actor()
	if e.State == model.ExceptionActive {
		e.DecidedAt, e.DecidedBy = tx.Now(), tx.Actor()
	}
	if err := tx.insertException(ctx, e); err != nil {
		return e, err
	}
	rows := make([][]any, len(e.Lineages))
	for i, lineage := range e.Lineages {
		rows[i] = []any{e.ID, i + 1, lineage}
	}
	if err := tx.Insert(ctx, `exception_finding (deployment_id, exception_id, number, lineage_id)`, rows, ""); err != nil {
		return e, err
	}
	tx.Audit("exception.create", sqldb.Subject("exception", e.ID), nil, imageOfException(e))
	if err := tx.pruneExceptions(ctx); err != nil {
		return e, err
	}
	if e.State != model.ExceptionRequested {
		return e, nil
	}
	if err := tx.NotifyOfException(ctx, model.EventExceptionRequested, e, e.Reason); err != nil {
		return e, err
	}
	return e, tx.countRequestedExceptions(ctx)
}

// pruneExceptions deletes the oldest past exceptions above model.MaxPastExceptions.
func (tx *Tx) pruneExceptions(ctx context.Context) error {
	ids, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT id FROM exception WHERE deployment_id = $1 AND state > $2 ORDER BY id DESC LIMIT 100 OFFSET $3`,
		int64(model.ExceptionActive), model.MaxPastExceptions)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, of := range []struct{ table, column string }{{"exception_finding", "exception_id"}, {"exception", "id"}} {
		in, arg := tx.In(of.column, 2, ids)
		if err := tx.Write(ctx, `DELETE FROM `+of.table+` WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return err
		}
	}
	return nil
}

// DecideException stores the new state, end and answer of an exception and adds an audit event with
// the verb. It sets the decider and the time.
func (tx *Tx) DecideException(ctx context.Context, verb string, before, e model.Exception) (model.Exception, error) {
	e.DecidedAt, e.DecidedBy = tx.Now(), tx.Actor()
	switch {
	case e.State == model.ExceptionRequested:
		e.DecidedAt, e.DecidedBy = time.Time{}, model.Actor{}
	case verb == expired:
		e.DecidedAt, e.DecidedBy = e.Until, model.Actor{Kind: "system", Name: "end of an exception"}
	}
	err := tx.Write(ctx, `UPDATE exception SET state = $3, decided_at = $4, decided_by_json = $5, answer = $6, until_at `+
		`= $7 WHERE deployment_id = $1 AND id = $2`,
		e.ID, int64(e.State), e.DecidedAt, sqldb.Encoded(e.DecidedBy), e.Answer, e.Until)
	if err != nil {
		return e, err
	}
	tx.Audit("exception."+verb, sqldb.Subject("exception", e.ID), imageOfException(before), imageOfException(e))
	requested := e.OfFindings() && (before.State == model.ExceptionRequested || verb == undone)
	if requested && e.State != model.ExceptionWithdrawn { // the requester withdrew it
		if err := tx.NotifyOfException(ctx, model.EventExceptionDecided, e, e.Answer); err != nil {
			return e, err
		}
	}
	return e, tx.countRequestedExceptions(ctx)
}

// countRequestedExceptions stores the number of open exception requests in the deployment's row.
func (tx *Tx) countRequestedExceptions(ctx context.Context) error {
	n, err := sqldb.One(ctx, tx, sqldb.Scalar[int],
		`SELECT COUNT(*) FROM exception WHERE deployment_id = $1 AND state = $2`, int64(model.ExceptionRequested))
	if err != nil || n == tx.Deployment().OpenRequests {
		return err
	}
	tx.SetOpenRequests(n)
	return tx.Write(ctx, `UPDATE deployment SET open_requests = $2 WHERE id = $1`, n)
}

// EndExpiredExceptions ends active exceptions that have expired.
func (tx *Tx) EndExpiredExceptions(ctx context.Context) error {
	list, err := tx.exceptionsThat(ctx, `r.state = $2 AND r.until_at <= $3 ORDER BY r.id`,
		int64(model.ExceptionActive), tx.Now())
	if err != nil {
		return err
	}
	for _, before := range list {
		e := before
		e.State = model.ExceptionEnded
		if _, err := tx.DecideException(ctx, expired, before, e); err != nil {
			return err
		}
	}
	return nil
}

// Verbs of audit events for expiry and for undone approvals.
const (
	expired = "expire"
	undone  = "reopen"
)

func (tx *Tx) endExceptions(ctx context.Context, list []model.Exception, why string) error {
	for _, before := range list {
		e := before
		e.State, e.Answer = model.ExceptionEnded, why
		if _, err := tx.DecideException(ctx, "end", before, e); err != nil {
			return err
		}
	}
	return nil
}

// openLineage is the condition that lineage l has an open finding on some ref. $2 is
// model.Unresolved, $3 is model.TriageIgnored.
const openLineage = `l.triage_state <> $3 AND EXISTS (SELECT 1 FROM finding f
	WHERE f.deployment_id = l.deployment_id AND f.lineage_id = l.id AND f.state = $2)`

// EndRequests ends the requests without an open finding, in the commit that closed the last one. A
// scan, a decision or a removal may have done so.
func (tx *Tx) EndRequests(ctx context.Context) error {
	// only changes of findings and lineages can close findings
	opens := func(c sqldb.ChangeRun) bool { return sqldb.IsRun(c.Kind) }
	if tx.Deployment().OpenRequests == 0 || !slices.ContainsFunc(tx.Changes, opens) {
		return nil
	}
	ended, err := tx.exceptionsThat(ctx, `r.state = $4 AND r.kind = $5 AND NOT EXISTS
		(SELECT 1 FROM exception_finding q JOIN lineage l ON l.deployment_id = q.deployment_id AND l.id = q.lineage_id
			WHERE q.deployment_id = r.deployment_id AND q.exception_id = r.id AND `+openLineage+`) ORDER BY r.id`,
		int64(model.Unresolved), int64(model.TriageIgnored), int64(model.ExceptionRequested),
		int64(model.ExceptionOfFindings))
	if err != nil {
		return err
	}
	return tx.endExceptions(ctx, ended, "Its findings are no longer open.")
}

// EndRequestsOf ends the requests of a project that is about to be removed, so that their
// requesters are notified.
func (tx *Tx) EndRequestsOf(ctx context.Context, projectID int64) error {
	if tx.Deployment().OpenRequests == 0 {
		return nil
	}
	list, err := tx.exceptionsThat(ctx, `r.state = $2 AND r.kind = $3 AND r.project_id = $4 ORDER BY r.id`,
		int64(model.ExceptionRequested), int64(model.ExceptionOfFindings), projectID)
	if err != nil {
		return err
	}
	return tx.endExceptions(ctx, list, "The project and its findings were removed.")
}

// decidedByException returns the condition for lineages that exceptions currently ignore, or that
// VEX documents decided last. $2 and $3 are states, $4 are the actors of the exceptions.
func (tx *Tx) decidedByException(list []model.Exception) (condition string, args []any) {
	actors := make([]string, len(list))
	for i := range list {
		actors[i] = sqldb.Encoded(list[i].Actor())
	}
	in, arg := tx.In("l.triaged_by_json", 4, actors)
	return `l.automatic = 1 AND (l.triage_state = $2 OR ` + byVEX +
			` AND NOT (l.triage_state = $3 AND l.triage_comment = '')) AND ` + in,
		[]any{int64(model.TriageIgnored), int64(model.TriageReopened), arg}
}

// CountByException counts, by exception, the lineages that exceptions currently ignore or that VEX
// documents decided last.
func (tx *Tx) CountByException(ctx context.Context, list ...model.Exception) (map[int64]int, error) {
	counts := map[int64]int{}
	condition, args := tx.decidedByException(list)
	return counts, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var by model.Actor
		var n int
		if err := r.Scan(sqldb.Decoded(&by), &n); err != nil {
			return err
		}
		of, err := strconv.ParseInt(by.ID, 10, 64)
		counts[of] = n
		return err
	}, `SELECT l.triaged_by_json, COUNT(*) FROM lineage l WHERE l.deployment_id = $1 AND `+condition+
		` GROUP BY l.triaged_by_json`, args...)
}

// FindingsByException returns the ids of the findings counted by CountByException, by exception and
// product.
func (tx *Tx) FindingsByException(
	ctx context.Context, list ...model.Exception,
) (map[int64]map[model.IssueType][]int64, error) {
	out := map[int64]map[model.IssueType][]int64{}
	condition, args := tx.decidedByException(list)
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var by model.Actor
		var t model.IssueType
		var finding int64
		if err := r.Scan(sqldb.Decoded(&by), &t, &finding); err != nil {
			return err
		}
		of, err := strconv.ParseInt(by.ID, 10, 64)
		if out[of] == nil {
			out[of] = map[model.IssueType][]int64{}
		}
		out[of][t] = append(out[of][t], finding)
		return err
	}, `SELECT l.triaged_by_json, f.issue_type, f.id FROM lineage l
		JOIN finding f ON f.deployment_id = l.deployment_id AND f.lineage_id = l.id
		WHERE l.deployment_id = $1 AND `+condition, args...)
}

const seqException sqldb.Sequence = "exception"
