package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/store"
)

// changesInput asks for changes, from a position in the feed.
//
// A round tells of the versions after since. It goes through the findings that are
// affected by id, in several answers where they are many, and is over with until:
// what changes meanwhile is told in the next one.
type changesInput struct {
	api.FindingChangesQuery
	list                list
	since, until, after int64
}

// Resolve reads the cursor.
func (in *changesInput) Resolve(ctx huma.Context) []error {
	c := callOf(ctx.Context())
	in.list = list{"changes", c.caller.Deployment.ID, nil}
	at, err := c.server.cursors().decode(in.list, in.Cursor, 3)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query.cursor", Message: err.Error(), Value: in.Cursor}}
	}
	if at != nil {
		in.since, in.until, in.after = at[0], at[1], at[2]
	}
	return nil
}

// changed is an answer whose findings are written already.
type changed struct {
	Changed []json.RawMessage `json:"changed"`
	Removed []int64           `json:"removed"`
	Cursor  string            `json:"cursor"`
	HasMore bool              `json:"has_more"`
}

func (a *changed) header(h http.Header) {
	h.Set("Content-Type", "application/json")
	hint(h, len(a.Changed), "changed")
}

// WriteTo writes the answer.
func (a *changed) WriteTo(w io.Writer) (int64, error) {
	counted := &counter{to: w}
	encoder := json.NewEncoder(counted)
	encoder.SetEscapeHTML(false)
	return counted.n, encoder.Encode(a)
}

// listChanges answers what changed since the cursor. What changed is read before
// the findings are, which may be newer: then they are told once more.
func (c *call) listChanges(ctx context.Context, in *changesInput) (writer, error) {
	set, err := c.changeSet(ctx, in.since, in.until)
	if err != nil {
		return nil, err
	}
	view, err := c.findings(ctx)
	if err != nil {
		return nil, err
	}
	if in.until == 0 {
		in.until = set.Version
	}
	of := &set
	if in.since == 0 {
		of = nil
	}
	limit := int(in.Limit)
	ids := view.Affected(of, in.after, limit+1)
	out := &changed{Changed: []json.RawMessage{}, Removed: []int64{}, HasMore: len(ids) > limit}
	next := []int64{in.until, 0, 0}
	if out.HasMore {
		ids = ids[:limit]
		next = []int64{in.since, in.until, ids[limit-1]}
	}
	if out.Cursor, err = c.server.cursors().encode(in.list, next...); err != nil {
		return nil, err
	}
	return out, out.fill(ctx, view, ids)
}

// changeSet reads what changed since a version. One that the feed forgot, or never had,
// is a conflict, and says what to do; so is such an end of the round, unless it is 0.
func (c *call) changeSet(ctx context.Context, since, until int64) (set redoubt.ChangeSet, err error) {
	err = c.server.Store.View(ctx, c.caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		if until != 0 {
			if err := tx.ReachesBack(ctx, until); err != nil {
				return err
			}
		}
		if since == 0 {
			set.Version = tx.Version()
			return nil
		}
		set, err = tx.ChangeSet(ctx, since)
		return err
	})
	if errors.Is(err, redoubt.ErrConflict) {
		err = newProblem(api.CodeConflict, "It is no longer known what changed since this cursor. Ask without one, and drop the findings that do not come again.", err)
	}
	return set, err
}

// fill reads the findings. Those that are in no list are removed.
func (a *changed) fill(ctx context.Context, view *index.View, ids []int64) error {
	here := map[int64]json.RawMessage{}
	for _, t := range []redoubt.IssueType{redoubt.SAST, redoubt.SCA, redoubt.Secrets} {
		selection := view.Select(redoubt.FindingFilter{IssueType: t, HasIDs: true, IDs: ids})
		for more := selection.Total() > 0; more; {
			var err error
			more, err = selection.Next(ctx, len(ids), func(t redoubt.IssueType, finding []byte) error {
				var of struct{ ID int64 }
				err := json.Unmarshal(finding, &of)
				here[of.ID] = append([]byte(`{"issue_type":"`+t.String()+`",`), bytes.TrimPrefix(finding, []byte("{"))...)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	for _, id := range ids {
		if finding, ok := here[id]; ok {
			a.Changed = append(a.Changed, finding)
		} else {
			a.Removed = append(a.Removed, id)
		}
	}
	return nil
}
