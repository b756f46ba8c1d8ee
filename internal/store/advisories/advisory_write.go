package advisories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Regroup returns the group of each record, and the groups that were merged into another one.
type Regroup = func(
	members []model.AdvisoryMember, fresh func() (int64, error),
) (groups, merged map[int64]int64, err error)

// AdvisoryDigests returns the digests of stored records by name, so that unchanged ones can be
// skipped.
func (s *DB) AdvisoryDigests(ctx context.Context, names []string) (map[string]model.Digest, error) {
	found := make(map[string]model.Digest, len(names))
	return found, s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		in, arg := q.In("name", 1, names)
		return sqldb.Each(ctx, q, func(r sqldb.Row) error {
			var name string
			var d model.Digest
			err := r.Scan(&name, sqldb.Digest(&d))
			found[name] = d
			return err
		}, `SELECT name, digest FROM advisory WHERE `+in, arg)
	})
}

// PutAdvisories stores new and changed records in one transaction and groups those that share a
// name. They take effect with PublishAdvisories. If a name occurs twice, the last record wins.
func (s *DB) PutAdvisories(ctx context.Context, list []model.Advisory, regroup Regroup) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		version, err := queue.LockAdvisories(ctx, q)
		if err != nil {
			return err
		}
		w := advisoryWriter{Session: q, touched: map[string]bool{}, realiased: map[string]bool{}}
		if err := w.put(ctx, list, regroup); err != nil {
			return fmt.Errorf("store advisories: %w", err)
		}
		for into, keys := range map[string]map[string]bool{
			"advisory_change (version, package)":    w.touched,
			"advisory_alias_change (version, name)": w.realiased,
		} {
			rows := make([][]any, 0, len(keys))
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				rows = append(rows, []any{version + 1, key})
			}
			if err := q.InsertGlobal(ctx, into, rows, `ON CONFLICT DO NOTHING`); err != nil {
				return err
			}
		}
		return nil
	})
}

// PublishAdvisories publishes the records stored since the last call and returns the version. It
// deletes feed rows that every deployment has processed.
func (s *DB) PublishAdvisories(ctx context.Context) (version int64, err error) {
	behind := s.leastExempted(ctx)
	err = s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		version, err = queue.LockAdvisories(ctx, q)
		if err != nil {
			return err
		}
		news, err := sqldb.One(
			ctx, q, sqldb.Scalar[bool], `SELECT EXISTS (SELECT 1 FROM advisory_change WHERE version > $1)`, version,
		)
		if err != nil || !news {
			return err
		}
		version = sqldb.VersionAfter(version) // at least version + 1, under which unpublished changes are stored
		if err := q.Write(ctx, `UPDATE advisory_state SET version = $1, changed_at = $2 WHERE id = 1`, version,
			s.Now()); err != nil {
			return err
		}
		if err = q.Write(
			ctx, `DELETE FROM advisory_change WHERE version <= (SELECT MIN(version) FROM advisory_match)`,
		); err != nil {
			return err
		}
		if err = q.Write(ctx, `DELETE FROM advisory_alias_change WHERE version <= $1`, min(behind, version)); err != nil {
			return err
		}
		return QueueMatching(ctx, q, s.Now())
	})
	return version, err
}

// leastExempted returns the lowest advisory version that the exceptions of all deployments have
// processed. It is 0 on errors, and if a deployment has no mark, because it may be about to store
// its first one.
func (s *DB) leastExempted(ctx context.Context) int64 {
	all, err := s.Deployments(ctx)
	least := int64(math.MaxInt64)
	for _, d := range all {
		if err != nil || least == 0 {
			break
		}
		err = s.view(ctx, d.ID, func(ctx context.Context, tx *Tx) error {
			mark, err := sqldb.One(
				ctx, tx, sqldb.Scalar[int64], `SELECT COALESCE(MAX(advisories), 0) FROM exception_mark WHERE deployment_id = $1`,
			)
			least = min(least, mark)
			return err
		})
		if errors.Is(err, model.ErrNotFound) { // deployment deleted meanwhile
			err = nil
		}
	}
	if err != nil {
		return 0 // keeping rows too long is harmless
	}
	return least
}

// advisoryWriter stores records within one transaction.
type advisoryWriter struct {
	*sqldb.Session
	touched   map[string]bool // packages
	realiased map[string]bool // names of vulnerabilities
}

func (w *advisoryWriter) put(ctx context.Context, list []model.Advisory, regroup Regroup) error {
	list = lastOfEach(list)
	if err := w.assignIDs(ctx, list); err != nil {
		return err
	}
	ids := make([]int64, len(list))
	rows := make([][]any, len(list))
	for i, a := range list {
		ids[i] = a.ID
		rows[i] = []any{a.ID, a.Name, a.Digest, a.Modified, a.Withdrawn, a.Facts, deflated(a.Text)}
	}
	before, err := w.names(ctx, ids)
	if err != nil {
		return err
	}
	if err := w.markTouched(ctx, ids); err != nil {
		return err
	}
	if err := w.dropCards(ctx, ids); err != nil {
		return err
	}
	err = w.InsertGlobal(ctx, `advisory (id, name, digest, modified, withdrawn, facts, text)`, rows,
		`ON CONFLICT (id) DO UPDATE SET
		digest = excluded.digest, modified = excluded.modified, withdrawn = excluded.withdrawn, facts = excluded.facts,
		text = excluded.text`)
	if err != nil {
		return err
	}
	var renamed []int64
	for _, a := range list {
		now := slices.Clone(a.Names)
		slices.Sort(now)
		now = slices.Compact(now)
		if slices.Equal(now, before[a.ID]) {
			continue
		}
		renamed = append(renamed, a.ID)
		if len(now) > 1 || len(before[a.ID]) > 1 { // a single name is not an alias
			for _, name := range append(now, before[a.ID]...) {
				w.realiased[name] = true
			}
		}
	}
	if err := w.link(ctx, list, ids); err != nil {
		return err
	}
	return w.group(ctx, renamed, regroup)
}

// lastOfEach returns the last record of each name, by name.
func lastOfEach(list []model.Advisory) []model.Advisory {
	last := map[string]model.Advisory{}
	for _, a := range list {
		a.Name = sqldb.CleanText(a.Name)
		last[a.Name] = a
	}
	return slices.SortedFunc(maps.Values(last), func(a, b model.Advisory) int { return cmp.Compare(a.Name, b.Name) })
}

// assignIDs sets the ids of records and reserves ids for new ones.
func (w *advisoryWriter) assignIDs(ctx context.Context, list []model.Advisory) error {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	known := map[string]int64{}
	in, arg := w.In("name", 1, names)
	err := sqldb.Each(ctx, w, func(r sqldb.Row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		known[name] = id
		return err
	}, `SELECT id, name FROM advisory WHERE `+in, arg)
	if err != nil {
		return err
	}
	next, err := w.reserve(ctx, "next_advisory_id", len(list)-len(known))
	for i := range list {
		if list[i].ID = known[list[i].Name]; list[i].ID == 0 {
			list[i].ID = next
			next++
		}
	}
	return err
}

// reserve reserves n ids of a counter in advisory_state and returns the first.
func (w *advisoryWriter) reserve(ctx context.Context, counter string, n int) (int64, error) {
	if n == 0 {
		return 0, nil
	}
	w.Wrote = true
	after, err := sqldb.One(ctx, w, sqldb.Scalar[int64],
		`UPDATE advisory_state SET `+counter+` = `+counter+` + $1 WHERE id = 1 RETURNING `+counter, n)
	return after - int64(n), err
}

// names returns the sorted names of records.
func (w *advisoryWriter) names(ctx context.Context, ids []int64) (map[int64][]string, error) {
	out := map[int64][]string{}
	in, arg := w.In("advisory_id", 1, ids)
	err := sqldb.Each(ctx, w, func(r sqldb.Row) error {
		var id int64
		var name string
		err := r.Scan(&id, &name)
		out[id] = append(out[id], name)
		return err
	}, `SELECT advisory_id, name FROM advisory_name WHERE `+in, arg)
	for _, list := range out {
		slices.Sort(list)
	}
	return out, err
}

// markTouched records the packages of records as changed.
func (w *advisoryWriter) markTouched(ctx context.Context, ids []int64) error {
	in, arg := w.In("advisory_id", 1, ids)
	return sqldb.Each(ctx, w, func(r sqldb.Row) error {
		key, err := sqldb.Scalar[string](r)
		w.touched[key] = true
		return err
	}, `SELECT DISTINCT package FROM advisory_package WHERE `+in, arg)
}

// link writes the names and packages of records.
func (w *advisoryWriter) link(ctx context.Context, list []model.Advisory, ids []int64) error {
	var names, packages [][]any
	for _, a := range list {
		for _, name := range a.Names {
			names = append(names, []any{name, a.ID})
		}
		for _, key := range a.Packages {
			packages = append(packages, []any{key, a.ID})
			w.touched[key] = true
		}
	}
	for into, rows := range map[string][][]any{
		"advisory_name (name, advisory_id)":       names,
		"advisory_package (package, advisory_id)": packages,
	} {
		table, _, _ := strings.Cut(into, " ")
		in, arg := w.In("advisory_id", 1, ids)
		if err := w.Write(ctx, `DELETE FROM `+table+` WHERE `+in, arg); err != nil {
			return err
		}
		if err := w.InsertGlobal(ctx, into, rows, `ON CONFLICT DO NOTHING`); err != nil {
			return err
		}
	}
	return nil
}

// group assigns groups to records, to those connected with them by names, and to former members of
// their groups.
func (w *advisoryWriter) group(ctx context.Context, renamed []int64, regroup Regroup) error {
	if len(renamed) == 0 {
		return nil
	}
	members, err := w.connected(ctx, renamed)
	if err != nil {
		return err
	}
	groups, merged, err := regroup(slices.Collect(maps.Values(members)), func() (int64, error) {
		return w.reserve(ctx, "next_group_id", 1)
	})
	if err != nil {
		return err
	}
	if err := w.dropCards(ctx, slices.Collect(maps.Keys(members))); err != nil { // of their former groups
		return err
	}
	var rows, former [][]any
	for _, id := range slices.Sorted(maps.Keys(groups)) {
		if groups[id] != members[id].Group {
			rows = append(rows, []any{id, groups[id]})
		}
	}
	if err := w.InsertGlobal(ctx, `advisory_member (advisory_id, group_id)`, rows,
		`ON CONFLICT (advisory_id) DO UPDATE SET group_id = excluded.group_id`); err != nil {
		return err
	}
	for _, gone := range slices.Sorted(maps.Keys(merged)) {
		if err := w.Write(ctx, `UPDATE advisory_former SET into_id = $2 WHERE into_id = $1`, gone, merged[gone]); err != nil {
			return err
		}
		former = append(former, []any{gone, merged[gone]})
	}
	if err := w.InsertGlobal(ctx, `advisory_former (id, into_id)`, former, ""); err != nil {
		return err
	}
	all := slices.Collect(maps.Keys(members))
	if err := w.dropCards(ctx, all); err != nil {
		return err
	}
	return w.markTouched(ctx, all)
}

// connected returns all records connected with the given ones by names or groups.
func (w *advisoryWriter) connected(ctx context.Context, ids []int64) (map[int64]model.AdvisoryMember, error) {
	members := map[int64]model.AdvisoryMember{}
	for len(ids) > 0 {
		names, err := w.names(ctx, ids)
		if err != nil {
			return nil, err
		}
		groups := map[int64]int64{}
		in, arg := w.In("advisory_id", 1, ids)
		err = sqldb.Each(ctx, w, func(r sqldb.Row) error {
			var id, group int64
			err := r.Scan(&id, &group)
			groups[id] = group
			return err
		}, `SELECT advisory_id, group_id FROM advisory_member WHERE `+in, arg)
		if err != nil {
			return nil, err
		}
		var all []string
		for _, id := range ids {
			members[id] = model.AdvisoryMember{ID: id, Names: names[id], Group: groups[id]}
			all = append(all, names[id]...)
		}
		if ids, err = w.neighbours(ctx, all, slices.Collect(maps.Values(groups)), members); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// neighbours returns the records with one of the names or in one of the groups, except known ones.
func (w *advisoryWriter) neighbours(
	ctx context.Context, names []string, groups []int64, known map[int64]model.AdvisoryMember,
) ([]int64, error) {
	found := map[int64]bool{}
	scan := func(r sqldb.Row) error {
		id, err := sqldb.Scalar[int64](r)
		if _, is := known[id]; !is {
			found[id] = true
		}
		return err
	}
	in, arg := w.In("name", 1, names)
	if err := sqldb.Each(ctx, w, scan, `SELECT DISTINCT advisory_id FROM advisory_name WHERE `+in, arg); err != nil {
		return nil, err
	}
	in, arg = w.In("group_id", 1, groups)
	if err := sqldb.Each(ctx, w, scan, `SELECT advisory_id FROM advisory_member WHERE `+in, arg); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(found)), nil
}
