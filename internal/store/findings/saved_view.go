package findings

import (
	"context"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// savedViewColumns ends with whether the view is the default of user $2.
const savedViewColumns = `v.id, v.owner_id, v.issue_type, v.name, v.query, v.created_at, v.created_by_json,
	(SELECT COUNT(*) FROM saved_view_default d WHERE d.deployment_id = v.deployment_id AND d.view_id = v.id
	AND d.user_id = $2)`

func scanSavedView(r sqldb.Row) (v model.SavedView, err error) {
	var chosen int
	err = r.Scan(&v.ID, &v.OwnerID, &v.IssueType, &v.Name, &v.Query, sqldb.Instant(&v.CreatedAt),
		sqldb.Decoded(&v.CreatedBy), &chosen)
	v.Default = chosen > 0
	return v, err
}

// savedViewImage is the content of audit events about a shared view.
type savedViewImage struct {
	Name      string `json:"name"`
	IssueType string `json:"issue_type"`
	Query     string `json:"query"`
}

// imageOfSavedView returns nil for private views, which are not audited.
func imageOfSavedView(v model.SavedView) any {
	if !v.Shared() {
		return nil
	}
	return savedViewImage{v.Name, v.IssueType.String(), v.Query}
}

// SavedViews returns the private views of a user and the shared ones, by name. The user 0 has no
// private views.
func (tx *Tx) SavedViews(ctx context.Context, userID int64) ([]model.SavedView, error) {
	return sqldb.Many(ctx, tx, scanSavedView, `SELECT `+savedViewColumns+` FROM saved_view v WHERE v.deployment_id = $1 `+
		`AND v.owner_id IN (0, $2) ORDER BY v.name, v.id`, userID)
}

// SavedView returns a view that is shared or owned by the user. Any other is model.ErrNotFound.
func (tx *Tx) SavedView(ctx context.Context, userID, id int64) (model.SavedView, error) {
	v, err := sqldb.One(ctx, tx, scanSavedView, `SELECT `+savedViewColumns+` FROM saved_view v WHERE v.deployment_id = `+
		`$1 AND v.owner_id IN (0, $2) AND v.id = $3`, userID, id)
	if err != nil {
		return v, fmt.Errorf("saved view %d: %w", id, err)
	}
	return v, nil
}

// DefaultView returns the id of the user's default view for an issue type; 0 for none.
func (tx *Tx) DefaultView(ctx context.Context, userID int64, t model.IssueType) (int64, error) {
	list, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT view_id FROM saved_view_default WHERE deployment_id = $1 AND user_id = $2 AND issue_type = $3`, userID, t)
	if len(list) == 0 {
		return 0, err
	}
	return list[0], err
}

// checkNewView returns model.ErrConflict if the owner has another view with the name, ignoring case,
// or reached the limit of views.
func (tx *Tx) checkNewView(ctx context.Context, v model.SavedView) error {
	type named struct {
		id   int64
		name string
	}
	list, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (n named, err error) { return n, r.Scan(&n.id, &n.name) },
		`SELECT id, name FROM saved_view WHERE deployment_id = $1 AND owner_id = $2`, v.OwnerID)
	if err != nil {
		return err
	}
	others := 0
	for _, n := range list {
		if n.id == v.ID {
			continue
		}
		others++
		if strings.EqualFold(n.name, v.Name) {
			return fmt.Errorf("a saved view called %s already exists: %w", n.name, model.ErrConflict)
		}
	}
	most, whose := model.MaxSavedViews, "you have"
	if v.Shared() {
		most, whose = model.MaxSharedViews, "the deployment has"
	}
	if others >= most {
		return fmt.Errorf("%s %d saved views; remove one first: %w", whose, others, model.ErrConflict)
	}
	return nil
}

// AddSavedView creates a view. A duplicate name of the owner, or a view above the limit, is
// model.ErrConflict.
func (tx *Tx) AddSavedView(ctx context.Context, v model.SavedView) (model.SavedView, error) {
	if err := tx.checkNewView(ctx, v); err != nil {
		return v, err
	}
	var err error
	if v.ID, err = tx.NewID(ctx, sqldb.SeqConnection); err != nil {
		return v, err
	}
	v.CreatedAt, v.CreatedBy, v.Default = tx.Now(), tx.Actor(), false
	err = tx.Insert(ctx, `saved_view (deployment_id, id, owner_id, issue_type, name, query, created_at, created_by_json)`,
		[][]any{{v.ID, v.OwnerID, v.IssueType, v.Name, v.Query, v.CreatedAt, sqldb.Encoded(v.CreatedBy)}}, "")
	if err == nil && v.Shared() {
		tx.Audit("saved_view.create", sqldb.Subject("saved_view", v.ID), nil, imageOfSavedView(v))
	}
	return v, err
}

// UpdateSavedView changes the name, query and owner of a view. A view that becomes private is
// removed as the default of other users. It returns the same conflicts as AddSavedView.
func (tx *Tx) UpdateSavedView(ctx context.Context, before, v model.SavedView) error {
	if err := tx.checkNewView(ctx, v); err != nil {
		return err
	}
	if err := tx.Write(ctx, `UPDATE saved_view SET owner_id = $3, name = $4, query = $5 WHERE deployment_id = `+
		`$1 AND id = $2`, v.ID, v.OwnerID, v.Name, v.Query); err != nil {
		return err
	}
	if !v.Shared() {
		if err := tx.Write(ctx, `DELETE FROM saved_view_default WHERE deployment_id = $1 AND view_id = $2 AND user_id <> $3`,
			v.ID, v.OwnerID); err != nil {
			return err
		}
	}
	if before.Shared() || v.Shared() {
		tx.Audit("saved_view.update", sqldb.Subject("saved_view", v.ID), imageOfSavedView(before), imageOfSavedView(v))
	}
	return nil
}

// SavedViewChangedBy returns the actor of the last change of a shared view, or the zero actor.
// Changes of private views are not recorded.
func (tx *Tx) SavedViewChangedBy(ctx context.Context, id int64) (model.Actor, error) {
	list, err := tx.AuditPage(ctx, sqldb.AuditFilter{
		Action:  "saved_view.update",
		Subject: sqldb.Subject("saved_view", id),
	}, 1)
	if len(list) == 0 {
		return model.Actor{}, err
	}
	return list[0].By, err
}

// DeleteSavedView deletes a view, also as a default.
func (tx *Tx) DeleteSavedView(ctx context.Context, v model.SavedView) error {
	for _, rows := range []string{
		`saved_view_default WHERE deployment_id = $1 AND view_id = $2`,
		`saved_view WHERE deployment_id = $1 AND id = $2`,
	} {
		if err := tx.Write(ctx, `DELETE FROM `+rows, v.ID); err != nil {
			return err
		}
	}
	if v.Shared() {
		tx.Audit("saved_view.delete", sqldb.Subject("saved_view", v.ID), imageOfSavedView(v), nil)
	}
	return nil
}

// SetDefaultView sets or removes a view as the user's default for its issue type.
func (tx *Tx) SetDefaultView(ctx context.Context, userID int64, v model.SavedView, chosen bool) error {
	if !chosen {
		return tx.Write(
			ctx, `DELETE FROM saved_view_default WHERE deployment_id = $1 AND user_id = $2 AND view_id = $3`, userID, v.ID,
		)
	}
	return tx.Insert(ctx, `saved_view_default (deployment_id, user_id, issue_type, view_id)`, [][]any{
		{userID, v.IssueType, v.ID},
	},
		`ON CONFLICT (deployment_id, user_id, issue_type) DO UPDATE SET view_id = excluded.view_id`)
}
