package ingest

import (
	"cmp"
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// write stores the changes and sums them up. Merged lineages come first, so
// that what follows hangs on those that stay.
func (a *application) write(ctx context.Context, c Changes) error {
	if err := a.number(ctx, &c); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return unlessEmpty(ctx, c.Merges, a.s.MergeLineages) },
		func() error { return unlessEmpty(ctx, c.Lineages, a.s.AddLineages) },
		func() error {
			if len(c.Links) == 0 {
				return nil
			}
			return a.s.AddIdentities(ctx, a.project.ID, c.Links)
		},
		func() error { return unlessEmpty(ctx, c.Updated, a.s.UpdateFindings) },
		func() error { return unlessEmpty(ctx, c.Added, a.s.AddFindings) },
		func() error { return unlessEmpty(ctx, c.copies(), a.s.PartTickets) },
		func() error { return unlessEmpty(ctx, c.Events, a.s.AddEvents) },
		func() error { return unlessEmpty(ctx, c.Triage, a.s.UpdateTriage) },
		func() error {
			a.s.Ahead(ctx, func(ctx context.Context) { _, _ = a.s.Project(ctx, a.project.ID) }) // as ScanApplied does
			return a.exemptions.Reevaluate(ctx, c.lineages())
		},
		func() error {
			if a.upload == nil {
				return nil // the advisories follow: no scan reported anything
			}
			return recordAccount(ctx, a.s, a.upload, a.scan.ID, a.sum.Refusals, c.Reported)
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	a.sum.Unchanged = c.Unchanged
	a.sum.count(c.Items)
	return nil
}

// lineages lists those that the changes touch, each once.
func (c *Changes) lineages() []int64 {
	var ids []int64
	for _, list := range [][]redoubt.FindingWrite{c.Added, c.Updated} {
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

func unlessEmpty[T any](ctx context.Context, list []T, store func(context.Context, []T) error) error {
	if len(list) == 0 {
		return nil
	}
	return store(ctx, list)
}

// number gives new findings and lineages their ids.
func (a *application) number(ctx context.Context, c *Changes) (err error) {
	var lineages, ids []int64
	a.s.Ahead(ctx, func(ctx context.Context) {
		_, _ = a.s.NewLineageIDs(ctx, len(c.Lineages))
		_ = a.s.UpdateFindings(ctx, c.Updated)
		_ = a.s.PartTickets(ctx, c.copies())
		_ = a.s.AddEvents(ctx, make([]redoubt.FindingEvent, len(c.Events)+len(c.Precedents)))
	})
	if len(c.Added) > 0 {
		if ids, err = a.s.NewFindingIDs(ctx, len(c.Added)); err != nil {
			return err
		}
	}
	if len(c.Lineages) > 0 {
		if lineages, err = a.s.NewLineageIDs(ctx, len(c.Lineages)); err != nil {
			return err
		}
	}
	started := 0
	start := func(f *redoubt.Finding) {
		if f.LineageID == 0 {
			f.LineageID = lineages[started]
			c.Lineages[started].ID = lineages[started]
			c.Links = append(c.Links, redoubt.IdentityLink{Identity: f.Identity, LineageID: f.LineageID})
			started++
		}
	}
	for i := range c.Added {
		f := &c.Added[i].Finding
		f.ID = ids[i]
		start(f)
		c.Items = append(c.Items, itemOf(f, ItemNew))
		if f.State == redoubt.Unresolved {
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

// parted are the stored findings that are taken out of their lineage, by id.
func (c *Changes) parted() (out []*redoubt.Finding) {
	for i := range c.Updated {
		if f := &c.Updated[i].Finding; f.LineageID == 0 {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *redoubt.Finding) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
