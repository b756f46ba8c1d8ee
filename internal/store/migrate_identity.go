package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/redoubt/redoubt"
)

// identityVersion is the migration that takes the ordinals out of identities.
const identityVersion = 23

// goMigrations are those that SQL cannot do. They name every column that they
// use, for what the rest of the package uses changes with later migrations.
func (e *engine) goMigrations() []*goose.Migration {
	return []*goose.Migration{
		goose.NewGoMigration(identityVersion, &goose.GoFunc{RunTx: e.pairMatchesAnew}, nil),
		goose.NewGoMigration(accountVersion, &goose.GoFunc{RunTx: e.forgetMergedFindings}, nil),
		goose.NewGoMigration(accountAgainVersion, &goose.GoFunc{RunTx: e.forgetGoneFindings}, nil),
		goose.NewGoMigration(contentVersion, &goose.GoFunc{RunTx: e.fillContents}, nil),
		goose.NewGoMigration(ticketVersion, &goose.GoFunc{RunTx: e.linkNotedTickets}, nil),
	}
}

// pairMatchesAnew gives stored findings whose code is known the identity that
// their next report has: by formula group and code, where it was by the ordinal
// (semantics §4). It is whole or not at all, and every index is built anew.
func (e *engine) pairMatchesAnew(ctx context.Context, sqlTx *sql.Tx) error {
	return e.migrateTenants(ctx, sqlTx, redoubt.Actor{}, func(tx *Tx) error {
		projects, err := many(ctx, tx, func(r row) (p redoubt.Project, err error) {
			return p, r.Scan(&p.ID, &p.PrimaryBranch, &p.DefaultBranch)
		}, `SELECT id, primary_branch, default_branch FROM project WHERE deployment_id = $1 ORDER BY id`)
		if err != nil {
			return err
		}
		for _, p := range projects {
			if err := tx.pairMatchesAnew(ctx, p); err != nil {
				return fmt.Errorf("the findings of project %d: %w", p.ID, err)
			}
		}
		if len(tx.changes) == 0 {
			return nil
		}
		return tx.finish(ctx)
	})
}

// storedMatch is a row of a match whose code is known.
type storedMatch struct {
	id, lineage   int64
	ref, source   string
	line, column  int
	live, primary bool
	was           redoubt.Digest // its identity
	group         string
	code, key     redoubt.Digest
	syntactic     string // tells equal code of one file apart, by the scanner; may be empty
	next          redoubt.Identity
}

func (tx *Tx) pairMatchesAnew(ctx context.Context, p redoubt.Project) error {
	rows, err := tx.storedMatches(ctx, p)
	if err != nil || len(rows) == 0 {
		return err
	}
	numberMatches(rows)
	return tx.writeMatches(ctx, p.ID, rows, splitLineages(rows))
}

// storedMatches reads the matches of code of a project, the primary branch first,
// each ref's in the order of its files.
func (tx *Tx) storedMatches(ctx context.Context, p redoubt.Project) ([]*storedMatch, error) {
	var rows []*storedMatch
	err := each(ctx, tx, func(r row) error {
		m := &storedMatch{}
		var state redoubt.State
		var members []byte
		if err := r.Scan(&m.id, &m.lineage, &m.ref, &m.source, &m.line, &state, digest(&m.was), digest(&m.code), &members); err != nil {
			return err
		}
		var body struct {
			MatchBasedID string                 `json:"match_based_id"`
			SyntacticID  string                 `json:"syntactic_id"`
			Location     struct{ Column int64 } `json:"location"`
		}
		if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", members), &body); err != nil {
			return fmt.Errorf("the body of finding %d: %w", m.id, err)
		}
		if m.code == (redoubt.Digest{}) || body.MatchBasedID == "" {
			return nil // the ordinal is all that is known
		}
		m.group, m.syntactic, m.column = redoubt.FormulaGroup(body.MatchBasedID), body.SyntacticID, int(body.Location.Column)
		m.key = redoubt.MatchKey(m.group, m.code)
		m.live = state == redoubt.Unresolved || state == redoubt.Muted
		m.primary = m.ref == p.Primary()
		rows = append(rows, m)
		return nil
	}, `SELECT f.id, f.lineage_id, f.ref, f.source, f.line, f.state, f.identity_hash, f.code_hash, b.body
		FROM finding f JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
		LEFT JOIN finding_subject s ON s.deployment_id = f.deployment_id AND s.finding_id = f.id
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND f.identity_kind = 1 AND (s.lockfile IS NULL OR s.lockfile <> f.path)`, p.ID)
	slices.SortFunc(rows, func(a, b *storedMatch) int {
		return cmp.Or(first(a.primary, b.primary), strings.Compare(a.ref, b.ref), strings.Compare(a.source, b.source), first(a.live, b.live),
			cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column), cmp.Compare(a.id, b.id))
	})
	return rows, err
}

// first orders what is so before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// numberMatches numbers equal code of each ref and source. What the scanner calls
// by one syntactic id has one number on every ref, for a diff scan knows a ref
// in part.
func numberMatches(rows []*storedMatch) {
	type place struct {
		ref, source string
		key         redoubt.Digest
		n           int64
	}
	type name struct {
		key       redoubt.Digest
		syntactic string
	}
	type number struct {
		key redoubt.Digest
		n   int64
	}
	taken, told, names := map[place]bool{}, map[name]int64{}, map[number]string{}
	for _, m := range rows {
		at := func(n int64) place { return place{m.ref, m.source, m.key, n} }
		n, known := told[name{m.key, m.syntactic}]
		if m.syntactic == "" || !known || taken[at(n)] {
			for n = 0; taken[at(n)] || m.syntactic != "" && names[number{m.key, n}] != "" && names[number{m.key, n}] != m.syntactic; n++ {
			}
		}
		taken[at(n)] = true
		if m.syntactic != "" && names[number{m.key, n}] == "" {
			told[name{m.key, m.syntactic}], names[number{m.key, n}] = n, m.syntactic
		}
		m.next = redoubt.NumberedIdentity(redoubt.IdentityMatchBased, m.key, n)
	}
}

// splitLineages hangs each row on the lineage of its identity, and returns the
// lineage of each; 0 is one to begin. A lineage of different code of one formula
// group keeps, with its triage, the code of the primary branch, else that of
// the oldest row.
func splitLineages(rows []*storedMatch) map[redoubt.Identity]int64 {
	type part struct {
		lineage int64
		group   string
	}
	byAge := slices.Clone(rows)
	slices.SortFunc(byAge, func(a, b *storedMatch) int { return cmp.Or(first(a.primary, b.primary), cmp.Compare(a.id, b.id)) })
	whole, codes := map[int64]redoubt.Digest{}, map[part]redoubt.Digest{}
	for _, m := range byAge { // the code of a lineage's first row, where a group of it has that at all
		if _, known := whole[m.lineage]; !known {
			whole[m.lineage] = m.code
		}
		if _, known := codes[part{m.lineage, m.group}]; !known || m.code == whole[m.lineage] {
			codes[part{m.lineage, m.group}] = m.code
		}
	}
	owners := map[redoubt.Identity]int64{}
	for _, m := range byAge {
		if _, known := owners[m.next]; !known && codes[part{m.lineage, m.group}] == m.code {
			owners[m.next] = m.lineage
		}
	}
	for _, m := range byAge {
		if _, known := owners[m.next]; !known {
			owners[m.next] = 0
		}
	}
	return owners
}

// writeMatches stores the identities and lineages. Those that begin are nobody's
// decision yet.
func (tx *Tx) writeMatches(ctx context.Context, projectID int64, rows []*storedMatch, owners map[redoubt.Identity]int64) error {
	var fresh, links [][]any
	linked := map[redoubt.Identity]bool{}
	for _, m := range rows {
		if owners[m.next] == 0 {
			id, err := tx.newID(ctx, seqLineage)
			if err != nil {
				return err
			}
			owners[m.next] = id
			fresh = append(fresh, []any{id, projectID, int64(redoubt.TriageUntriaged), 0, "", encoded(redoubt.Actor{}), 0, encoded(redoubt.Annotations{})})
			tx.change(changeLineage, id)
		}
		if !linked[m.next] {
			linked[m.next] = true
			links = append(links, []any{projectID, 1, m.next.Hash, owners[m.next]})
		}
		tx.change(changeFinding, m.id)
		if err := tx.write(ctx, `DELETE FROM lineage_identity WHERE deployment_id = $1 AND project_id = $2 AND kind = 1 AND hash = $3`, projectID, m.was); err != nil {
			return err
		}
		err := tx.write(ctx, `UPDATE finding SET identity_hash = $3, lineage_id = $4, version = $5 WHERE deployment_id = $1 AND id = $2`,
			m.id, m.next.Hash, owners[m.next], tx.nextVersion())
		if err != nil {
			return err
		}
	}
	const lineage = `lineage (deployment_id, id, project_id, triage_state, triage_reason, triage_comment, triaged_by_json, automatic, annotations_json)`
	if err := tx.insert(ctx, lineage, fresh, ""); err != nil {
		return err
	}
	return tx.insert(ctx, `lineage_identity (deployment_id, project_id, kind, hash, lineage_id)`, links, "")
}
