package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const connectionColumns = `id, kind, name, base_url, account, credential, webhook_secret, follow_json, created_at,
	checked_at, problem, heard_at, replies, people_json, replies_at`

func scanConnection(r sqldb.Row) (c model.Connection, err error) {
	return c, r.Scan(&c.ID, &c.Kind, &c.Name, &c.BaseURL, &c.Account, &c.Credential, &c.WebhookSecret,
		sqldb.Decoded(&c.Follow),
		sqldb.Instant(&c.CreatedAt), sqldb.Instant(&c.CheckedAt), &c.Problem, sqldb.Instant(&c.WebhookAt), &c.Replies,
		sqldb.Decoded(&c.People), sqldb.Instant(&c.RepliesAt))
}

// connectionImage is the content of audit events about a connection. It never contains secrets.
type connectionImage struct {
	Kind       string           `json:"kind"`
	Name       string           `json:"name"`
	BaseURL    string           `json:"base_url"`
	Follow     []string         `json:"follow,omitempty"`
	Replies    string           `json:"replies"`
	People     model.HostPeople `json:"people,omitempty"`
	Credential string           `json:"credential,omitempty"` // states that it was replaced
}

func imageOfConnection(c model.Connection) connectionImage {
	return connectionImage{
		Kind:    c.Kind.String(),
		Name:    c.Name,
		BaseURL: c.BaseURL,
		Follow:  c.Follow,
		Replies: c.Replies.String(),
		People:  c.People,
	}
}

// Connections returns the deployment's connections by id.
func (tx *Tx) Connections(ctx context.Context) ([]model.Connection, error) {
	return sqldb.Many(ctx, tx, scanConnection, `SELECT
		`+connectionColumns+` FROM connection WHERE deployment_id = $1
		ORDER BY id`)
}

// Connection returns a connection by id, or model.ErrNotFound.
func (tx *Tx) Connection(ctx context.Context, id int64) (model.Connection, error) {
	c, err := sqldb.One(ctx, tx, scanConnection, `SELECT
		`+connectionColumns+` FROM connection WHERE deployment_id = $1
		AND id = $2`, id)
	if err != nil {
		return c, fmt.Errorf("connection %d: %w", id, err)
	}
	return c, nil
}

// Sealed contains the encrypted secrets of a connection. Nil ones stay unchanged.
type Sealed struct {
	Credential    []byte
	WebhookSecret []byte
}

// AddConnection creates a connection whose secrets are sealed for its id. A duplicate name, or a
// connection above the limit, is model.ErrConflict.
func (tx *Tx) AddConnection(
	ctx context.Context, c model.Connection, seal func(id int64) (Sealed, error),
) (model.Connection, error) {
	had, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM connection WHERE deployment_id = $1`)
	if err == nil && had >= model.MaxConnections {
		err = fmt.Errorf("there are %d connections; remove one first: %w", had, model.ErrConflict)
	}
	if err != nil {
		return c, err
	}
	if err := tx.checkPeople(ctx, nil, c.People); err != nil {
		return c, err
	}
	if c.ID, err = tx.NewID(ctx, sqldb.SeqConnection); err != nil {
		return c, err
	}
	sealed, err := seal(c.ID)
	if err != nil {
		return c, err
	}
	c.Replies = cmp.Or(c.Replies, model.RepliesLinked)
	c.RepliesAt = tx.Now()
	c.CreatedAt, c.Credential, c.WebhookSecret = tx.Now(), sqldb.NoNil(sealed.Credential), sqldb.NoNil(
		sealed.WebhookSecret,
	)
	row := []any{
		c.ID, c.Kind, c.Name, c.BaseURL, c.Account, c.Credential, c.WebhookSecret, sqldb.Encoded(sqldb.OrEmpty(c.Follow)),
		c.CreatedAt, c.CheckedAt, c.Problem, c.WebhookAt, c.Replies, sqldb.Encoded(peopleOf(c)), c.RepliesAt,
	}
	err = tx.Insert(ctx, `connection (deployment_id, `+connectionColumns+`)`, [][]any{row}, "")
	if err != nil {
		return c, connectionNameTaken(c.Name, err)
	}
	tx.Audit("connection.create", sqldb.Subject("connection", c.ID), nil, imageOfConnection(c))
	return c, tx.QueueFollowing(ctx, c, tx.Now().Add(FollowEvery)) // the host was queried just before
}

// peopleOf returns the people of a connection, never nil.
func peopleOf(c model.Connection) model.HostPeople {
	if c.People == nil {
		return model.HostPeople{}
	}
	return c.People
}

// checkPeople returns an error if a newly linked user is not a member of the deployment. Existing
// links of former members are accepted.
func (tx *Tx) checkPeople(ctx context.Context, had, people model.HostPeople) error {
	_, fresh := people.Since(had)
	if len(fresh) == 0 {
		return nil
	}
	members, err := tx.Members(ctx)
	known := map[string]bool{}
	for _, m := range members {
		known[m.Name] = true
	}
	for _, login := range fresh {
		if err == nil && !known[people[login].User] {
			err = model.Invalid("people", "%.100q is not a user of this deployment: see Settings → Users",
				people[login].User)
		}
	}
	return err
}

func connectionNameTaken(name string, err error) error {
	if errors.Is(err, model.ErrConflict) {
		return fmt.Errorf("a connection called %.80q already exists: %w", name, model.ErrConflict)
	}
	return err
}

// UpdateConnection changes the name, followed repositories, replies and people of a connection, and
// the given secrets. A linked user who is not a member of the deployment is a *model.InvalidError.
// Kind and address cannot change, because another host would receive the credential.
func (tx *Tx) UpdateConnection(ctx context.Context, c model.Connection, sealed Sealed) (model.Connection, error) {
	before, err := tx.Connection(ctx, c.ID)
	if err != nil {
		return before, err
	}
	after := before
	after.Name, after.Follow, after.Replies, after.People = c.Name, c.Follow, cmp.Or(c.Replies, before.Replies), c.People
	if err := tx.checkPeople(ctx, before.People, after.People); err != nil {
		return before, err
	}
	if after.Replies.Widens(before.Replies) {
		after.RepliesAt = tx.Now()
	}
	image := imageOfConnection(after)
	if sealed.Credential != nil {
		after.Credential, after.Account, image.Credential = sealed.Credential, c.Account, "replaced"
		if err := tx.Shred(ctx); err != nil {
			return before, err
		}
	}
	if sealed.WebhookSecret != nil {
		after.WebhookSecret = sealed.WebhookSecret
	}
	_, err = tx.Exec(ctx, `UPDATE connection SET name = $3, follow_json = $4, credential = $5, webhook_secret = $6,
		account = $7, replies = $8, people_json = $9, replies_at = $10 WHERE deployment_id = $1 AND id = $2`,
		after.ID, after.Name, sqldb.Encoded(sqldb.OrEmpty(after.Follow)), sqldb.NoNil(after.Credential),
		sqldb.NoNil(after.WebhookSecret), after.Account, after.Replies, sqldb.Encoded(peopleOf(after)), after.RepliesAt)
	if err != nil {
		return before, connectionNameTaken(after.Name, err)
	}
	tx.Audit("connection.update", sqldb.Subject("connection", c.ID), imageOfConnection(before), image)
	return after, nil
}

// NoteConnectionCheck stores the result of a check of the connection: its account at the host, or
// the problem.
func (tx *Tx) NoteConnectionCheck(ctx context.Context, id int64, account, problem string) error {
	n, err := tx.Exec(ctx, `UPDATE connection SET checked_at = $3, problem = $4, account = CASE WHEN $5 = '' THEN account
		ELSE $5 END
		WHERE deployment_id = $1 AND id = $2`, id, tx.Now(), problem, account)
	if err == nil && n == 0 {
		err = fmt.Errorf("connection %d: %w", id, model.ErrNotFound)
	}
	return err
}

// DeleteConnection deletes a connection with its repositories and secrets. Projects of the
// repositories stay.
func (tx *Tx) DeleteConnection(ctx context.Context, id int64) error {
	c, err := tx.Connection(ctx, id)
	if err == nil {
		err = tx.Shred(ctx)
	}
	if err != nil {
		return err
	}
	for _, rows := range []string{
		`change_reply WHERE deployment_id = $1 AND repository_id IN (SELECT id FROM repository WHERE deployment_id = $1
			AND connection_id = $2)`,
		`change_comment WHERE deployment_id = $1 AND repository_id IN (SELECT id FROM repository WHERE deployment_id = $1
			AND connection_id = $2)`,
		`change_request WHERE deployment_id = $1 AND repository_id IN (SELECT id FROM repository WHERE deployment_id = $1
			AND connection_id = $2)`,
		`webhook_delivery WHERE deployment_id = $1 AND connection_id = $2`,
		`repository WHERE deployment_id = $1 AND connection_id = $2`, `connection WHERE deployment_id = $1 AND id = $2`,
	} {
		if err := tx.Write(ctx, `DELETE FROM `+rows, id); err != nil {
			return err
		}
	}
	err = tx.Write(ctx, `UPDATE ticket SET connection_id = 0, state = CASE url WHEN '' THEN state ELSE $3 END,
		problem = CASE url WHEN '' THEN problem ELSE '' END
		WHERE deployment_id = $1
		AND connection_id = $2`, id, int64(model.TicketUnknown)) // they stay linked but are no longer updated
	if err != nil {
		return err
	}
	tx.Audit("connection.delete", sqldb.Subject("connection", id), imageOfConnection(c), nil)
	return nil
}
