package advisories

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const summaryColumns = `group_id, shown, names, packages, summary, severity, score, malicious, withdrawn, modified`

func scanSummary(r sqldb.Row) (c model.AdvisorySummary, err error) {
	var names, packages string
	err = r.Scan(&c.Group, &c.Shown, &names, &packages, &c.Summary, &c.Severity, &c.Score, &c.Malicious, &c.Withdrawn,
		sqldb.Instant(&c.Modified))
	c.Names = strings.Fields(names)
	if packages != "" {
		c.Packages = strings.Split(packages, "\n")
	}
	return c, err
}

// PutAdvisorySummaries stores the summaries that lists of vulnerabilities show.
func (s *DB) PutAdvisorySummaries(ctx context.Context, cards []model.AdvisorySummary) error {
	rows := make([][]any, len(cards))
	for i, c := range cards {
		rows[i] = []any{
			c.Group, sqldb.CleanText(c.Shown), sqldb.CleanText(strings.Join(c.Names, " ")),
			sqldb.CleanText(strings.Join(c.Packages, "\n")), sqldb.CleanText(c.Summary),
			int64(c.Severity), c.Score, c.Malicious, c.Withdrawn, c.Modified,
		}
	}
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return q.InsertGlobal(ctx, `advisory_card (`+summaryColumns+`)`, rows,
			`ON CONFLICT (group_id) DO UPDATE SET `+sqldb.Excluded(summaryColumns, "group_id"))
	})
}

// EachAdvisorySummary calls visit with the summaries of all vulnerabilities, by group.
func (s *DB) EachAdvisorySummary(ctx context.Context, visit func(model.AdvisorySummary)) error {
	return s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return sqldb.Each(ctx, q, func(r sqldb.Row) error {
			c, err := scanSummary(r)
			visit(c)
			return err
		}, `SELECT `+summaryColumns+` FROM advisory_card ORDER BY group_id`)
	})
}

// GroupsWithoutSummary returns at most limit groups without a current summary after the group with an
// id, by id.
func (s *DB) GroupsWithoutSummary(ctx context.Context, after int64, limit int) (list []model.AdvisoryGroup, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		ids, err := sqldb.Many(ctx, q, sqldb.Scalar[int64], `SELECT DISTINCT m.group_id FROM advisory_member m
			WHERE m.group_id > $1 AND NOT EXISTS (SELECT 1 FROM advisory_card c WHERE c.group_id = m.group_id)
			ORDER BY m.group_id LIMIT $2`,
			after, limit)
		if err != nil || len(ids) == 0 {
			return err
		}
		groups, err := advisoryGroups(ctx, q, ids)
		for _, id := range slices.Sorted(maps.Keys(groups)) {
			list = append(list, groups[id])
		}
		return err
	})
	return list, err
}

// AdvisorySummaries returns the summaries of groups; missing ones are omitted.
func (tx *Tx) AdvisorySummaries(ctx context.Context, groups []int64) (map[int64]model.AdvisorySummary, error) {
	out := make(map[int64]model.AdvisorySummary, len(groups))
	in, arg := tx.In("group_id", 1, groups)
	return out, sqldb.Each(ctx, tx.Session, func(r sqldb.Row) error {
		c, err := scanSummary(r)
		out[c.Group] = c
		return err
	}, `SELECT `+summaryColumns+` FROM advisory_card WHERE `+in, arg)
}

// AdvisoryGroupsNamed returns the groups of vulnerabilities by their names in upper case; unknown
// names are omitted.
func (tx *Tx) AdvisoryGroupsNamed(ctx context.Context, names []string) (map[string]int64, error) {
	out := make(map[string]int64, len(names))
	in, arg := tx.In("n.name", 1, names)
	return out, sqldb.Each(ctx, tx.Session, func(r sqldb.Row) error {
		var name string
		var group int64
		err := r.Scan(&name, &group)
		if known, is := out[name]; !is || group < known {
			out[name] = group
		}
		return err
	}, `SELECT n.name, m.group_id FROM advisory_name n JOIN advisory_member m ON m.advisory_id = n.advisory_id WHERE `+in,
		arg)
}

// ExploitedNames returns all CVEs of the catalog of known exploited vulnerabilities.
func (s *DB) ExploitedNames(ctx context.Context) (list []string, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(ctx, q, sqldb.Scalar[string], `SELECT cve FROM kev`)
		return err
	})
	return list, err
}

// dropCards deletes the summaries of the records' groups.
func (w *advisoryWriter) dropCards(ctx context.Context, ids []int64) error {
	in, arg := w.In("advisory_id", 1, ids)
	return w.Write(
		ctx, `DELETE FROM advisory_card WHERE group_id IN (SELECT group_id FROM advisory_member WHERE `+in+`)`, arg,
	)
}
