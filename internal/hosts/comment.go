package hosts

import (
	"context"
	"errors"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/scm"
)

// commenting writes the comments of one change request. All that it knows of those that
// are there it reads from the host: what was written before a crash is found again.
type commenting struct {
	host scm.Host
	message
	at       redoubt.ChangeRequest
	open     func(lineages []int64) (map[int64]bool, error) // those that are unresolved and not ignored
	page     func(finding int64) string
	blocking string // page of what blocks

	summary *scm.Comment          // that is there
	lines   map[int64]scm.Comment // that are there, by lineage
	settled map[int64]bool        // of these
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

// read finds our own comments: those of others that look so are nothing to us.
func (c *commenting) read(ctx context.Context) error {
	c.lines, c.settled = map[int64]scm.Comment{}, map[int64]bool{}
	list, err := c.host.Comments(ctx, c.repository, c.at.Number)
	for _, n := range list {
		if !strings.EqualFold(n.Author, c.connection.Account) || n.Author == "" {
			continue
		}
		lineage, settled, line := marked(n.Body)
		switch {
		case line && n.Path != "":
			c.lines[lineage], c.settled[lineage] = n, settled || n.Resolved
		case n.Path == "" && strings.HasSuffix(strings.TrimSpace(n.Body), summaryMark):
			c.summary = &n
		}
	}
	return err
}

// settle folds away the comments on what is fixed or ignored.
func (c *commenting) settle(ctx context.Context) error {
	var lineages []int64
	for l := range c.lines {
		if !c.settled[l] {
			lineages = append(lineages, l)
		}
	}
	open, err := c.open(lineages)
	if err != nil {
		return err
	}
	for _, l := range lineages {
		if open[l] {
			continue
		}
		n := c.lines[l]
		err := c.host.ResolveComment(ctx, c.repository, c.at.Number, n)
		if errors.Is(err, scm.ErrUnsupported) {
			n.Body = settledText(n.Body, l)
			err = c.host.EditComment(ctx, c.repository, c.at.Number, n)
		}
		if err != nil && !errors.Is(err, redoubt.ErrNotFound) { // somebody deleted it
			return err
		}
		c.settled[l] = true
	}
	return nil
}

// comment writes about findings on their lines, each once, and returns those that have
// no comment of their own.
func (c *commenting) comment(ctx context.Context) (apart []item, err error) {
	written := len(c.lines)
	for _, i := range c.items {
		n, is := c.lines[i.lineage]
		switch {
		case is && !c.settled[i.lineage]:
			continue
		case is: // it is there again
			n.Body = lineText(i, c.page)
			if err := c.host.EditComment(ctx, c.repository, c.at.Number, n); err != nil && !errors.Is(err, redoubt.ErrNotFound) {
				return nil, err
			}
			continue
		case i.path == "" || i.line < 1 || written >= maxLines:
			apart = append(apart, i)
			continue
		}
		err := c.host.AddComment(ctx, c.repository, c.at, scm.Comment{Body: lineText(i, c.page), Path: i.path, Line: i.line})
		switch {
		case errors.Is(err, redoubt.ErrConflict): // the line is no part of the change
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
	if len(c.items) == 0 && c.summary == nil {
		return nil
	}
	body := summaryText(c.items, apart, c.page, c.blocking)
	if c.summary == nil {
		return c.host.AddComment(ctx, c.repository, c.at, scm.Comment{Body: body})
	}
	if strings.TrimSpace(c.summary.Body) == body {
		return nil
	}
	n := *c.summary
	n.Body = body
	return c.host.EditComment(ctx, c.repository, c.at.Number, n)
}
