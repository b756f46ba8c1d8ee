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

// commenting writes the comments of one change request. Comments are identified by the ids of the
// host. Each comment is stored before it is sent, so that after a crash it is searched for and
// never written twice.
type commenting struct {
	service *Service
	host    scm.Host
	message
	at       model.ChangeRequest
	refs     map[string]bool // scanned refs; true for those of the change request
	page     func(finding int64) string
	blocking string // page of the blocking findings

	written map[int64]store.ChangeComment // by lineage; 0 is the summary
}

// run updates the comments of the change request to the current findings.
func (c *commenting) run(ctx context.Context) error {
	if err := c.read(ctx); err != nil {
		return err
	}
	if err := c.resolveFixed(ctx); err != nil {
		return err
	}
	uncommented, err := c.comment(ctx)
	if err != nil {
		return err
	}
	return c.summarise(ctx, uncommented)
}

// read loads the stored comments. It searches for comments at the host if none is stored or the id
// of one is unknown.
func (c *commenting) read(ctx context.Context) error {
	c.written = map[int64]store.ChangeComment{}
	unsure := true
	err := c.service.Store.View(ctx, c.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
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
	return c.findComments(ctx)
}

// findComments searches the host for our comments with unknown ids. Comments of other authors are ignored.
func (c *commenting) findComments(ctx context.Context) error {
	list, err := c.host.Comments(ctx, c.repository, c.at.Number)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(n scm.Comment) bool {
		return !strings.EqualFold(n.Author, c.connection.Account) || n.Author == ""
	})
	existing, err := c.existingMarks(ctx, list)
	if err != nil {
		return err
	}
	for _, n := range list {
		m, is := markOf(n.Body)
		known, begun := c.written[m.lineage]
		if !is || (m.lineage == 0) != (n.Path == "") || begun && known.HostID != "" ||
			!existing.has(m) && (!begun || !sameText(known.Body, n.Body)) {
			continue
		}
		if err := c.storeComment(ctx, c.noted(m.lineage, n, m.resolved || n.Resolved)); err != nil {
			return err
		}
	}
	for lineage, n := range maps.Clone(c.written) {
		if n.HostID == "" { // it was not created
			if err := c.drop(ctx, lineage); err != nil {
				return err
			}
		}
	}
	return nil
}

// ours identifies the marks written by this connection.
type ours struct {
	of          origin
	connections map[int64]bool // existing connections: the marks of deleted ones are ours too
	lineages    map[int64]bool // lineages of the project
}

// has reports whether a comment with this mark belongs to this connection.
func (o ours) has(m mark) bool {
	mine := m.of.instance == o.of.instance && m.of.deployment == o.of.deployment &&
		(m.of.connection == o.of.connection || !o.connections[m.of.connection])
	return mine && (m.lineage == 0 || o.lineages[m.lineage])
}

// existingMarks reads which connections and lineages named in the marks of comments exist.
func (c *commenting) existingMarks(ctx context.Context, list []scm.Comment) (ours, error) {
	var ids []int64
	for _, n := range list {
		if m, is := markOf(n.Body); is && m.lineage != 0 {
			ids = append(ids, m.lineage)
		}
	}
	out := ours{of: c.origin(), connections: map[int64]bool{}, lineages: map[int64]bool{}}
	return out, c.service.Store.View(ctx, c.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		connections, err := tx.Connections(ctx)
		for _, o := range connections {
			out.connections[o.ID] = true
		}
		if err != nil {
			return err
		}
		found, err := tx.Lineages(ctx, ids)
		for id, l := range found {
			out.lineages[id] = l.ProjectID == c.update.ProjectID
		}
		return err
	})
}

// origin returns the origin of comments written by this connection.
func (c *commenting) origin() origin { return c.service.origin(c.deployment.ID, c.connection.ID) }

// sameText reports whether two comments have the same text, apart from surrounding space.
func sameText(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }

func (c *commenting) noted(lineage int64, n scm.Comment, resolved bool) store.ChangeComment {
	return store.ChangeComment{
		RepositoryID: c.at.RepositoryID, Number: c.at.Number, LineageID: lineage,
		HostID: n.ID, Thread: n.Thread, Path: n.Path, Body: n.Body, Resolved: resolved,
	}
}

func (c *commenting) storeComment(ctx context.Context, n store.ChangeComment) error {
	c.written[n.LineageID] = n
	return c.service.Store.Update(ctx, c.deployment.ID, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.PutChangeComment(ctx, n)
	})
}

func (c *commenting) drop(ctx context.Context, lineage int64) error {
	delete(c.written, lineage)
	return c.service.Store.Update(ctx, c.deployment.ID, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.DropChangeComment(ctx, c.at.RepositoryID, c.at.Number, lineage)
	})
}

// add creates a comment. If the host rejects the line as outside of the change, it returns
// model.ErrConflict.
func (c *commenting) add(ctx context.Context, lineage int64, n scm.Comment) error {
	if err := c.storeComment(ctx, c.noted(lineage, n, false)); err != nil {
		return err
	}
	made, err := c.host.AddComment(ctx, c.repository, c.at, n)
	switch {
	case errors.Is(err, model.ErrConflict):
		return errors.Join(err, c.drop(ctx, lineage))
	case err != nil: // the comment may exist: the next attempt searches for it
		return err
	}
	n.ID, n.Thread = made.ID, made.Thread
	return c.storeComment(ctx, c.noted(lineage, n, false))
}

// edit changes the text of a comment. Comments deleted at the host are not created again.
func (c *commenting) edit(ctx context.Context, n store.ChangeComment, body string) error {
	if sameText(n.Body, body) {
		return c.storeComment(ctx, n)
	}
	n.Body = body
	if err := c.host.EditComment(ctx, c.repository, c.at.Number, hosted(n)); err != nil &&
		!errors.Is(err, model.ErrNotFound) {
		return err
	}
	return c.storeComment(ctx, n)
}

func hosted(n store.ChangeComment) scm.Comment {
	return scm.Comment{ID: n.HostID, Thread: n.Thread, Body: n.Body, Path: n.Path}
}

// resolveFixed resolves the comments on findings that are fixed or ignored on all refs of the change
// request.
func (c *commenting) resolveFixed(ctx context.Context) error {
	var waiting []int64
	for _, l := range slices.Sorted(maps.Keys(c.written)) {
		if l != 0 && !c.written[l].Resolved {
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
	err := c.service.Store.View(ctx, c.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		open, err = tx.OpenLineages(ctx, c.update.ProjectID, refs, waiting)
		return err
	})
	for _, l := range waiting {
		if err == nil && !open[l] {
			err = c.resolveOne(ctx, l)
		}
	}
	return err
}

func (c *commenting) resolveOne(ctx context.Context, lineage int64) error {
	n := c.written[lineage]
	n.Resolved = true
	err := c.host.ResolveComment(ctx, c.repository, c.at.Number, hosted(n))
	switch {
	case errors.Is(err, scm.ErrUnsupported):
		return c.edit(ctx, n, resolvedText(n.Body, lineage, c.origin()))
	case err != nil && !errors.Is(err, model.ErrNotFound): // deleted at the host
		return err
	}
	return c.storeComment(ctx, n)
}

// comment writes one comment for each finding on its line. It returns the findings without a
// comment.
func (c *commenting) comment(ctx context.Context) (uncommented []item, err error) {
	written := len(c.written)
	if _, is := c.written[0]; is {
		written--
	}
	for _, i := range c.items {
		n, is := c.written[i.lineage]
		switch {
		case is && !n.Resolved:
			continue
		case is: // open again
			n.Resolved = false
			if err := c.edit(ctx, n, lineText(i, c.page, c.connection.Replies != model.RepliesOff, c.origin())); err != nil {
				return nil, err
			}
			continue
		case i.path == "" || i.line < 1 || written >= maxLines:
			uncommented = append(uncommented, i)
			continue
		}
		err := c.add(ctx, i.lineage, scm.Comment{
			Body: lineText(i, c.page, c.connection.Replies != model.RepliesOff, c.origin()),
			Path: i.path,
			Line: i.line,
		})
		switch {
		case errors.Is(err, model.ErrConflict):
			uncommented = append(uncommented, i)
		case err != nil:
			return nil, err
		default:
			written++
		}
	}
	return uncommented, nil
}

// summarise writes the summary comment. It does nothing if there is neither a finding nor an
// earlier summary.
func (c *commenting) summarise(ctx context.Context, uncommented []item) error {
	n, is := c.written[0]
	if len(c.items) == 0 && !is {
		return nil
	}
	body := summaryText(c.items, uncommented, c.page, c.blocking, c.origin())
	if !is {
		return c.add(ctx, 0, scm.Comment{Body: body})
	}
	return c.edit(ctx, n, body)
}
