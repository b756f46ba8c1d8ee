package advisories

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Advisories are global, so these statements have no tenant.

const advisoryColumns = `a.id, a.name, a.digest, a.modified, a.withdrawn, m.group_id, a.facts, a.text`

const advisorySelect = `SELECT ` + advisoryColumns + ` FROM advisory a JOIN advisory_member m ON m.advisory_id = a.id`

func scanAdvisory(r sqldb.Row) (a model.Advisory, err error) {
	var text []byte
	err = r.Scan(&a.ID, &a.Name, sqldb.Digest(&a.Digest), sqldb.Instant(&a.Modified), &a.Withdrawn,
		&a.Group, &a.Facts, &text)
	if err == nil {
		a.Text, err = inflated(text)
	}
	return a, err
}

// packers are reusable deflate writers. Creating one takes as long as compressing thirty records.
var packers = sync.Pool{New: func() any {
	w, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic("store: " + err.Error()) // the level is a constant of the package
	}
	return w
}}

// deflated compresses a text. Texts have at most about twenty kilobytes.
func deflated(text []byte) []byte {
	var b bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&b)
	_, err := w.Write(text)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic("store: deflate in memory: " + err.Error())
	}
	return b.Bytes()
}

func inflated(packed []byte) ([]byte, error) {
	text, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, sqldb.Undecoded(fmt.Errorf("the text of an advisory: %w", err))
	}
	return text, nil
}

// AdvisoryVersion returns the version of the advisories, which grows with each published change. It
// contains random bits, like a deployment's version, so no other history has it.
func (tx *Tx) AdvisoryVersion(ctx context.Context) (int64, error) {
	return advisoryVersion(ctx, tx.Session)
}

func advisoryVersion(ctx context.Context, q *sqldb.Session) (int64, error) {
	return sqldb.One(ctx, q, sqldb.Scalar[int64], `SELECT version FROM advisory_state WHERE id = 1`)
}

// AdvisoryVersions returns the version of the advisories and that of the scores.
func (s *DB) AdvisoryVersions(ctx context.Context) (version, scores int64, err error) {
	err = s.RunQuery(ctx, func(ctx context.Context) error {
		return s.QueryRow(ctx, `SELECT version, scores_version FROM advisory_state WHERE id = 1`).Scan(&version, &scores)
	})
	return version, scores, err
}

// AdvisoryGroups returns the groups of the packages' records, by package and then by id. Groups
// include all their records with texts.
func (tx *Tx) AdvisoryGroups(ctx context.Context, packages []string) (map[string][]model.AdvisoryGroup, error) {
	q := tx.Session
	of := map[string][]int64{}
	var ids []int64
	in, arg := q.In("p.package", 1, packages)
	err := sqldb.Each(ctx, q, func(r sqldb.Row) error {
		var key string
		var group int64
		err := r.Scan(&key, &group)
		of[key], ids = append(of[key], group), append(ids, group)
		return err
	},
		`SELECT DISTINCT p.package, m.group_id FROM advisory_package p JOIN advisory_member m ON m.advisory_id = p.advisory_id
		WHERE `+in+` ORDER BY m.group_id`, arg)
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	groups, err := advisoryGroups(ctx, q, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	out := make(map[string][]model.AdvisoryGroup, len(of))
	for key, list := range of {
		for _, id := range list {
			out[key] = append(out[key], groups[id])
		}
	}
	return out, nil
}

// AdvisoryGroupsByID returns groups with all their records; unknown ids are omitted.
func (tx *Tx) AdvisoryGroupsByID(ctx context.Context, ids []int64) (map[int64]model.AdvisoryGroup, error) {
	return advisoryGroups(ctx, tx.Session, ids)
}

// advisoryGroups returns groups by id; their records are sorted by id.
func advisoryGroups(ctx context.Context, q *sqldb.Session, ids []int64) (map[int64]model.AdvisoryGroup, error) {
	groups := make(map[int64]model.AdvisoryGroup, len(ids))
	in, arg := q.In("m.group_id", 1, ids)
	err := sqldb.Each(ctx, q, func(r sqldb.Row) error {
		a, err := scanAdvisory(r)
		g := groups[a.Group]
		g.ID, g.Records = a.Group, append(g.Records, a)
		groups[a.Group] = g
		return err
	}, advisorySelect+` WHERE `+in+` ORDER BY a.id`, arg)
	if err != nil {
		return nil, err
	}
	in, arg = q.In("into_id", 1, ids)
	return groups, sqldb.Each(ctx, q, func(r sqldb.Row) error {
		var id, into int64
		err := r.Scan(&id, &into)
		g := groups[into]
		g.Former = append(g.Former, id)
		groups[into] = g
		return err
	}, `SELECT id, into_id FROM advisory_former WHERE `+in+` ORDER BY id`, arg)
}

// AdvisoryGroup returns the group of a record by one of its names, ignoring case. An unknown name
// is model.ErrNotFound.
func (tx *Tx) AdvisoryGroup(ctx context.Context, name string) (g model.AdvisoryGroup, err error) {
	return advisoryGroup(ctx, tx.Session, name)
}

func advisoryGroup(ctx context.Context, q *sqldb.Session, name string) (g model.AdvisoryGroup, err error) {
	id, err := sqldb.One(ctx, q, sqldb.Scalar[int64], `
		SELECT m.group_id FROM advisory_name n JOIN advisory_member m ON m.advisory_id = n.advisory_id
		WHERE n.name = UPPER(CAST($1 AS TEXT)) ORDER BY m.group_id LIMIT 1`, name)
	if err != nil {
		return g, fmt.Errorf("advisory %.80q: %w", name, err)
	}
	groups, err := advisoryGroups(ctx, q, []int64{id})
	return groups[id], err
}

// AdvisoryNames returns all names of the vulnerability with a name, in upper case. It is empty for
// an unknown name.
func (tx *Tx) AdvisoryNames(ctx context.Context, name string) ([]string, error) {
	return sqldb.Many(ctx, tx.Session, sqldb.Scalar[string], `
		SELECT DISTINCT o.name FROM advisory_name n JOIN advisory_member m ON m.advisory_id = n.advisory_id
		JOIN advisory_member p ON p.group_id = m.group_id JOIN advisory_name o ON o.advisory_id = p.advisory_id
		WHERE n.name = UPPER(CAST($1 AS TEXT)) ORDER BY o.name`, name)
}

// AdvisoryGroup is Tx.AdvisoryGroup outside of a deployment.
func (s *DB) AdvisoryGroup(ctx context.Context, name string) (g model.AdvisoryGroup, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		g, err = advisoryGroup(ctx, q, name)
		return err
	})
	return g, err
}

// Advisories returns at most limit records after the one with the given id, by id. A nonempty pkg
// selects records of one package.
func (s *DB) Advisories(ctx context.Context, pkg string, afterID int64, limit int) (list []model.Advisory, err error) {
	query, args := advisorySelect+` WHERE a.id > $1 ORDER BY a.id LIMIT $2`, []any{afterID, limit}
	if pkg != "" {
		query = advisorySelect +
			` JOIN advisory_package p ON p.advisory_id = a.id WHERE a.id > $1 AND p.package = $3 ORDER BY a.id LIMIT $2`
		args = append(args, pkg)
	}
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(ctx, q, scanAdvisory, query, args...)
		return err
	})
	return list, err
}
