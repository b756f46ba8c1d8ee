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

// ChangeRequests returns the open change requests of a repository by number.
func (tx *Tx) ChangeRequests(ctx context.Context, repositoryID int64) ([]model.ChangeRequest, error) {
	return sqldb.Many(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request
		WHERE deployment_id = $1 AND repository_id = $2 AND state = $3 ORDER BY number`, repositoryID,
		int64(model.ChangeOpen))
}

// ChangeRequest returns a change request by its number.
func (tx *Tx) ChangeRequest(ctx context.Context, repositoryID, number int64) (model.ChangeRequest, error) {
	c, err := sqldb.One(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request
		WHERE deployment_id = $1 AND repository_id = $2 AND number = $3`, repositoryID, number)
	if err != nil {
		return c, fmt.Errorf("change request %d: %w", number, err)
	}
	return c, nil
}

// SaveChangeRequest stores a change request as received from a host. fresh reports whether it needs
// a scan: it is open, and its head or target changed or it was not open before.
func (tx *Tx) SaveChangeRequest(ctx context.Context, c model.ChangeRequest) (fresh bool, err error) {
	if _, err := tx.RepositoryByID(ctx, c.RepositoryID); err != nil {
		return false, err
	}
	known, err := sqldb.Many(ctx, tx, scanChangeRequest, `SELECT `+changeRequestColumns+` FROM change_request
		WHERE deployment_id = $1 AND repository_id = $2 AND number = $3`, c.RepositoryID, c.Number)
	if err != nil || len(known) == 1 && known[0] == c {
		return false, err
	}
	if len(known) == 1 && known[0].UpdatedAt.After(c.UpdatedAt) { // deliveries of a host may arrive out of order
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

// CloseChangeRequests marks all change requests of a repository as closed, except those in open.
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

// WebhookJob is the kind of job that processes a delivery of a code host.
const WebhookJob = "hear"

// maxQueuedWebhooks limits the queued deliveries of a connection with distinct subjects, so that one host
// cannot fill the queue.
const maxQueuedWebhooks = 2000

// QueueWebhook queues a delivery of a connection. It replaces a queued one with the same subject
// and returns its input; the job is then as new as an added one. If too many deliveries of the
// connection are queued, it returns a *model.BusyError.
func (tx *Tx) QueueWebhook(
	ctx context.Context, c model.Connection, subject string, input []byte,
) (instead []byte, err error) {
	of := fmt.Sprintf("%d ", c.ID)
	others, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM job
		WHERE deployment_id = $1 AND kind = $2 AND state = $3 AND subject LIKE $4 AND subject <> $5`,
		WebhookJob, int64(model.JobQueued), of+"%", of+subject)
	if err == nil && others >= maxQueuedWebhooks {
		err = &model.BusyError{
			Text: fmt.Sprintf("%d webhooks of this connection are queued. Send this one again later.", others),
			Wait: time.Minute,
		}
	}
	if err != nil {
		return nil, err
	}
	return tx.Enqueue(ctx, model.Job{Kind: WebhookJob, Subject: of + subject, Key: queue.HostKey(c.BaseURL), Input: input})
}

// Delivery is a verified webhook delivery.
type Delivery struct {
	ID           int64
	ConnectionID int64
	Delivery     string // id assigned by the host
	Event        string
	Repository   string // the host's id of the repository; empty: none
	CodeEvent    bool   // it is about a push or a change request
	HeadCommit   string // head of the push or change request; may be empty
	ReceivedAt   time.Time
	Outcome      string // for display; empty until processed
}

// maxDeliveries limits the stored deliveries of a connection. Hosts retry within minutes, so stored
// ones suffice to detect duplicates.
const maxDeliveries = 1000

// AddDelivery stores a delivery and the time of the connection's last delivery. A duplicate is
// model.ErrConflict.
func (tx *Tx) AddDelivery(ctx context.Context, d Delivery) (Delivery, error) {
	had, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM webhook_delivery WHERE deployment_id = $1 `+
		`AND connection_id = $2 AND delivery = $3`, d.ConnectionID, d.Delivery)
	if err == nil && had > 0 {
		err = fmt.Errorf("delivery %.80s was already accepted: %w", model.Line(d.Delivery), model.ErrConflict)
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
	if err == nil && d.CodeEvent {
		err = tx.recordWebhookEvent(ctx, d.ConnectionID, d.Repository)
	}
	if err != nil {
		return d, err
	}
	return d, tx.Write(ctx, `DELETE FROM webhook_delivery WHERE deployment_id = $1 AND connection_id = $2 AND id NOT IN
		(SELECT id FROM webhook_delivery WHERE deployment_id = $1 AND connection_id = $2 ORDER BY id DESC LIMIT $3)`,
		d.ConnectionID, maxDeliveries)
}

// FinishDelivery stores the outcome of a delivery.
func (tx *Tx) FinishDelivery(ctx context.Context, id int64, outcome string) error {
	return tx.Write(ctx, `UPDATE webhook_delivery SET outcome = $3 WHERE deployment_id = $1 AND id = $2`, id, outcome)
}

// DeliveryQuery selects deliveries of a connection.
type DeliveryQuery struct {
	ConnectionID int64
	Before       int64 // only lower ids; 0: all
	Limit        int
}

// Deliveries returns the newest deliveries of a connection, newest first, and reports whether there
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
