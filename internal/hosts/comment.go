package hosts

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// commenting writes the comments of one change request. What was written is known by the
// host's ids. That something is about to be written is kept first, so that what a crash
// left there is looked for, and never written twice.
type commenting struct {
	keeper *Service
	host   scm.Host
	message
	at       model.ChangeRequest
	refs     map[string]bool // of the change request, among those that are scanned
	page     func(finding int64) string
	blocking string // page of what blocks

	written map[int64]store.ChangeComment // by lineage; 0 is the summary
}

// run brings the comments to what there is to say.
func (c *commenting) run(ctx context.Context) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	apart, err := c.comment(ctx)
	if err != nil {
		return err
	}
	return c.summarise(ctx, apart)
}

// read finds what we wrote.
func (c *commenting) read(ctx context.Context) error {
	c.written = map[int64]store.ChangeComment{}
	unsure := true
	err := c.keeper.Store.View(ctx, c.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.ChangeComments(ctx, c.at.RepositoryID, c.at.Number)
		unsure = len(list) == 0
		for _, n := range list {
			c.written[n.LineageID] = n
			unsure = unsure || n.HostID == ""
		}
		return err
	})
	if err != nil || !unsure {
		return err
	}
	return c.look(ctx)
}

// look asks the host for comments of our own that we do not know the ids of: those of
// others that look so are nothing to us.
func (c *commenting) look(ctx context.Context) error {
	list, err := c.host.Comments(ctx, c.repository, c.at.Number)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(n scm.Comment) bool {
		return !strings.EqualFold(n.Author, c.connection.Account) || n.Author == ""
	})
	here, err := c.here(ctx, list)
	if err != nil {
		return err
	}
	for _, n := range list {
		m, is := markOf(n.Body)
		known, begun := c.written[m.lineage]
		if !is || (m.lineage == 0) != (n.Path == "") || begun && known.HostID != "" ||
			!here.has(m) && (!begun || !sameText(known.Body, n.Body)) {
			continue
		}
		if err := c.keep(ctx, c.noted(m.lineage, n, m.settled || n.Resolved)); err != nil {
			return err
		}
	}
	for lineage, n := range maps.Clone(c.written) {
		if n.HostID == "" { // it did not come to be
			if err := c.drop(ctx, lineage); err != nil {
				return err
			}
		}
	}
	return nil
}

// ours is what marks of our own name.
type ours struct {
	of          origin
	connections map[int64]bool // that there are: what one wrote that is gone is whose it follows
	lineages    map[int64]bool // of the project
}

// has reports whether a comment with a mark is ours to keep.
func (o ours) has(m mark) bool {
	mine := m.of.instance == o.of.instance && m.of.deployment == o.of.deployment &&
		(m.of.connection == o.of.connection || !o.connections[m.of.connection])
	return mine && (m.lineage == 0 || o.lineages[m.lineage])
}

// here finds what marks of our own name, of those that comments have.
func (c *commenting) here(ctx context.Context, list []scm.Comment) (ours, error) {
	var ids []int64
	for _, n := range list {
		if m, is := markOf(n.Body); is && m.lineage != 0 {
			ids = append(ids, m.lineage)
		}
	}
	out := ours{of: c.origin(), connections: map[int64]bool{}, lineages: map[int64]bool{}}
	return out, c.keeper.Store.View(ctx, c.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		there, err := tx.Connections(ctx)
		for _, o := range there {
			out.connections[o.ID] = true
		}
		if err != nil {
			return err
		}
		found, err := tx.Lineages(ctx, ids)
		for id, l := range found {
			out.lineages[id] = l.ProjectID == c.telling.ProjectID
		}
		return err
	})
}

// origin is that of what is written here.
func (c *commenting) origin() origin { return c.keeper.origin(c.deployment.ID, c.connection.ID) }

// sameText reports whether a comment is the very one that was about to be written.
func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

func (c *commenting) noted(lineage int64, n scm.Comment, settled bool) store.ChangeComment {
	return store.ChangeComment{
		RepositoryID: c.at.RepositoryID, Number: c.at.Number, LineageID: lineage,
		HostID: n.ID, Thread: n.Thread, Path: n.Path, Body: n.Body, Settled: settled,
	}
}

func (c *commenting) keep(ctx context.Context, n store.ChangeComment) error {
	c.written[n.LineageID] = n
	return c.keeper.Store.Update(ctx, c.deployment.ID, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutChangeComment(ctx, n)
	})
}

func (c *commenting) drop(ctx context.Context, lineage int64) error {
	delete(c.written, lineage)
	return c.keeper.Store.Update(ctx, c.deployment.ID, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.DropChangeComment(ctx, c.at.RepositoryID, c.at.Number, lineage)
	})
}

// add writes a comment that is not there. A line that is no part of the change is
// model.ErrConflict.
func (c *commenting) add(ctx context.Context, lineage int64, n scm.Comment) error {
	if err := c.keep(ctx, c.noted(lineage, n, false)); err != nil {
		return err
	}
	made, err := c.host.AddComment(ctx, c.repository, c.at, n)
	switch {
	case errors.Is(err, model.ErrConflict):
		return errors.Join(err, c.drop(ctx, lineage))
	case err != nil: // it may be there all the same: the next try looks
		return err
	}
	n.ID, n.Thread = made.ID, made.Thread
	return c.keep(ctx, c.noted(lineage, n, false))
}

// edit gives a comment another text. One that somebody deleted stays away.
func (c *commenting) edit(ctx context.Context, n store.ChangeComment, body string) error {
	if sameText(n.Body, body) {
		return c.keep(ctx, n)
	}
	n.Body = body
	if err := c.host.EditComment(ctx, c.repository, c.at.Number, hosted(n)); err != nil &&
		!errors.Is(err, model.ErrNotFound) {
		return err
	}
	return c.keep(ctx, n)
}

func hosted(n store.ChangeComment) scm.Comment {
	return scm.Comment{ID: n.HostID, Thread: n.Thread, Body: n.Body, Path: n.Path}
}

// settle folds away the comments on what is fixed or ignored: what no ref of the change
// request has open.
func (c *commenting) settle(ctx context.Context) error {
	var waiting []int64
	for _, l := range slices.Sorted(maps.Keys(c.written)) {
		if l != 0 && !c.written[l].Settled {
			waiting = append(waiting, l)
		}
	}
	var refs []string
	for ref, on := range c.refs {
		if on {
			refs = append(refs, ref)
		}
	}
	var open map[int64]bool
	err := c.keeper.Store.View(ctx, c.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		open, err = tx.OpenLineages(ctx, c.telling.ProjectID, refs, waiting)
		return err
	})
	for _, l := range waiting {
		if err == nil && !open[l] {
			err = c.settleOne(ctx, l)
		}
	}
	return err
}

func (c *commenting) settleOne(ctx context.Context, lineage int64) error {
	n := c.written[lineage]
	n.Settled = true
	err := c.host.ResolveComment(ctx, c.repository, c.at.Number, hosted(n))
	switch {
	case errors.Is(err, scm.ErrUnsupported):
		return c.edit(ctx, n, settledText(n.Body, lineage, c.origin()))
	case err != nil && !errors.Is(err, model.ErrNotFound): // somebody deleted it
		return err
	}
	return c.keep(ctx, n)
}

// comment writes about findings on their lines, each once, and returns those that have
// no comment of their own.
func (c *commenting) comment(ctx context.Context) (apart []item, err error) {
	written := len(c.written)
	if _, is := c.written[0]; is {
		written--
	}
	for _, i := range c.items {
		n, is := c.written[i.lineage]
		switch {
		case is && !n.Settled:
			continue
		case is: // it is there again
			n.Settled = false
			if err := c.edit(ctx, n, lineText(i, c.page, c.connection.Replies != model.RepliesOff, c.origin())); err != nil {
				return nil, err
			}
			continue
		case i.path == "" || i.line < 1 || written >= maxLines:
			apart = append(apart, i)
			continue
		}
		err := c.add(ctx, i.lineage, scm.Comment{
			Body: lineText(i, c.page, c.connection.Replies != model.RepliesOff, c.origin()),
			Path: i.path,
			Line: i.line,
		})
		switch {
		case errors.Is(err, model.ErrConflict):
			apart = append(apart, i)
		case err != nil:
			return nil, err
		default:
			written++
		}
	}
	return apart, nil
}

// summarise writes the one comment about all, where there is something to say, or was.
func (c *commenting) summarise(ctx context.Context, apart []item) error {
	n, is := c.written[0]
	if len(c.items) == 0 && !is {
		return nil
	}
	body := summaryText(c.items, apart, c.page, c.blocking, c.origin())
	if !is {
		return c.add(ctx, 0, scm.Comment{Body: body})
	}
	return c.edit(ctx, n, body)
}
