package findings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Scores returns the EPSS scores of CVEs; those without a score are omitted.
func (tx *Tx) Scores(ctx context.Context, cves []string) (map[string]model.EPSS, error) {
	out := map[string]model.EPSS{}
	in, arg := tx.In("cve", 1, cves)
	return out, sqldb.Each(ctx, tx.Session, func(r sqldb.Row) error {
		var s model.EPSSScore
		err := r.Scan(&s.CVE, &s.Score, &s.Percentile)
		out[s.CVE] = s.EPSS
		return err
	}, `SELECT cve, score, percentile FROM epss WHERE `+in, arg)
}

// Exploited returns the KEV entries of CVEs; those without an entry are omitted.
func (tx *Tx) Exploited(ctx context.Context, cves []string) (map[string]model.KEV, error) {
	out := map[string]model.KEV{}
	in, arg := tx.In("cve", 1, cves)
	return out, sqldb.Each(ctx, tx.Session, func(r sqldb.Row) error {
		var k model.KEV
		err := r.Scan(&k.CVE, sqldb.Instant(&k.Added), sqldb.Instant(&k.Due), &k.Ransomware, &k.Name, &k.Action)
		out[k.CVE] = k
		return err
	}, `SELECT cve, added_at, due_at, ransomware, name, action FROM kev WHERE `+in, arg)
}

// PutScores replaces all EPSS scores by those that read passes to put, in one transaction. If read
// fails, the old scores stay.
func (s *DB) PutScores(ctx context.Context, read func(put func(model.EPSSScore) error) error) error {
	const step = 1000
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if err := q.Write(ctx, `DELETE FROM epss`); err != nil {
			return err
		}
		var rows [][]any
		flush := func() error {
			err := q.InsertGlobal(ctx, `epss (cve, score, percentile)`, rows, `ON CONFLICT DO NOTHING`)
			rows = rows[:0]
			return err
		}
		err := read(func(e model.EPSSScore) error {
			if rows = append(rows, []any{e.CVE, e.Score, e.Percentile}); len(rows) < step {
				return nil
			}
			return flush()
		})
		if err == nil {
			err = flush()
		}
		if err == nil {
			err = moveScores(ctx, q, s.Now())
		}
		return err
	})
}

// PutExploited replaces the catalog of known exploited vulnerabilities. Like PutScores it queues a
// matching of all deployments.
func (s *DB) PutExploited(ctx context.Context, list []model.KEV) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if err := q.Write(ctx, `DELETE FROM kev`); err != nil {
			return err
		}
		rows := make([][]any, len(list))
		for i, k := range list {
			rows[i] = []any{k.CVE, k.Added, k.Due, k.Ransomware, k.Name, k.Action}
		}
		if err := q.InsertGlobal(ctx, `kev (cve, added_at, due_at, ransomware, name, action)`, rows,
			`ON CONFLICT DO NOTHING`); err != nil {
			return err
		}
		return moveScores(ctx, q, s.Now())
	})
}

// moveScores increases the version of the scores and the KEV catalog, and queues a matching.
func moveScores(ctx context.Context, q *sqldb.Session, now time.Time) error {
	version, err := sqldb.One(
		ctx, q, sqldb.Scalar[int64], `SELECT scores_version FROM advisory_state WHERE id = 1`+q.ForUpdate(),
	)
	if err != nil {
		return err
	}
	if err := q.Write(ctx, `UPDATE advisory_state SET scores_version = $1 WHERE id = 1`,
		sqldb.VersionAfter(version)); err != nil {
		return err
	}
	return advisories.QueueMatching(ctx, q, now)
}

// RefreshScores updates the EPSS scores and the KEV flag of lineages with supply-chain findings, if
// they changed (docs/reference/advisories.md). If a vulnerability has several CVEs, the highest
// score is stored. If refs is nil, it updates all findings of the deployment.
func (tx *Tx) RefreshScores(ctx context.Context, refs []model.ProjectRef) error {
	s := scoring{
		tx:        tx,
		about:     map[advisories.Vulnerability][]int64{},
		best:      map[int64]model.EPSS{},
		exploited: map[int64]bool{},
	}
	find := s.findAll
	if refs != nil {
		find = func(ctx context.Context) error { return s.findOn(ctx, refs) }
	}
	err := find(ctx)
	if err == nil {
		err = s.read(ctx)
	}
	if err != nil {
		return fmt.Errorf("read the scores of findings: %w", err)
	}
	return s.Write(ctx)
}

// scoring collects scores of lineages.
type scoring struct {
	tx        *Tx
	about     map[advisories.Vulnerability][]int64 // lineages by vulnerability
	best      map[int64]model.EPSS
	exploited map[int64]bool // false: no longer exploited
}

// isMarked is the condition that a lineage is marked as known to be exploited.
const isMarked = ` AND l.annotations_json LIKE '%"known_exploited":true%'`

// findAll reads the vulnerabilities of all findings of the deployment, and the marked lineages.
func (s *scoring) findAll(ctx context.Context) error {
	const subjects = ` FROM finding_subject s JOIN finding f ON f.deployment_id = s.deployment_id AND f.id = s.finding_id `
	err := sqldb.Each(ctx, s.tx, s.mark, `SELECT DISTINCT f.lineage_id`+subjects+`
		JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id WHERE s.deployment_id = $1`+isMarked)
	if err != nil {
		return err
	}
	return sqldb.Each(ctx, s.tx, func(r sqldb.Row) error {
		var lineage, group int64
		var name string
		err := r.Scan(&lineage, &name, &group)
		v := advisories.VulnerabilityOf(name, group)
		s.about[v] = append(s.about[v], lineage)
		return err
	}, `SELECT DISTINCT f.lineage_id, s.vulnerability, s.group_id`+subjects+` WHERE s.deployment_id = $1`)
}

// findOn is findAll for some refs.
func (s *scoring) findOn(ctx context.Context, refs []model.ProjectRef) error {
	lists, err := s.tx.Subjects(ctx, refs)
	if err != nil {
		return err
	}
	of := map[int64]bool{}
	for _, subject := range slices.Concat(lists...) {
		v := advisories.VulnerabilityOf(subject.Vulnerability, subject.Group)
		s.about[v] = append(s.about[v], subject.LineageID)
		of[subject.LineageID] = true
	}
	if len(of) == 0 {
		return nil
	}
	in, arg := s.tx.In("l.id", 2, slices.Sorted(maps.Keys(of)))
	return sqldb.Each(ctx, s.tx, s.mark, `SELECT l.id FROM lineage l WHERE l.deployment_id = $1 AND `+in+isMarked, arg)
}

func (s *scoring) mark(r sqldb.Row) error {
	lineage, err := sqldb.Scalar[int64](r)
	s.exploited[lineage] = false
	return err
}

// read reads scores by the scanner's name of a vulnerability and by all its names in advisories.
func (s *scoring) read(ctx context.Context) error {
	if len(s.about) == 0 {
		return nil
	}
	scores, err := s.tx.ScoresOf(ctx, s.about)
	if err != nil {
		return err
	}
	exploited, err := s.tx.ExploitedOf(ctx, s.about)
	for v, lineages := range s.about {
		e, scored := scores[v]
		for _, lineage := range lineages {
			if known, is := s.best[lineage]; scored && (!is || known.Score < e.Score) {
				s.best[lineage] = e
			}
			if exploited[v] {
				s.exploited[lineage] = true
			}
		}
	}
	return err
}

// Write updates the lineages whose scores changed.
func (s *scoring) Write(ctx context.Context) error {
	changed := map[int64]bool{}
	for id := range s.best {
		changed[id] = true
	}
	for id := range s.exploited {
		changed[id] = true
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(changed)), sqldb.FeedBatch) {
		lineages, err := s.tx.LineagesThat(ctx, ids)
		if err != nil {
			return err
		}
		for _, l := range lineages {
			score, scored := s.best[l.ID]
			exploited, judged := s.exploited[l.ID]
			same := !scored || l.Annotations.EPSS != nil && *l.Annotations.EPSS == score
			if same && (!judged || l.Annotations.Exploited == exploited) {
				continue
			}
			err := s.tx.Annotate(ctx, l.ID, func(a *model.Annotations) {
				if scored {
					a.EPSS = &score
				}
				if judged {
					a.Exploited = exploited
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
