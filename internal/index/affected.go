package index

import (
	"cmp"
	"context"
	"io"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Affected is an immutable set of IDs of findings whose JSON may have changed.
type Affected struct{ ids *roaring.Bitmap }

// Affected returns the IDs of findings whose JSON may have changed, including deleted findings. A
// nil change set selects all findings.
func (v *View) Affected(c *model.ChangeSet) Affected {
	ids := roaring.New()
	if c != nil {
		for _, run := range c.Findings {
			if first, last := max(run[0], 0), min(run[0]+run[1], math.MaxUint32); first <= last {
				ids.AddRange(uint64(first), uint64(last)+1)
			}
		}
	}
	for _, t := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		v.read(t, func(s *state, p *partition) {
			rows := p.listed
			if c != nil {
				rows = s.affected(p, c)
			}
			for ordinal := range roaring.Values(rows) {
				ids.Add(p.rows[ordinal].id)
			}
		})
	}
	return Affected{ids}
}

// Size returns the size of the set in bytes.
func (a Affected) Size() int { return int(a.ids.GetSizeInBytes()) }

// After returns up to limit IDs greater than id in ascending order.
func (a Affected) After(id int64, limit int) []int64 {
	if id >= math.MaxUint32 {
		return nil
	}
	var out []int64
	it := a.ids.Iterator()
	it.AdvanceIfNeeded(uint32(max(id+1, 0)))
	for it.HasNext() && len(out) < limit {
		out = append(out, int64(it.Next()))
	}
	return out
}

// ByID returns a page of findings of all issue types, sorted by ID.
func (v *View) ByID(ctx context.Context, ids []int64) (*Page, error) {
	out := v.newPage()
	for _, t := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		page := v.newPage()
		v.read(t, func(s *state, p *partition) {
			page.copy(s, p, roaring.And(p.ordinals(ids), p.listed).ToArray())
		})
		out.items = append(out.items, page.items...)
	}
	slices.SortFunc(out.items, func(a, b item) int { return cmp.Compare(a.row.id, b.row.id) })
	return out, out.fetch(ctx, v.d.x.src, v.d.id)
}

// WriteTyped is like WriteTo, but each finding starts with its issue type.
func (p *Page) WriteTyped(w io.Writer) (int64, error) {
	e := encoder{today: p.today}
	return p.write(w, func(b []byte, it *item) []byte {
		b = append(append(append(b, `{"issue_type":"`...), it.issueType.String()...), '"')
		start := len(b)
		b = e.finding(b, it)
		b[start] = ',' // replaces the opening brace of the finding
		return b
	})
}

// affected returns the rows affected by changes of other objects than findings.
func (s *state) affected(p *partition, c *model.ChangeSet) *roaring.Bitmap {
	// SAST findings contain the policy and its rules, and all findings depend on due days of
	// policies.
	if c.Policies || c.PolicyRules && p.issueType == model.SAST {
		return p.listed
	}
	rows := roaring.New()
	for _, run := range c.Lineages {
		for id := run[0]; id <= run[0]+run[1]; id++ {
			for ordinal := range p.occurrences(s.lineages.numbers[id]) {
				rows.Add(ordinal)
			}
		}
	}
	for _, id := range c.Projects {
		if n := s.projects.numbers[id]; n != 0 {
			rows.Or(p.readBitmap(byProject, n))
		}
	}
	for _, id := range c.Rules {
		if n := s.rules.numbers[id]; n != 0 {
			rows.Or(p.readBitmap(byRule, n))
		}
	}
	return rows
}
