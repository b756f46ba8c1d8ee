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

// changesInput asks for changes, from a position in the feed.
//
// A round tells of the versions after since. It goes through the findings that are
// affected by id, in several answers where they are many, and is over with until:
// what changes meanwhile is told in the next one.
type changesInput struct {
	api.FindingChangesQuery
	list                core.List
	since, until, after int64
	from                time.Time // where the round begins that has no version yet
}

// wholeFeed is the since of a round that tells all changes that ever were, where 0 tells
// all findings.
const wholeFeed = -1

// Resolve reads the cursor, or the time where there is none.
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

// changed is an answer: the page has the findings that are in a list.
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

// WriteTo writes the answer.
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

// WriteTo writes the page.
func (t typed) WriteTo(w io.Writer) (int64, error) { return t.page.WriteTyped(w) }

// listChanges answers what changed since the cursor. What changed is read before
// the findings are, which may be newer: then they are told once more.
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
		c.Server.Rounds.Keep(in.round(), affected)
	} else {
		c.Server.Rounds.Forget(in.round())
	}
	if out.cursor, err = c.Server.Cursors().Encode(in.list, next...); err != nil {
		return nil, err
	}
	if out.page, err = view.ByID(ctx, ids); err != nil {
		return nil, err
	}
	here := out.page.IDs()
	for _, id := range ids { // those that are in no list are removed
		if len(here) > 0 && here[0] == id {
			here = here[1:]
		} else {
			out.removed = append(out.removed, id)
		}
	}
	return out, nil
}

// tellCursor has an answer that is made of a view name the cursor of what changes from there
// on: who has all of a list needs no time to follow it. Who may not follow is told none.
func tellCursor(c *core.Call, view *index.View) error {
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

// affected are the findings of the round that the request is part of, and a view that is
// no older. A round that begins gets the version with which it is over.
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

// changeSet reads what changed in a round. A beginning that the feed forgot, or never had,
// is a conflict, and says what to do; so is such an end of the round, unless it is 0.
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
		err = core.NewProblem(api.CodeConflict, "It is no longer known what changed since this "+since+
			". Ask without one, and drop the findings that do not come again.", err)
	}
	return set, err
}

// begin finds the version from which on a round that goes by a time tells. A time that is
// still to come is refused: who asks by a clock that is ahead would miss what happens until
// then, without a word.
func (in *changesInput) begin(ctx context.Context, tx *store.Tx) (err error) {
	if now := tx.Now(); in.from.After(now.Add(time.Minute)) {
		return model.Invalid("query.updated_since",
			"is still to come: here it is %s; follow by the cursors of answers, which need no clock", now.Format(time.RFC3339))
	}
	if in.since, err = tx.VersionAt(ctx, in.from); in.since == 0 {
		in.since = wholeFeed
	}
	return err
}
