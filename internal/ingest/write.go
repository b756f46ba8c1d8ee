package ingest

import (
	"cmp"
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// write stores the changes and updates the summary.
func (a *application) write(ctx context.Context, c Changes) error {
	part := &portion{a.project.ID, a.sum, c}
	return writeAll(ctx, a.s, a.exceptions, []*portion{part}, func() error {
		return recordAccount(ctx, a.s, a.upload, a.scan.ID, a.sum.Refusals, part.Reported)
	})
}

// portion contains the changes of one project and source on one ref.
type portion struct {
	projectID int64
	sum       *Summary
	Changes
}

// writer runs writes until one fails.
type writer struct {
	ctx context.Context
	err error
}

// writeList writes a list unless it is empty.
func writeList[T any](w *writer, list []T, store func(context.Context, []T) error) {
	if w.err == nil && len(list) > 0 {
		w.err = store(w.ctx, list)
	}
}

// writeAll stores the changes of refs that share no lineage, and updates their summaries. It writes
// merged lineages first, so that later rows refer to the remaining ones. record runs before
// exceptions are evaluated; it may be nil.
func writeAll(ctx context.Context, s Store, ex Exceptions, parts []*portion, record func() error) error {
	if err := number(ctx, s, parts); err != nil {
		return err
	}
	all := together(parts)
	err := s.Together(ctx, func() error {
		w := &writer{ctx: ctx}
		writeList(w, all.Merges, s.MergeLineages)
		writeList(w, all.Lineages, s.AddLineages)
		for _, p := range parts {
			writeList(w, p.Links, func(ctx context.Context, links []model.IdentityLink) error {
				return s.AddIdentities(ctx, p.projectID, links)
			})
		}
		writeList(w, all.Updated, s.UpdateFindings)
		writeList(w, all.Added, s.AddFindings)
		writeList(w, all.copies(), s.SplitTickets)
		writeList(w, all.Events, s.AddEvents)
		writeList(w, all.Triage, s.UpdateTriage)
		if w.err == nil && record != nil {
			w.err = record()
		}
		if w.err != nil {
			return w.err
		}
		return ex.Reevaluate(ctx, all.lineages())
	})
	if err != nil {
		return err
	}
	for _, p := range parts {
		p.sum.Unchanged = p.Unchanged
		p.sum.count(p.Items)
	}
	return nil
}

// together combines the changes that are written in one batch.
func together(parts []*portion) Changes {
	if len(parts) == 1 {
		return parts[0].Changes
	}
	var all Changes
	for _, p := range parts {
		all.Merges, all.Lineages = append(all.Merges, p.Merges...), append(all.Lineages, p.Lineages...)
		all.Updated, all.Added = append(all.Updated, p.Updated...), append(all.Added, p.Added...)
		all.Copied, all.Events = append(all.Copied, p.Copied...), append(all.Events, p.Events...)
		all.Triage = append(all.Triage, p.Triage...)
	}
	return all
}

// lineages returns the distinct ids of the changed lineages.
func (c *Changes) lineages() []int64 {
	var ids []int64
	for _, list := range [][]model.FindingWrite{c.Added, c.Updated} {
		for i := range list {
			ids = append(ids, list[i].LineageID)
		}
	}
	for i := range c.Merges {
		ids = append(ids, c.Merges[i].Into.ID)
	}
	for i := range c.Triage {
		ids = append(ids, c.Triage[i].LineageID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// number assigns ids to new findings and lineages.
func number(ctx context.Context, s Store, parts []*portion) (err error) {
	var added, started int
	for _, p := range parts {
		added, started = added+len(p.Added), started+len(p.Lineages)
	}
	var lineages, ids []int64
	if added > 0 {
		if ids, err = s.NewFindingIDs(ctx, added); err != nil {
			return err
		}
	}
	if started > 0 {
		if lineages, err = s.NewLineageIDs(ctx, started); err != nil {
			return err
		}
	}
	for _, p := range parts {
		n, m := len(p.Added), len(p.Lineages)
		if err := p.number(ids[:n], lineages[:m]); err != nil {
			return err
		}
		ids, lineages = ids[n:], lineages[m:]
	}
	return nil
}

// number assigns ids to the new findings and lineages of one ref.
func (c *Changes) number(ids, lineages []int64) error {
	started := 0
	start := func(f *model.Finding) {
		if f.LineageID == 0 {
			f.LineageID = lineages[started]
			c.Lineages[started].ID = lineages[started]
			c.Links = append(c.Links, model.IdentityLink{Identity: f.Identity, LineageID: f.LineageID})
			started++
		}
	}
	for i := range c.Added {
		f := &c.Added[i].Finding
		f.ID = ids[i]
		start(f)
		c.Items = append(c.Items, itemOf(f, ItemNew))
		if f.State == model.Unresolved {
			c.Reported = append(c.Reported, f.ID)
		}
	}
	for _, f := range c.parted() {
		start(f)
	}
	for _, p := range c.Precedents {
		p.event.FindingID = ids[p.added]
		c.Events = append(c.Events, p.event)
	}
	events, err := c.copiedEvents(ids)
	c.Events = append(c.Events, events...)
	return err
}

// parted returns the stored findings that were removed from their lineage, by id.
func (c *Changes) parted() (out []*model.Finding) {
	for i := range c.Updated {
		if f := &c.Updated[i].Finding; f.LineageID == 0 {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *model.Finding) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
