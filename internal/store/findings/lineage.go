package findings

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const lineageColumns = `id, project_id, triage_state, triage_reason, triage_comment, triaged_at, triaged_by_json, ` +
	`automatic, triage_until, assignee, annotations_json`

// lineageValues returns the values of lineageColumns.
func lineageValues(l *model.Lineage) []any {
	t := &l.Triage
	return []any{
		l.ID, l.ProjectID, int64(t.State), int64(t.Reason), t.Comment, t.At,
		sqldb.Encoded(t.By), t.Automatic, t.Until, t.Assignee, sqldb.Encoded(l.Annotations),
	}
}

// lineageFields returns the destinations of lineageColumns.
func lineageFields(l *model.Lineage) []any {
	t := &l.Triage
	return []any{
		&l.ID, &l.ProjectID, &t.State, &t.Reason, &t.Comment, sqldb.Instant(&t.At), sqldb.Decoded(&t.By),
		&t.Automatic, sqldb.Instant(&t.Until), &t.Assignee, sqldb.Decoded(&l.Annotations),
	}
}

func scanLineage(r sqldb.Row) (l model.Lineage, err error) { return l, r.Scan(lineageFields(&l)...) }

// LineagesOf returns the lineages of the project by identity; unknown identities are omitted.
func (tx *Tx) LineagesOf(
	ctx context.Context, projectID int64, ids []model.Identity,
) (map[model.Identity]model.Lineage, error) {
	found := make(map[model.Identity]model.Lineage, len(ids))
	for kind, hashes := range hashesByKind(ids) {
		in, arg := tx.In("i.hash", 4, hashes)
		err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			id := model.Identity{Kind: kind}
			var l model.Lineage
			err := r.Scan(append([]any{sqldb.Digest(&id.Hash)}, lineageFields(&l)...)...)
			found[id] = l
			return err
		}, `SELECT i.hash, `+sqldb.Qualified("l", lineageColumns)+`
			FROM lineage_identity i JOIN lineage l ON l.deployment_id = i.deployment_id AND l.id = i.lineage_id
			WHERE i.deployment_id = $1 AND i.project_id = $2 AND i.kind = $3 AND `+in, projectID, int64(kind), arg)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Lineages returns lineages by id; unknown ids are omitted.
func (tx *Tx) Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error) {
	list, err := tx.LineagesThat(ctx, ids)
	if err != nil {
		return nil, err
	}
	found := make(map[int64]model.Lineage, len(list))
	for _, l := range list {
		found[l.ID] = l
	}
	return found, nil
}

// LineagesThat returns lineages by id in ascending order; unknown ids are skipped.
func (tx *Tx) LineagesThat(ctx context.Context, ids []int64) ([]model.Lineage, error) {
	in, arg := tx.In("id", 2, ids)
	return sqldb.Many(
		ctx, tx, scanLineage, `SELECT `+lineageColumns+` FROM lineage WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg,
	)
}

// LiveOfLineages returns the unresolved and muted findings of lineages of the project, on all refs,
// by lineage. Only id, lineage, ref, source, path, state, identity and SeenByFull are set.
func (tx *Tx) LiveOfLineages(
	ctx context.Context, projectID int64, lineages []int64,
) (map[int64][]model.Finding, error) {
	found := map[int64][]model.Finding{}
	in, arg := tx.In("lineage_id", 5, lineages)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var f model.Finding
		var flags int64
		err := r.Scan(&f.ID, &f.LineageID, &f.Ref, &f.Source, &f.Path, &f.State, &f.Identity.Kind,
			sqldb.Digest(&f.Identity.Hash), &flags)
		f.SeenByFull = flags&FlagSeenByFull != 0
		found[f.LineageID] = append(found[f.LineageID], f)
		return err
	}, `SELECT id, lineage_id, ref, source, path, state, identity_kind, identity_hash, flags FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND state IN ($3, $4) AND `+in+` ORDER BY +id`,
		projectID, int64(model.Unresolved), int64(model.Muted), arg)
	return found, err
}

// NewLineageIDs reserves n ids.
func (tx *Tx) NewLineageIDs(ctx context.Context, n int) ([]int64, error) {
	return tx.NewIDs(ctx, seqLineage, n)
}

// AddLineages stores new lineages with reserved ids.
func (tx *Tx) AddLineages(ctx context.Context, lineages []model.Lineage) error {
	tx.NotifyLineages(lineages)
	return sqldb.InBatches(lineages, func(part []model.Lineage) error {
		rows := make([][]any, len(part))
		for i := range part {
			rows[i] = append(lineageValues(&part[i]), string(model.StopsOf(part[i].Triage)))
			tx.Change(sqldb.ChangeLineage, part[i].ID)
		}
		if err := tx.Insert(ctx, `lineage (deployment_id, `+lineageColumns+`, stops)`, rows, ""); err != nil {
			return fmt.Errorf("add lineages: %w", err)
		}
		return nil
	})
}

// AddIdentities assigns identities to lineages of the project. An identity of another lineage
// moves; for duplicates the last one wins.
func (tx *Tx) AddIdentities(ctx context.Context, projectID int64, links []model.IdentityLink) error {
	index := make(map[model.Identity]int, len(links))
	var rows [][]any
	for _, link := range links {
		values := []any{projectID, int64(link.Identity.Kind), link.Identity.Hash, link.LineageID}
		if i, seen := index[link.Identity]; seen {
			rows[i] = values
			continue
		}
		index[link.Identity] = len(rows)
		rows = append(rows, values)
	}
	err := tx.Insert(ctx, `lineage_identity (deployment_id, project_id, kind, hash, lineage_id)`, rows,
		`ON CONFLICT (deployment_id, project_id, kind, hash) DO UPDATE SET lineage_id = excluded.lineage_id`)
	if err != nil {
		return fmt.Errorf("add identities: %w", err)
	}
	return nil
}

// MergeLineages moves the identities, findings and trails of merged lineages, and stores the
// annotations of the remaining ones. An unknown remaining lineage is model.ErrNotFound.
func (tx *Tx) MergeLineages(ctx context.Context, merges []model.LineageMerge) error {
	return sqldb.InBatches(merges, func(part []model.LineageMerge) error {
		if err := tx.mergeLineages(ctx, part); err != nil {
			return fmt.Errorf("merge lineages: %w", err)
		}
		return nil
	})
}

func (tx *Tx) mergeLineages(ctx context.Context, merges []model.LineageMerge) error {
	stay := make([]int64, len(merges))
	for i := range merges {
		stay[i] = merges[i].Into.ID
	}
	before, err := tx.Lineages(ctx, stay)
	if err != nil {
		return err
	}
	var pairs [][2]int64 // merged and remaining lineage
	for _, m := range merges {
		if was, found := before[m.Into.ID]; !found || sqldb.Encoded(was.Annotations) != sqldb.Encoded(m.Into.Annotations) {
			if err := tx.Annotate(ctx, m.Into.ID, func(a *model.Annotations) { *a = m.Into.Annotations }); err != nil {
				return err
			}
		}
		for _, merged := range m.From {
			if merged != m.Into.ID {
				pairs = append(pairs, [2]int64{merged, m.Into.ID})
			}
		}
	}
	return sqldb.InBatches(pairs, func(part [][2]int64) error { return tx.rehang(ctx, part) })
}

// rehang moves all rows that refer to merged lineages to the remaining ones.
func (tx *Tx) rehang(ctx context.Context, pairs [][2]int64) error {
	merged := model.Map(pairs, func(p [2]int64) int64 { return p[0] })
	with, args := sqldb.PairTable("merged(goes, stays)", pairs)
	in, list := tx.In("lineage_id", 2, merged)
	findings, err := sqldb.Many(
		ctx, tx, sqldb.Scalar[int64], `SELECT id FROM finding WHERE deployment_id = $1 AND `+in, list,
	)
	if err != nil {
		return err
	}
	tx.Change(sqldb.ChangeFinding, findings...)
	tx.ChangeDeleted(sqldb.ChangeLineage, merged...)
	update := func(table, more string, args ...any) error {
		return tx.Write(ctx, with+`UPDATE `+table+` SET lineage_id = merged.stays`+more+` FROM merged
			WHERE `+table+`.deployment_id = $1 AND `+table+`.lineage_id = merged.goes`, args...)
	}
	err = update("finding", fmt.Sprintf(", version = $%d", len(args)+2), append(slices.Clip(args), tx.NextVersion())...)
	if err != nil {
		return err
	}
	tickets, err := tx.dropDoubleTickets(ctx, pairs)
	if err != nil {
		return err
	}
	for _, table := range []string{
		"lineage_identity", "triage_event", "ticket_finding", "exception_finding", "finding_comment",
	} {
		if err := update(table, "", args...); err != nil {
			return err
		}
	}
	in, list = tx.In("id", 2, merged)
	if err := tx.Write(ctx, `DELETE FROM lineage WHERE deployment_id = $1 AND `+in, list); err != nil {
		return err
	}
	_, err = tx.SyncTicketAnnotations(ctx, tickets)
	return err
}

// FindingsOfLineages returns one finding for each lineage, preferably an open one.
func (tx *Tx) FindingsOfLineages(ctx context.Context, lineages []int64) (map[int64]int64, error) {
	of := map[int64]int64{}
	if len(lineages) == 0 {
		return of, nil
	}
	in, arg := tx.In("lineage_id", 3, lineages)
	return of, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var lineage, id int64
		err := r.Scan(&lineage, &id)
		of[lineage] = id
		return err
	}, `SELECT lineage_id, COALESCE(MIN(CASE WHEN state = $2 THEN id END), MIN(id)) FROM finding WHERE `+
		`deployment_id = $1 AND `+in+` GROUP BY lineage_id`, int64(model.Unresolved), arg)
}

// hashesByKind groups identities by kind, as they are queried.
func hashesByKind(ids []model.Identity) map[model.IdentityKind][]model.Digest {
	byKind := map[model.IdentityKind][]model.Digest{}
	for _, id := range ids {
		byKind[id.Kind] = append(byKind[id.Kind], id.Hash)
	}
	return byKind
}

const seqLineage sqldb.Sequence = "lineage"
