package hosts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"

	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const changeRequestColumns = `repository_id, number, title, author, web_url, state, head_commit, head_ref, ` +
	`fetch_ref, base_ref, base_commit, fork, updated_at`

func scanChangeRequest(r sqldb.Row) (c model.ChangeRequest, err error) {
	return c, r.Scan(&c.RepositoryID, &c.Number, &c.Title, &c.Author, &c.WebURL, &c.State, &c.HeadCommit, &c.HeadRef,
		&c.FetchRef, &c.BaseRef, &c.BaseCommit, &c.Fork, sqldb.Instant(&c.UpdatedAt))
}

// ChangeRequests lists the open ones of a repository by number.
func (tx *Tx) ChangeRequests(ctx context.Context, repositoryID int64) ([]model.ChangeRequest, error) {
	return sqldb.Many(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request
		WHERE deployment_id = $1 AND repository_id = $2 AND state = $3 ORDER BY number`, repositoryID,
		int64(model.ChangeOpen))
}

// ChangeRequest finds one by its number.
func (tx *Tx) ChangeRequest(ctx context.Context, repositoryID, number int64) (model.ChangeRequest, error) {
	c, err := sqldb.One(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request
		WHERE deployment_id = $1 AND repository_id = $2 AND number = $3`, repositoryID, number)
	if err != nil {
		return c, fmt.Errorf("change request %d: %w", number, err)
	}
	return c, nil
}

// SaveChangeRequest keeps what a host tells of a change request, and reports whether
// there is something to scan: it is open, and its head or what it is to be merged into is
// another one, or it was not open before.
func (tx *Tx) SaveChangeRequest(ctx context.Context, c model.ChangeRequest) (fresh bool, err error) {
	if _, err := tx.RepositoryByID(ctx, c.RepositoryID); err != nil {
		return false, err
	}
	known, err := sqldb.Many(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request
		WHERE deployment_id = $1 AND repository_id = $2 AND number = $3`, c.RepositoryID, c.Number)
	if err != nil || len(known) == 1 && known[0] == c {
		return false, err
	}
	if len(known) == 1 && known[0].UpdatedAt.After(c.UpdatedAt) { // what is told may overtake what was told before
		return false, nil
	}
	err = tx.Insert(ctx, `change_request (deployment_id, `+changeRequestColumns+`)`, [][]any{{
		c.RepositoryID, c.Number, c.Title, c.Author, c.WebURL, c.State, c.HeadCommit,
		c.HeadRef, c.FetchRef, c.BaseRef, c.BaseCommit, c.Fork, c.UpdatedAt,
	}},
		`ON CONFLICT (deployment_id, repository_id, number) DO UPDATE SET title = excluded.title, author = excluded.author,
			web_url = excluded.web_url, state = excluded.state,
		head_commit = excluded.head_commit, head_ref = excluded.head_ref, fetch_ref = excluded.fetch_ref,
		base_ref = excluded.base_ref, base_commit = excluded.base_commit,
		fork = excluded.fork, updated_at = excluded.updated_at`)
	fresh = c.State == model.ChangeOpen && (len(known) == 0 || known[0].HeadCommit != c.HeadCommit ||
		known[0].BaseRef != c.BaseRef || known[0].State != model.ChangeOpen)
	if err != nil || !fresh {
		return false, err
	}
	return true, tx.Write(ctx, `UPDATE change_request SET head_at = $4 WHERE deployment_id = $1 AND repository_id = $2 `+
		`AND number = $3`, c.RepositoryID, c.Number, tx.Now())
}

// CloseChangeRequests notes that of a repository only these are open.
func (tx *Tx) CloseChangeRequests(ctx context.Context, repositoryID int64, open []int64) error {
	known, err := tx.ChangeRequests(ctx, repositoryID)
	if err != nil {
		return err
	}
	var closed []int64
	for _, c := range known {
		if !slices.Contains(open, c.Number) {
			closed = append(closed, c.Number)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	in, list := tx.In("number", 3, closed)
	return tx.Write(ctx, `UPDATE change_request SET state = $4 WHERE deployment_id = $1 AND repository_id = $2 AND `+in,
		repositoryID, list, int64(model.ChangeClosed))
}

// HearJob is the kind of job that works off what a code host told.
const HearJob = "hear"

// maxHearings is how many deliveries of a connection may wait to be worked off, each about
// something else: a host that is down fills its own share.
const maxHearings = 2000

// QueueHearing has a delivery of a connection worked off, in place of one about the same
// subject that waits: the input of that is returned, and the job is as new as one that is
// added. Where too many of the connection wait, it is a model.BusyError.
func (tx *Tx) QueueHearing(
	ctx context.Context, c model.Connection, subject string, input []byte,
) (instead []byte, err error) {
	of := fmt.Sprintf("%d ", c.ID)
	others, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM job
		WHERE deployment_id = $1 AND kind = $2 AND state = $3 AND subject LIKE $4 AND subject <> $5`,
		HearJob, int64(model.JobQueued), of+"%", of+subject)
	if err == nil && others >= maxHearings {
		err = &model.BusyError{
			Text: fmt.Sprintf("%d webhooks of this connection wait to be worked off. Send this one again later.", others),
			Wait: time.Minute,
		}
	}
	if err != nil {
		return nil, err
	}
	return tx.Enqueue(ctx, model.Job{Kind: HearJob, Subject: of + subject, Key: queue.HostKey(c.BaseURL), Input: input})
}

// Delivery is a webhook that was verified.
type Delivery struct {
	ID           int64
	ConnectionID int64
	Delivery     string // the host's id of it
	Event        string
	Repository   string // the host's id; empty: none
	Tells        bool   // of a push or a change request
	HeadCommit   string // of that; empty: it names none
	ReceivedAt   time.Time
	Outcome      string // for people; empty until it was worked off
}

// maxDeliveries is how many of a connection are kept. A host sends one again within
// minutes, so that none of these is taken twice.
const maxDeliveries = 1000

// AddDelivery keeps what a host told, and that the connection hears of it. What was told
// before is model.ErrConflict.
func (tx *Tx) AddDelivery(ctx context.Context, d Delivery) (Delivery, error) {
	had, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM webhook_delivery WHERE deployment_id = $1 `+
		`AND connection_id = $2 AND delivery = $3`, d.ConnectionID, d.Delivery)
	if err == nil && had > 0 {
		err = fmt.Errorf("delivery %.80s was taken already: %w", model.Line(d.Delivery), model.ErrConflict)
	}
	if err != nil {
		return d, err
	}
	n, err := tx.Exec(ctx, `UPDATE connection SET heard_at = $3 WHERE deployment_id = $1 AND id = $2`,
		d.ConnectionID, tx.Now())
	if err == nil && n == 0 {
		err = model.ErrNotFound
	}
	if err != nil {
		return d, err
	}
	if d.ID, err = tx.NewID(ctx, sqldb.SeqConnection); err != nil {
		return d, err
	}
	d.ReceivedAt = tx.Now()
	err = tx.Insert(ctx, `webhook_delivery (deployment_id, id, connection_id, delivery, event, repository, received_at, `+
		`outcome, head_commit)`, [][]any{{
		d.ID, d.ConnectionID, d.Delivery, d.Event, d.Repository, d.ReceivedAt, d.Outcome, d.HeadCommit,
	}}, "")
	if err == nil && d.Tells {
		err = tx.noteHeard(ctx, d.ConnectionID, d.Repository)
	}
	if err != nil {
		return d, err
	}
	return d, tx.Write(ctx, `DELETE FROM webhook_delivery WHERE deployment_id = $1 AND connection_id = $2 AND id NOT IN
		(SELECT id FROM webhook_delivery WHERE deployment_id = $1 AND connection_id = $2 ORDER BY id DESC LIMIT $3)`,
		d.ConnectionID, maxDeliveries)
}

// FinishDelivery says what came of a delivery.
func (tx *Tx) FinishDelivery(ctx context.Context, id int64, outcome string) error {
	return tx.Write(ctx, `UPDATE webhook_delivery SET outcome = $3 WHERE deployment_id = $1 AND id = $2`, id, outcome)
}

// DeliveryQuery is which deliveries of a connection are listed.
type DeliveryQuery struct {
	ConnectionID int64
	Before       int64 // only those with lower ids; 0 for all
	Limit        int
}

// Deliveries lists the newest of a connection, the newest first, and says whether there
// are older ones.
func (tx *Tx) Deliveries(ctx context.Context, q DeliveryQuery) (list []Delivery, more bool, err error) {
	w := &sqldb.Where{Tx: tx.Tx}
	w.And(`connection_id = ?`, q.ConnectionID)
	if q.Before != 0 {
		w.And(`id < ?`, q.Before)
	}
	w.And(`0 = 0 ORDER BY id DESC LIMIT ?`, q.Limit+1)
	all := func(Delivery) bool { return true }
	return sqldb.UpTo(ctx, tx, q.Limit, all, func(r sqldb.Row) (d Delivery, err error) {
		return d, r.Scan(&d.ID, &d.ConnectionID, &d.Delivery, &d.Event, &d.Repository,
			sqldb.Instant(&d.ReceivedAt), &d.Outcome)
	}, `SELECT id, connection_id, delivery, event, repository, received_at, outcome FROM webhook_delivery WHERE `+
		`deployment_id = $1`+w.Text.String(), w.Args...)
}
