package exceptions

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// claimsOf returns the statements of active documents about vulnerabilities, by name. Proposed
// documents are excluded. A statement found by several names is one value.
func (tx *Tx) claimsOf(ctx context.Context, names []string) (map[string][]model.VEXClaim, error) {
	type place struct{ document, place int64 }
	statements, byName := map[place]*model.VEXStatement{}, map[string][]place{}
	in, arg := tx.In("n.name", 2, names)
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var name string
		var at place
		s := &model.VEXStatement{}
		err := r.Scan(&name, &at.document, &at.place, sqldb.Decoded(s))
		byName[name] = append(byName[name], at)
		if statements[at] == nil {
			statements[at] = s
		}
		return err
	}, `SELECT n.name, s.exception_id, s.place, s.statement_json FROM exception_name n
		JOIN exception_statement s ON s.deployment_id = n.deployment_id AND s.exception_id = n.exception_id
		AND s.place = n.place
		JOIN exception d ON d.deployment_id = n.deployment_id AND d.id = n.exception_id AND d.state = 2
		WHERE n.deployment_id = $1 AND `+in+` ORDER BY s.exception_id, s.place`, arg)
	if err != nil || len(statements) == 0 {
		return nil, err
	}
	ids := map[int64]bool{}
	for at := range statements {
		ids[at.document] = true
	}
	documents, err := tx.vexHeadings(ctx, slices.Sorted(maps.Keys(ids)))
	if err != nil {
		return nil, err
	}
	claims := map[string][]model.VEXClaim{}
	for name, list := range byName {
		for _, at := range list {
			claims[name] = append(claims[name], model.VEXClaim{Document: documents[at.document], Statement: statements[at]})
		}
	}
	return claims, nil
}

// vexHeadings returns documents without their statements, by id.
func (tx *Tx) vexHeadings(ctx context.Context, ids []int64) (map[int64]*model.VEXDocument, error) {
	documents := map[int64]*model.VEXDocument{}
	in, arg := tx.In("r.id", 2, ids)
	return documents, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		e, err := scanException(r)
		documents[e.ID] = e.Document
		return err
	}, selectDocuments+` AND `+in, arg)
}

// aliases contains the names of vulnerabilities in upper case, by name and by group of advisories.
type aliases struct {
	byName  map[string][]string
	byGroup map[int64][]string
}

// aliasesOf returns all names of vulnerabilities, given by a name in upper case or by a group of
// advisories.
func (tx *Tx) aliasesOf(ctx context.Context, names []string, groups []int64) (aliases, error) {
	known := aliases{map[string][]string{}, map[int64][]string{}}
	for _, name := range names {
		known.byName[name] = []string{name}
	}
	const named = `SELECT DISTINCT m.group_id, n.name FROM advisory_member m JOIN advisory_name n ON n.advisory_id = ` +
		`m.advisory_id `
	byName, list := tx.Session.In("t.name", 1, names)
	byGroup, ids := tx.Session.In("m.group_id", 1, sqldb.OrEmpty(groups))
	for _, q := range []struct {
		wanted bool
		query  string
		arg    any
	}{
		{len(names) > 0, named + `WHERE m.group_id IN (SELECT tm.group_id FROM advisory_name t
			JOIN advisory_member tm ON tm.advisory_id = t.advisory_id WHERE ` + byName + `)`, list},
		{len(groups) > 0, named + `WHERE ` + byGroup, ids},
	} {
		if !q.wanted {
			continue
		}
		err := sqldb.Each(ctx, tx.Session, func(r sqldb.Row) error {
			var group int64
			var name string
			err := r.Scan(&group, &name)
			if !slices.Contains(known.byGroup[group], name) {
				known.byGroup[group] = append(known.byGroup[group], name)
			}
			return err
		}, q.query, q.arg)
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
