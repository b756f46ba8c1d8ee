package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// byVEX picks the lineages that a VEX document decided about last.
const byVEX = `triaged_by_json LIKE '{"kind":"vex"%'`

// heldVEXes reads all documents that are held, without their statements, by id.
func (tx *Tx) heldVEXes(ctx context.Context) (map[int64]*redoubt.VEXDocument, error) {
	held := map[int64]*redoubt.VEXDocument{}
	return held, each(ctx, tx, func(r row) error {
		d, err := scanVEX(r)
		held[d.ID] = &d
		return err
	}, `SELECT `+vexColumns+` FROM vex_document WHERE deployment_id = $1`)
}

// claimAll brings the findings of the statements' vulnerabilities in line with
// the documents that are held, and all that one decided about, and returns how
// many lineages changed.
func (tx *Tx) claimAll(ctx context.Context, statements []redoubt.VEXStatement) (int, error) {
	found := map[int64]bool{}
	if err := tx.claimedLineages(ctx, namesOf(statements), found); err != nil {
		return 0, err
	}
	decided, err := many(ctx, tx, scalar[int64], `SELECT id FROM lineage WHERE deployment_id = $1 AND automatic = 1 AND `+byVEX)
	if err != nil {
		return 0, err
	}
	for _, id := range decided {
		found[id] = true
	}
	list, err := tx.Exceptions(ctx)
	if err != nil {
		return 0, err
	}
	held, err := tx.heldVEXes(ctx)
	if err != nil {
		return 0, err
	}
	events, err := tx.judge(ctx, list, held, orEmpty(slices.Sorted(maps.Keys(found))))
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return len(events), tx.UpdateTriage(ctx, events)
}

// addClaimed adds to lineages those that documents may speak of: of the list
// those about dependencies, or of all that there are where the list is nil.
func (tx *Tx) addClaimed(ctx context.Context, ids []int64, held bool, lineages []int64) ([]int64, error) {
	if !held {
		return ids, nil
	}
	found := map[int64]bool{}
	for _, id := range ids {
		found[id] = true
	}
	for part := range slices.Chunk(lineages, feedBatch) {
		in, arg := tx.in("f.lineage_id", 2, part)
		about, err := many(ctx, tx, scalar[int64], `SELECT DISTINCT f.lineage_id FROM finding f
			JOIN finding_subject s ON s.deployment_id = f.deployment_id AND s.finding_id = f.id WHERE f.deployment_id = $1 AND `+in, arg)
		if err != nil {
			return nil, err
		}
		for _, id := range about {
			found[id] = true
		}
	}
	if lineages == nil {
		names, err := many(ctx, tx, scalar[string], `SELECT DISTINCT name FROM vex_name WHERE deployment_id = $1`)
		if err != nil {
			return nil, err
		}
		if err := tx.claimedLineages(ctx, names, found); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// claimedLineages adds the lineages of vulnerabilities, by any of their names.
func (tx *Tx) claimedLineages(ctx context.Context, names []string, found map[int64]bool) error {
	for part := range slices.Chunk(names, feedBatch) {
		known, err := tx.aliasesOf(ctx, part, nil)
		if err != nil {
			return err
		}
		for column, values := range map[string]any{
			"UPPER(s.vulnerability)": slices.Collect(maps.Keys(known.byName)), "s.group_id": slices.Collect(maps.Keys(known.byGroup)),
		} {
			in, arg := tx.in(column, 2, values)
			ids, err := many(ctx, tx, scalar[int64], `SELECT DISTINCT f.lineage_id FROM finding_subject s
				JOIN finding f ON f.deployment_id = s.deployment_id AND f.id = s.finding_id WHERE s.deployment_id = $1 AND `+in, arg)
			if err != nil {
				return fmt.Errorf("find what VEX documents speak of: %w", err)
			}
			for _, id := range ids {
				found[id] = true
			}
		}
	}
	return nil
}

// aliasesOf reads all names of vulnerabilities that are named, in upper case,
// or whose groups of advisories are given.
func (tx *Tx) aliasesOf(ctx context.Context, names []string, groups []int64) (aliases, error) {
	known := aliases{map[string][]string{}, map[int64][]string{}}
	for _, name := range names {
		known.byName[name] = []string{name}
	}
	const named = `SELECT DISTINCT m.group_id, n.name FROM advisory_member m JOIN advisory_name n ON n.advisory_id = m.advisory_id `
	byName, list := tx.session.in("t.name", 1, names)
	byGroup, ids := tx.session.in("m.group_id", 1, orEmpty(groups))
	for query, arg := range map[string]any{
		named + `WHERE m.group_id IN (SELECT tm.group_id FROM advisory_name t
			JOIN advisory_member tm ON tm.advisory_id = t.advisory_id WHERE ` + byName + `)`: list,
		named + `WHERE ` + byGroup: ids,
	} {
		err := each(ctx, tx.session, func(r row) error {
			var group int64
			var name string
			err := r.Scan(&group, &name)
			if !slices.Contains(known.byGroup[group], name) {
				known.byGroup[group] = append(known.byGroup[group], name)
			}
			return err
		}, query, arg)
		if err != nil {
			return known, err
		}
	}
	for _, all := range known.byGroup {
		for _, name := range all {
			known.byName[name] = all
		}
	}
	return known, nil
}

// subjectAt is what a place of a lineage is about.
type subjectAt struct {
	place         *redoubt.ExcusedPlace
	vulnerability string
	group         int64
}

// claim tells each place what the documents that are held say of its
// vulnerability, whatever the package.
func (tx *Tx) claim(ctx context.Context, held map[int64]*redoubt.VEXDocument, subjects []subjectAt) error {
	var names []string
	var groups []int64
	for _, s := range subjects {
		names, groups = append(names, s.vulnerability), append(groups, s.group)
	}
	slices.Sort(names)
	slices.Sort(groups)
	known, err := tx.aliasesOf(ctx, slices.Compact(names), slices.Compact(groups))
	if err != nil {
		return err
	}
	type claim struct {
		redoubt.VEXClaim
		place int
	}
	by := map[string][]claim{}
	in, arg := tx.in("n.name", 2, slices.Collect(maps.Keys(known.byName)))
	err = each(ctx, tx, func(r row) error {
		var name string
		var document int64
		c := claim{VEXClaim: redoubt.VEXClaim{Statement: &redoubt.VEXStatement{}}}
		err := r.Scan(&name, &document, &c.place, decoded(c.Statement))
		if c.Document = held[document]; c.Document != nil {
			by[name] = append(by[name], c)
		}
		return err
	}, `SELECT n.name, s.document_id, s.place, s.statement_json FROM vex_name n
		JOIN vex_statement s ON s.deployment_id = n.deployment_id AND s.document_id = n.document_id AND s.place = n.place
		WHERE n.deployment_id = $1 AND `+in+` ORDER BY s.document_id, s.place`, arg)
	if err != nil {
		return err
	}
	for _, s := range subjects {
		seen := map[[2]int64]bool{}
		all := append(slices.Clone(known.byName[s.vulnerability]), known.byGroup[s.group]...)
		for _, name := range all {
			for _, c := range by[name] {
				key := [2]int64{c.Document.ID, int64(c.place)}
				if !seen[key] {
					seen[key] = true
					s.place.Claims = append(s.place.Claims, c.VEXClaim)
				}
			}
		}
	}
	return nil
}
