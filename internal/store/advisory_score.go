package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// Scores returns the EPSS scores of those CVEs that have one.
func (tx *Tx) Scores(ctx context.Context, cves []string) (map[string]redoubt.EPSS, error) {
	out := map[string]redoubt.EPSS{}
	in, arg := tx.in("cve", 1, cves)
	return out, each(ctx, tx.session, func(r row) error {
		var s redoubt.EPSSScore
		err := r.Scan(&s.CVE, &s.Score, &s.Percentile)
		out[s.CVE] = s.EPSS
		return err
	}, `SELECT cve, score, percentile FROM epss WHERE `+in, arg)
}

// Exploited returns the entries of those CVEs that are known to be exploited.
func (tx *Tx) Exploited(ctx context.Context, cves []string) (map[string]redoubt.KEV, error) {
	out := map[string]redoubt.KEV{}
	in, arg := tx.in("cve", 1, cves)
	return out, each(ctx, tx.session, func(r row) error {
		var k redoubt.KEV
		err := r.Scan(&k.CVE, instant(&k.Added), instant(&k.Due), &k.Ransomware, &k.Name, &k.Action)
		out[k.CVE] = k
		return err
	}, `SELECT cve, added_at, due_at, ransomware, name, action FROM kev WHERE `+in, arg)
}

// PutScores replaces all EPSS scores, in one transaction: what read hands over
// are all there are. A failure of read leaves the old ones.
func (s *Store) PutScores(ctx context.Context, read func(put func(redoubt.EPSSScore) error) error) error {
	const step = 1000
	return s.engine.update(ctx, func(ctx context.Context, q *session) error {
		if _, err := q.exec(ctx, `DELETE FROM epss`); err != nil {
			return err
		}
		var rows [][]any
		flush := func() error {
			err := q.insertGlobal(ctx, `epss (cve, score, percentile)`, rows, `ON CONFLICT DO NOTHING`)
			rows = rows[:0]
			return err
		}
		err := read(func(e redoubt.EPSSScore) error {
			if rows = append(rows, []any{e.CVE, e.Score, e.Percentile}); len(rows) < step {
				return nil
			}
			return flush()
		})
		if err == nil {
			err = flush()
		}
		if err == nil {
			_, err = q.exec(ctx, `UPDATE advisory_state SET scores_version = scores_version + 1 WHERE id = 1`)
		}
		return err
	})
}

// PutExploited replaces the catalogue of exploited vulnerabilities.
func (s *Store) PutExploited(ctx context.Context, list []redoubt.KEV) error {
	return s.engine.update(ctx, func(ctx context.Context, q *session) error {
		if _, err := q.exec(ctx, `DELETE FROM kev`); err != nil {
			return err
		}
		rows := make([][]any, len(list))
		for i, k := range list {
			rows[i] = []any{k.CVE, k.Added, k.Due, k.Ransomware, k.Name, k.Action}
		}
		return q.insertGlobal(ctx, `kev (cve, added_at, due_at, ransomware, name, action)`, rows, `ON CONFLICT DO NOTHING`)
	})
}

// RefreshScores writes the EPSS scores of what supply-chain findings are about
// to their lineages, where they changed, and touches nothing else of them
// (decisions §14). Of several CVEs of one vulnerability the highest counts. Ref
// empty means all of the deployment.
func (tx *Tx) RefreshScores(ctx context.Context, projectID int64, ref string) error {
	where, args := ` WHERE s.deployment_id = $1`, []any{}
	if ref != "" {
		where, args = where+` AND f.project_id = $2 AND f.ref = $3`, []any{projectID, ref}
	}
	const from = ` FROM finding_subject s JOIN finding f ON f.deployment_id = s.deployment_id AND f.id = s.finding_id `
	best := map[int64]redoubt.EPSS{}
	for _, query := range []string{
		from + `JOIN epss e ON e.cve = UPPER(s.vulnerability)` + where + ` AND s.group_id = 0`,
		from + `JOIN advisory_member m ON m.group_id = s.group_id JOIN advisory_name n ON n.advisory_id = m.advisory_id
			JOIN epss e ON e.cve = n.name` + where + ` AND s.group_id <> 0`,
	} {
		err := each(ctx, tx, func(r row) error {
			var lineage int64
			var e redoubt.EPSS
			err := r.Scan(&lineage, &e.Score, &e.Percentile)
			if known, is := best[lineage]; !is || known.Score < e.Score {
				best[lineage] = e
			}
			return err
		}, `SELECT DISTINCT f.lineage_id, e.score, e.percentile`+query, args...)
		if err != nil {
			return fmt.Errorf("read the EPSS scores of findings: %w", err)
		}
	}
	return tx.writeScores(ctx, best)
}

func (tx *Tx) writeScores(ctx context.Context, best map[int64]redoubt.EPSS) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(best)), feedBatch) {
		lineages, err := tx.lineages(ctx, ids)
		if err != nil {
			return err
		}
		for _, l := range lineages {
			score := best[l.ID]
			if l.Annotations.EPSS != nil && *l.Annotations.EPSS == score {
				continue
			}
			if err := tx.Annotate(ctx, l.ID, func(a *redoubt.Annotations) { a.EPSS = &score }); err != nil {
				return err
			}
		}
	}
	return nil
}
