package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

const exceptionRequestColumns = `id, project_id, state, reason, triage_reason, until_at, asked_at, asked_by_json, asker_id, decided_at, decided_by_json, answer, granted_at`

func scanExceptionRequest(r row) (e redoubt.ExceptionRequest, err error) {
	return e, r.Scan(&e.ID, &e.ProjectID, &e.State, &e.Reason, &e.TriageReason, instant(&e.Until), instant(&e.AskedAt), decoded(&e.AskedBy), &e.AskerID,
		instant(&e.DecidedAt), decoded(&e.DecidedBy), &e.Answer, instant(&e.Granted))
}

// exceptionRequestImage is what the audit trail tells of a request.
type exceptionRequestImage struct {
	State    string  `json:"state"`
	Reason   string  `json:"reason,omitempty"`
	Until    string  `json:"until,omitempty"`
	Answer   string  `json:"answer,omitempty"`
	Granted  string  `json:"granted,omitempty"`
	Findings []int64 `json:"lineages,omitempty"`
}

func imageOfExceptionRequest(r redoubt.ExceptionRequest) exceptionRequestImage {
	return exceptionRequestImage{r.State.String(), r.Reason, redoubt.LastDay(r.Until), r.Answer, redoubt.LastDay(r.Granted), r.Lineages}
}

// exceptionRequestVerbs name what was done to a request in the audit trail.
var exceptionRequestVerbs = map[redoubt.ExceptionRequestState]string{
	redoubt.RequestApproved: "approve", redoubt.RequestRefused: "refuse", redoubt.RequestWithdrawn: "withdraw", redoubt.RequestEnded: "end",
}

// ExceptionRequestQuery selects requests for exceptions.
type ExceptionRequestQuery struct {
	Globs   redoubt.ProjectGlobs          // only those about projects that these allow
	State   redoubt.ExceptionRequestState // 0: any
	AskerID int64                         // only those that this user asked; 0: whoever did
	Before  int64                         // only those with lower ids; 0: all
	Skip    int                           // so many of them first
	Limit   int
}

// ExceptionRequests lists requests, the newest first, and says whether there are older ones.
func (tx *Tx) ExceptionRequests(ctx context.Context, q ExceptionRequestQuery) (list []redoubt.ExceptionRequest, more bool, err error) {
	w, err := tx.exceptionRequestsWhere(ctx, q)
	if err != nil {
		return nil, false, err
	}
	w.and(`0 = 0 ORDER BY id DESC LIMIT ? OFFSET ?`, q.Limit+1, q.Skip)
	list, err = many(ctx, tx, scanExceptionRequest, `SELECT `+exceptionRequestColumns+` FROM exception_request WHERE deployment_id = $1`+w.text.String(), w.args...)
	if err != nil {
		return nil, false, err
	}
	if more = len(list) > q.Limit; more {
		list = list[:q.Limit]
	}
	return list, more, tx.readRequestLineages(ctx, list)
}

// CountExceptionRequests counts what ExceptionRequests lists on all pages together.
func (tx *Tx) CountExceptionRequests(ctx context.Context, q ExceptionRequestQuery) (int, error) {
	w, err := tx.exceptionRequestsWhere(ctx, q)
	if err != nil {
		return 0, err
	}
	return one(ctx, tx, scalar[int], `SELECT COUNT(*) FROM exception_request WHERE deployment_id = $1`+w.text.String(), w.args...)
}

func (tx *Tx) exceptionRequestsWhere(ctx context.Context, q ExceptionRequestQuery) (*where, error) {
	w := &where{tx: tx}
	projects, all, err := tx.visibleProjectIDs(ctx, q.Globs)
	if err != nil {
		return nil, err
	}
	if !all {
		w.in(`project_id`, projects)
	}
	if q.State != 0 {
		w.and(`state = ?`, int64(q.State))
	}
	if q.AskerID != 0 {
		w.and(`asker_id = ?`, q.AskerID)
	}
	if q.Before != 0 {
		w.and(`id < ?`, q.Before)
	}
	return w, nil
}

// readRequestLineages reads what requests are about: each lineage once, also where two of
// them became one meanwhile.
func (tx *Tx) readRequestLineages(ctx context.Context, list []redoubt.ExceptionRequest) error {
	if len(list) == 0 {
		return nil
	}
	ids, at := make([]int64, len(list)), make(map[int64]int, len(list))
	for i, r := range list {
		ids[i], at[r.ID] = r.ID, i
	}
	in, arg := tx.in("request_id", 2, ids)
	return each(ctx, tx, func(r row) error {
		var id, lineage int64
		err := r.Scan(&id, &lineage)
		of := &list[at[id]]
		of.Lineages = append(of.Lineages, lineage)
		return err
	}, `SELECT request_id, lineage_id FROM exception_request_finding WHERE deployment_id = $1 AND `+in+` GROUP BY request_id, lineage_id ORDER BY request_id, MIN(number)`, arg)
}

// ExceptionRequest finds one by its id; an unknown one is redoubt.ErrNotFound.
func (tx *Tx) ExceptionRequest(ctx context.Context, id int64) (redoubt.ExceptionRequest, error) {
	r, err := one(ctx, tx, scanExceptionRequest, `SELECT `+exceptionRequestColumns+` FROM exception_request WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return r, fmt.Errorf("exception request %d: %w", id, err)
	}
	list := []redoubt.ExceptionRequest{r}
	err = tx.readRequestLineages(ctx, list)
	return list[0], err
}

// maxRequestsOf bounds how many requests the history of a finding tells.
const maxRequestsOf = 100

// ExceptionRequestsOf lists the requests about a lineage, the newest maxRequestsOf, oldest
// first.
func (tx *Tx) ExceptionRequestsOf(ctx context.Context, lineageID int64) ([]redoubt.ExceptionRequest, error) {
	list, err := many(ctx, tx, scanExceptionRequest, `SELECT `+exceptionRequestColumns+` FROM exception_request WHERE deployment_id = $1 AND id IN
		(SELECT request_id FROM exception_request_finding WHERE deployment_id = $1 AND lineage_id = $2) ORDER BY id DESC LIMIT $3`, lineageID, maxRequestsOf)
	slices.Reverse(list)
	return list, err
}

// OpenExceptionRequests finds the open request about each of some lineages, by lineage.
// Those that nobody asked about are not in the answer.
func (tx *Tx) OpenExceptionRequests(ctx context.Context, lineages []int64) (map[int64]int64, error) {
	of := map[int64]int64{}
	in, arg := tx.in("q.lineage_id", 3, lineages)
	return of, each(ctx, tx, func(r row) error {
		var lineage, id int64
		err := r.Scan(&lineage, &id)
		of[lineage] = id
		return err
	}, `SELECT q.lineage_id, q.request_id FROM exception_request_finding q JOIN exception_request r ON r.deployment_id = q.deployment_id AND r.id = q.request_id
		WHERE q.deployment_id = $1 AND r.state = $2 AND `+in, int64(redoubt.RequestOpen), arg)
}

// openLineage says that lineage l has a finding that is open on some ref: $2 is its state,
// $3 that of what is ignored.
const openLineage = `l.triage_state <> $3 AND EXISTS (SELECT 1 FROM finding f WHERE f.deployment_id = l.deployment_id AND f.lineage_id = l.id AND f.state = $2)`

// LineagesStillOpen are those of the lineages that are open on some ref, ascending.
func (tx *Tx) LineagesStillOpen(ctx context.Context, ids []int64) ([]int64, error) {
	in, arg := tx.in("l.id", 4, ids)
	return many(ctx, tx, scalar[int64], `SELECT l.id FROM lineage l WHERE l.deployment_id = $1 AND `+openLineage+` AND `+in+` ORDER BY l.id`,
		int64(redoubt.Unresolved), int64(redoubt.TriageIgnored), arg)
}

// AddExceptionRequest stores a request that is open, and returns it with its id and who
// made it when. The oldest that were decided go where there are too many.
func (tx *Tx) AddExceptionRequest(ctx context.Context, r redoubt.ExceptionRequest) (redoubt.ExceptionRequest, error) {
	var err error
	if r.ID, err = tx.newID(ctx, seqConnection); err != nil {
		return r, err
	}
	r.State, r.AskedAt, r.AskedBy = redoubt.RequestOpen, tx.now, tx.actor
	err = tx.insert(ctx, `exception_request (deployment_id, `+exceptionRequestColumns+`)`, [][]any{{
		r.ID, r.ProjectID, int64(r.State), r.Reason, int64(r.TriageReason), r.Until, r.AskedAt, encoded(r.AskedBy), r.AskerID, r.DecidedAt, encoded(r.DecidedBy), r.Answer, r.Granted,
	}}, "")
	if err != nil {
		return r, err
	}
	rows := make([][]any, len(r.Lineages))
	for i, lineage := range r.Lineages {
		rows[i] = []any{r.ID, i + 1, lineage}
	}
	if err := tx.insert(ctx, `exception_request_finding (deployment_id, request_id, number, lineage_id)`, rows, ""); err != nil {
		return r, err
	}
	tx.audit("exception_request.create", subject("exception_request", r.ID), nil, imageOfExceptionRequest(r))
	if err := tx.pruneExceptionRequests(ctx); err != nil {
		return r, err
	}
	if err := tx.tellRequest(ctx, redoubt.EventExceptionAsked, r, r.Reason); err != nil {
		return r, err
	}
	return r, tx.countOpenRequests(ctx)
}

// pruneExceptionRequests forgets the oldest that were decided, beyond those that are kept.
func (tx *Tx) pruneExceptionRequests(ctx context.Context) error {
	ids, err := many(ctx, tx, scalar[int64], `SELECT id FROM exception_request WHERE deployment_id = $1 AND state <> $2 ORDER BY id DESC LIMIT 100 OFFSET $3`,
		int64(redoubt.RequestOpen), redoubt.MaxDecidedRequests)
	if err != nil || len(ids) == 0 {
		return err
	}
	for _, of := range []struct{ table, column string }{{"exception_request_finding", "request_id"}, {"exception_request", "id"}} {
		in, arg := tx.in(of.column, 2, ids)
		if err := tx.write(ctx, `DELETE FROM `+of.table+` WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return err
		}
	}
	return nil
}

// DecideExceptionRequest writes what became of a request that was open. It sets who decided
// and when.
func (tx *Tx) DecideExceptionRequest(ctx context.Context, r redoubt.ExceptionRequest) (redoubt.ExceptionRequest, error) {
	before := r
	before.State, before.Answer, before.Granted = redoubt.RequestOpen, "", redoubt.ExceptionRequest{}.Granted
	r.DecidedAt, r.DecidedBy = tx.now, tx.actor
	err := tx.write(ctx, `UPDATE exception_request SET state = $3, decided_at = $4, decided_by_json = $5, answer = $6, granted_at = $7 WHERE deployment_id = $1 AND id = $2`,
		r.ID, int64(r.State), r.DecidedAt, encoded(r.DecidedBy), r.Answer, r.Granted)
	if err != nil {
		return r, err
	}
	tx.audit("exception_request."+exceptionRequestVerbs[r.State], subject("exception_request", r.ID), imageOfExceptionRequest(before), imageOfExceptionRequest(r))
	if r.State != redoubt.RequestWithdrawn { // who did that need not be told
		if err := tx.tellRequest(ctx, redoubt.EventExceptionDecided, r, r.Answer); err != nil {
			return r, err
		}
	}
	return r, tx.countOpenRequests(ctx)
}

// ReopenExceptionRequests has requests wait again that the actor approved at a time and of
// whose findings some are open.
func (tx *Tx) ReopenExceptionRequests(ctx context.Context, approvedAt time.Time) error {
	list, err := many(ctx, tx, scanExceptionRequest, `SELECT `+exceptionRequestColumns+` FROM exception_request r WHERE r.deployment_id = $1 AND r.state = $4 AND r.decided_at = $5 AND EXISTS
		(SELECT 1 FROM exception_request_finding q JOIN lineage l ON l.deployment_id = q.deployment_id AND l.id = q.lineage_id
			WHERE q.deployment_id = r.deployment_id AND q.request_id = r.id AND `+openLineage+`) ORDER BY r.id`,
		int64(redoubt.Unresolved), int64(redoubt.TriageIgnored), int64(redoubt.RequestApproved), approvedAt)
	if err == nil {
		err = tx.readRequestLineages(ctx, list)
	}
	if err != nil || len(list) == 0 {
		return err
	}
	for _, r := range list {
		if r.DecidedBy == tx.actor {
			if err := tx.reopenRequest(ctx, r); err != nil {
				return err
			}
		}
	}
	return tx.countOpenRequests(ctx)
}

// reopenRequest has a request wait again, of which the approval was undone, or ends it where
// another is about one of its findings by now. Who was told of the approval is told so.
func (tx *Tx) reopenRequest(ctx context.Context, before redoubt.ExceptionRequest) error {
	others, err := tx.OpenExceptionRequests(ctx, before.Lineages)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return tx.endRequests(ctx, []redoubt.ExceptionRequest{before}, "The approval was undone. Another request is about its findings by now.")
	}
	after := before
	after.State, after.Answer, after.Granted, after.DecidedAt, after.DecidedBy = redoubt.RequestOpen, "", time.Time{}, time.Time{}, redoubt.Actor{}
	err = tx.write(ctx, `UPDATE exception_request SET state = $3, decided_at = $4, decided_by_json = $5, answer = $6, granted_at = $4 WHERE deployment_id = $1 AND id = $2`,
		after.ID, int64(after.State), after.DecidedAt, encoded(after.DecidedBy), after.Answer)
	if err != nil {
		return err
	}
	tx.audit("exception_request.reopen", subject("exception_request", after.ID), imageOfExceptionRequest(before), imageOfExceptionRequest(after))
	return tx.tellRequest(ctx, redoubt.EventExceptionDecided, after, "")
}

// countOpenRequests keeps beside the deployment how many requests wait.
func (tx *Tx) countOpenRequests(ctx context.Context) error {
	n, err := one(ctx, tx, scalar[int], `SELECT COUNT(*) FROM exception_request WHERE deployment_id = $1 AND state = $2`, int64(redoubt.RequestOpen))
	if err != nil || n == tx.deployment.OpenRequests {
		return err
	}
	tx.deployment.OpenRequests = n
	return tx.write(ctx, `UPDATE deployment SET open_requests = $2 WHERE id = $1`, n)
}

// endExceptionRequests ends the requests of which nothing is open any more, in the commit
// that made it so: scans fixed it, somebody decided about it, or it was removed.
func (tx *Tx) endExceptionRequests(ctx context.Context) error {
	opens := func(c changeRun) bool { return isRun(c.kind) } // of findings and lineages: nothing else says what is open
	if tx.deployment.OpenRequests == 0 || !slices.ContainsFunc(tx.changes, opens) {
		return nil
	}
	ended, err := many(ctx, tx, scanExceptionRequest, `SELECT `+exceptionRequestColumns+` FROM exception_request r WHERE r.deployment_id = $1 AND r.state = $4 AND NOT EXISTS
		(SELECT 1 FROM exception_request_finding q JOIN lineage l ON l.deployment_id = q.deployment_id AND l.id = q.lineage_id
			WHERE q.deployment_id = r.deployment_id AND q.request_id = r.id AND `+openLineage+`) ORDER BY r.id`,
		int64(redoubt.Unresolved), int64(redoubt.TriageIgnored), int64(redoubt.RequestOpen))
	if err == nil {
		err = tx.readRequestLineages(ctx, ended)
	}
	if err != nil {
		return err
	}
	return tx.endRequests(ctx, ended, "None of its findings is open any more.")
}

func (tx *Tx) endRequests(ctx context.Context, list []redoubt.ExceptionRequest, why string) error {
	for _, r := range list {
		r.State, r.Answer = redoubt.RequestEnded, why
		if _, err := tx.DecideExceptionRequest(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// endRequestsOf ends the open requests about a project that is about to be removed: who asked
// is told all the same.
func (tx *Tx) endRequestsOf(ctx context.Context, projectID int64) error {
	if tx.deployment.OpenRequests == 0 {
		return nil
	}
	list, err := many(ctx, tx, scanExceptionRequest, `SELECT `+exceptionRequestColumns+` FROM exception_request WHERE deployment_id = $1 AND state = $2 AND project_id = $3 ORDER BY id`,
		int64(redoubt.RequestOpen), projectID)
	if err == nil {
		err = tx.readRequestLineages(ctx, list)
	}
	if err != nil {
		return err
	}
	return tx.endRequests(ctx, list, "The project was removed, with its findings.")
}

// FindingsOfRequests finds a finding to show for each lineage that requests are about: one
// that is open, if any is.
func (tx *Tx) FindingsOfRequests(ctx context.Context, list []redoubt.ExceptionRequest) (map[int64]int64, error) {
	var lineages []int64
	for _, r := range list {
		lineages = append(lineages, r.Lineages...)
	}
	return tx.FindingsOfLineages(ctx, lineages)
}

// OpenRequestCounts counts the requests of a user, or where that is 0 those of the actor, that
// are open or, of a user, were withdrawn in the last day, so that asking and withdrawing comes
// to an end; and all that are open. Whoever the host calls otherwise meanwhile is the same.
func (tx *Tx) OpenRequestCounts(ctx context.Context, askerID int64) (own, all int, err error) {
	err = each(ctx, tx, func(r row) error {
		var asker int64
		var by redoubt.Actor
		var state redoubt.ExceptionRequestState
		err := r.Scan(&asker, decoded(&by), &state)
		if asker == askerID && (askerID != 0 || by.Kind == tx.actor.Kind && by.ID == tx.actor.ID) {
			own++
		}
		if state == redoubt.RequestOpen {
			all++
		}
		return err
	}, `SELECT asker_id, asked_by_json, state FROM exception_request
		WHERE deployment_id = $1 AND (state = $2 OR state = $4 AND asker_id = $3 AND asker_id > 0 AND decided_at > $5)`,
		int64(redoubt.RequestOpen), askerID, int64(redoubt.RequestWithdrawn), tx.now.AddDate(0, 0, -1))
	return own, all, err
}
