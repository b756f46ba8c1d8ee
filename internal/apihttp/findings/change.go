package findings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// changesInput is a request for changes, from a position in the feed.
//
// A round contains the changes after version since, up to version until. It lists the affected
// findings by id, on several pages if there are many. Changes that happen meanwhile are part of the
// next round.
type changesInput struct {
	api.FindingChangesQuery
	list                core.List
	since, until, after int64
	from                time.Time // start of a round without a version
}

// allChanges is the value of since for a round with all recorded changes; 0 means all findings.
const allChanges = -1

// Resolve decodes the cursor, or the time if there is no cursor.
func (in *changesInput) Resolve(ctx huma.Context) []error {
	c := core.CallOf(ctx.Context())
	in.list = c.List("changes", nil)
	at, err := c.Server.Cursors().Decode(in.list, in.Cursor, 3)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query.cursor", Message: err.Error(), Value: in.Cursor}}
	}
	if at != nil {
		in.since, in.until, in.after = at[0], at[1], at[2]
	} else {
		in.from = core.InstantParam(in.UpdatedSince)
	}
	return nil
}

// changed is a response: page contains the listed findings, removed the other ids.
type changed struct {
	page    *index.Page
	removed []int64
	cursor  string
	more    bool
}

func (a *changed) Header(h http.Header) {
	h.Set("Content-Type", "application/json")
	hint(h, a.page.Len(), "changed")
}

// WriteTo writes the response.
func (a *changed) WriteTo(w io.Writer) (int64, error) {
	after := []byte(`,"removed":[`)
	for i, id := range a.removed {
		if i > 0 {
			after = append(after, ',')
		}
		after = strconv.AppendInt(after, id, 10)
	}
	cursor, err := json.Marshal(a.cursor)
	if err != nil {
		return 0, err
	}
	after = fmt.Appendf(after, `],"cursor":%s,"has_more":%t}`, cursor, a.more)
	return written(w, `{"changed":`, typed{a.page}, string(after)+"\n")
}

// typed writes the findings of a page with their issue types.
type typed struct{ page *index.Page }

// WriteTo implements io.WriterTo.
func (t typed) WriteTo(w io.Writer) (int64, error) { return t.page.WriteTyped(w) }

// listChanges returns the changes since the cursor. The changes are read before the findings. If
// the findings are newer, their changes are sent again in the next round.
func listChanges(ctx context.Context, c *core.Call, in *changesInput) (core.Writer, error) {
	affected, view, err := affected(ctx, c, in)
	if err != nil {
		return nil, err
	}
	limit := int(in.Limit)
	ids := affected.After(in.after, limit+1)
	out := &changed{removed: []int64{}, more: len(ids) > limit}
	next := []int64{in.until, 0, 0}
	if out.more {
		ids = ids[:limit]
		next = []int64{in.since, in.until, ids[limit-1]}
		c.Server.Rounds.Put(in.round(), affected)
	} else {
		c.Server.Rounds.Forget(in.round())
	}
	if out.cursor, err = c.Server.Cursors().Encode(in.list, next...); err != nil {
		return nil, err
	}
	if out.page, err = view.ByID(ctx, ids); err != nil {
		return nil, err
	}
	listed := out.page.IDs()
	for _, id := range ids { // findings that are not listed were removed
		if len(listed) > 0 && listed[0] == id {
			listed = listed[1:]
		} else {
			out.removed = append(out.removed, id)
		}
	}
	return out, nil
}

// setChangesCursor sets the header with the cursor of changes after a view. A client with the whole list
// can then follow the changes. Tokens that are restricted to projects get no cursor.
func setChangesCursor(c *core.Call, view *index.View) error {
	if len(c.Caller.Globs()) > 0 {
		return nil
	}
	cursor, err := c.Server.Cursors().Encode(c.List("changes", nil), view.Version(), 0, 0)
	if err == nil {
		c.W.Header().Set(api.ChangesCursorHeader, cursor)
	}
	return err
}

func (in *changesInput) round() core.RoundKey {
	return core.RoundKey{Deployment: in.list.Deployment, Since: in.since, Until: in.until}
}

// affected returns the findings of the request's round, and a view that is at least as new. A new
// round ends at the current version.
func affected(
	ctx context.Context, c *core.Call, in *changesInput,
) (affected index.Affected, view *index.View, err error) {
	affected, known := c.Server.Rounds.Find(in.round())
	var set model.ChangeSet
	if !known {
		set, err = changeSet(ctx, c, in)
		if err != nil {
			return affected, nil, err
		}
	}
	if view, err = c.Findings(ctx); err != nil || known {
		return affected, view, err
	}
	if in.until == 0 {
		in.until = set.Version
	}
	if in.since == 0 {
		return view.Affected(nil), view, nil
	}
	return view.Affected(&set), view, nil
}

// changeSet reads the changes of a round. If the feed no longer contains the start of the round, or
// never did, the error is a conflict with advice. The same applies to the end, unless it is 0.
func changeSet(ctx context.Context, c *core.Call, in *changesInput) (set model.ChangeSet, err error) {
	err = c.Server.Store.View(ctx, c.Caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		if !in.from.IsZero() {
			if err := in.begin(ctx, tx); err != nil {
				return err
			}
		}
		if in.until != 0 {
			if err := tx.ReachesBack(ctx, in.until); err != nil {
				return err
			}
		}
		if in.since == 0 {
			set.Version = tx.Version()
			return nil
		}
		set, err = tx.ChangeSet(ctx, max(in.since, 0))
		return err
	})
	if errors.Is(err, model.ErrConflict) {
		since := "cursor"
		if !in.from.IsZero() {
			since = "time"
		}
		err = core.NewProblem(api.CodeConflict, "The changes since this "+since+" are no longer available. "+
			"Start over without it, and delete the findings that are not returned again.", err)
	}
	return set, err
}

// begin determines the first version of a round that starts at a time. Future times are rejected: a
// client with a fast clock would silently miss the changes until then.
func (in *changesInput) begin(ctx context.Context, tx *store.Tx) (err error) {
	if now := tx.Now(); in.from.After(now.Add(time.Minute)) {
		return model.Invalid("query.updated_since",
			"must not be in the future (server time %s): use cursors instead", now.Format(time.RFC3339))
	}
	if in.since, err = tx.VersionAt(ctx, in.from); in.since == 0 {
		in.since = allChanges
	}
	return err
}
