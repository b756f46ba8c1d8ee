package ingest

import (
	"cmp"
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// write stores the findings of a project. Lineages that prove to be one are
// joined, as those of a file that moved are.
func (c *concealment) write(ctx context.Context, projectID int64, list []*concealed) error {
	slices.SortFunc(list, func(a, b *concealed) int { return cmp.Compare(a.ID, b.ID) })
	j, linked, err := c.join(ctx, projectID, list)
	if err != nil {
		return err
	}
	w := &writer{ctx: ctx}
	if writeList(w, j.merges(), c.s.MergeLineages); w.err != nil {
		return w.err
	}
	links, writes := make([]redoubt.IdentityLink, 0, len(linked)), make([]redoubt.FindingWrite, len(list))
	for id, lineage := range linked {
		links = append(links, redoubt.IdentityLink{Identity: id, LineageID: j.root(lineage)})
	}
	if len(links) > 0 {
		if err := c.s.AddIdentities(ctx, projectID, links); err != nil {
			return err
		}
	}
	for i, f := range list {
		f.LineageID = j.root(f.LineageID)
		writes[i] = *f.FindingWrite
	}
	if err := c.s.ConcealFindings(ctx, writes); err != nil {
		return err
	}
	writeList(w, j.triage(c.s.Now(), redoubt.Actor{Kind: "system", Name: "secrets"}), c.s.UpdateTriage)
	return w.err
}

// join makes one of lineages that have one secret, unless they have different ones
// side by side somewhere: they are two then, as of code (semantics §5). The lineage
// that held what a finding was known by as code holds its secret.
func (c *concealment) join(ctx context.Context, projectID int64, list []*concealed) (j joiner, linked map[redoubt.Identity]int64, err error) {
	ids, lineages := make([]redoubt.Identity, 0, 2*len(list)), make([]int64, 0, 2*len(list))
	for _, f := range list {
		ids, lineages = append(ids, f.secret, f.was), append(lineages, f.LineageID)
	}
	known, err := c.s.LineagesOf(ctx, projectID, ids)
	if err != nil {
		return j, nil, err
	}
	stored := Stored{Known: map[redoubt.Identity]redoubt.Lineage{}}
	for _, f := range list {
		if l, ok := known[f.secret]; ok {
			stored.Known[f.secret] = l
			lineages = append(lineages, l.ID)
		}
	}
	slices.Sort(lineages)
	lineages = slices.Compact(lineages)
	if stored.Lineages, err = c.s.Lineages(ctx, lineages); err != nil {
		return j, nil, err
	}
	stands, err := c.sideBySide(ctx, projectID, lineages, list)
	if err != nil {
		return j, nil, err
	}
	j, linked = newJoiner(stored), map[redoubt.Identity]int64{}
	members := map[int64][]int64{} // of lineages that were joined
	of := func(lineage int64) []int64 {
		if root := j.root(lineage); len(members[root]) > 0 {
			return members[root]
		}
		return []int64{lineage}
	}
	held := func(f *concealed) bool { return known[f.was].ID == f.LineageID }
	inOrder := slices.Clone(list)
	slices.SortStableFunc(inOrder, func(a, b *concealed) int { return compareFlags(held(b), held(a)) })
	for _, f := range inOrder {
		other, taken := j.known[f.secret]
		switch {
		case !taken:
			j.known[f.secret] = j.lineages[f.LineageID]
			linked[f.secret] = f.LineageID
		case j.root(other.ID) != j.root(f.LineageID) && !stands(of(f.LineageID), of(other.ID)):
			both := slices.Concat(of(f.LineageID), of(other.ID))
			j.unite(f.LineageID, other.ID)
			members[j.root(other.ID)] = both
		}
		if f.Identity != f.secret {
			linked[f.Identity] = f.LineageID
		}
	}
	return j, linked, nil
}

// sideBySide tells of lineages whether they have different secrets on one ref, by
// one source.
func (c *concealment) sideBySide(ctx context.Context, projectID int64, lineages []int64, list []*concealed) (func(xs, ys []int64) bool, error) {
	rewritten := make(map[int64]*concealed, len(list))
	for _, f := range list {
		rewritten[f.ID] = f
	}
	found, err := c.s.LiveOfLineages(ctx, projectID, lineages)
	if err != nil {
		return nil, err
	}
	for lineage, rows := range found {
		rows = slices.DeleteFunc(rows, func(f redoubt.Finding) bool { return rewritten[f.ID] != nil && !live(rewritten[f.ID].State) })
		for i := range rows {
			if f := rewritten[rows[i].ID]; f != nil {
				rows[i].Identity = f.secret
			}
		}
		found[lineage] = rows
	}
	b := beside{live: found}
	return func(xs, ys []int64) bool {
		return b.together(xs, ys, func(f, g redoubt.Finding) bool { return f.Identity != g.Identity })
	}, nil
}
