package exceptions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// byException and byVEX are the conditions for lineages last decided by an exception or a VEX
// document.
const (
	byException = `triaged_by_json LIKE '{"kind":"exception"%'`
	byVEX       = `triaged_by_json LIKE '{"kind":"vex"%'`
)

// ExceptionCandidates returns the distinct lineages of a scope, ascending. Those that an exception
// reopened have no current decision.
func (tx *Tx) ExceptionCandidates(ctx context.Context, scope model.ExceptionScope) ([]int64, error) {
	known, err := tx.aliasesOf(ctx, sqldb.OrEmpty(scope.Names), nil)
	if err != nil {
		return nil, err
	}
	actors := make([]string, len(scope.Actors))
	for i, a := range scope.Actors {
		actors[i] = sqldb.Encoded(a)
	}
	const (
		findings = `SELECT DISTINCT f.lineage_id FROM finding f WHERE f.deployment_id = $1`
		subjects = `SELECT DISTINCT f.lineage_id FROM finding_subject s
			JOIN finding f ON f.deployment_id = s.deployment_id AND f.id = s.finding_id WHERE s.deployment_id = $1`
		lineages = `SELECT id FROM lineage WHERE deployment_id = $1 AND automatic = 1`
		named    = `SELECT q.lineage_id FROM exception_finding q JOIN exception r ON r.deployment_id = q.deployment_id
			AND r.id = q.exception_id
			WHERE q.deployment_id = $1`
		anyVEX = ` AND EXISTS (SELECT 1 FROM exception WHERE deployment_id = $1 AND kind = 3 AND state = 2)`
	)
	w := &sqldb.Where{Tx: tx.Tx}
	var reads []string
	for _, q := range []struct {
		wanted  bool
		query   string
		column  string // must be one of values; no condition if empty
		values  any
		bounded [2]string // columns of the lineage and of its project
	}{
		{len(scope.Rules) > 0, findings, "f.rule_name", scope.Rules, ofFinding},
		{len(scope.Names) > 0, subjects, "UPPER(s.vulnerability)", slices.Sorted(maps.Keys(known.byName)), ofFinding},
		{len(known.byGroup) > 0, subjects, "s.group_id", slices.Sorted(maps.Keys(known.byGroup)), ofFinding},
		{scope.Dependencies, subjects + anyVEX, "", nil, ofFinding},
		{scope.Named, named, "r.state", []int64{int64(model.ExceptionActive)}, ofNamed},
		{scope.Exempted, lineages + ` AND (` + byException + ` OR ` + byVEX + `)`, "", nil, ofLineage},
		{len(actors) > 0, lineages, "triaged_by_json", actors, ofLineage},
	} {
		if !q.wanted {
			continue
		}
		w.Text.Reset()
		if q.bounded == ofLineage {
			w.And(`NOT (`+byException+` AND triage_state = ?)`, int64(model.TriageReopened))
		}
		if q.column != "" {
			w.In(q.column, q.values)
		}
		within(w, q.bounded, scope)
		reads = append(reads, q.query+w.Text.String())
	}
	if len(reads) == 0 {
		return []int64{}, nil
	}
	ids, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], strings.Join(reads, ` UNION `), w.Args...)
	if err != nil {
		return nil, fmt.Errorf("find the findings of exceptions: %w", err)
	}
	slices.Sort(ids)
	return ids, nil
}

// Columns of the lineage and of its project.
var (
	ofFinding = [2]string{"f.lineage_id", "f.project_id"}
	ofLineage = [2]string{"id", "project_id"}
	ofNamed   = [2]string{"q.lineage_id", "r.project_id"}
)

// within adds the lineages and projects of a scope as conditions.
func within(w *sqldb.Where, columns [2]string, scope model.ExceptionScope) {
	for i, bound := range [][]int64{scope.Lineages, scope.Projects} {
		if bound != nil {
			w.In(columns[i], bound)
		}
	}
}

// ExceptionCases returns lineages with the data that decides whether they are exempt; unknown ids
// are omitted.
func (tx *Tx) ExceptionCases(ctx context.Context, ids []int64) ([]model.ExceptionCase, error) {
	cases, err := tx.exceptionProjects(ctx, ids)
	if err != nil {
		return nil, err
	}
	at := make(map[int64]*model.ExceptionCase, len(cases))
	for i := range cases {
		at[cases[i].Lineage.ID] = &cases[i]
	}
	if err := tx.nameCases(ctx, at, ids); err != nil {
		return nil, err
	}
	var subjects []vulnerableOccurrence
	in, arg := tx.In("f.lineage_id", 2, ids)
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var lineage int64
		var path, lockfile string
		o := &model.ExceptionOccurrence{}
		s := vulnerableOccurrence{ExceptionOccurrence: o}
		err := r.Scan(&lineage, &o.Ref, &o.Rule, &path, &o.State, &lockfile, &s.vulnerability, &s.group, &o.Ecosystem,
			&o.Package, &o.Version)
		o.Paths = []string{path}
		if lockfile != "" && lockfile != path {
			o.Paths = append(o.Paths, lockfile)
		}
		if c := at[lineage]; c != nil {
			c.Occurrences = append(c.Occurrences, o)
		}
		if s.vulnerability != "" || s.group != 0 {
			s.vulnerability = strings.ToUpper(s.vulnerability)
			subjects = append(subjects, s)
		}
		return err
	},
		`SELECT f.lineage_id, f.ref, f.rule_name, f.path, f.state, COALESCE(s.lockfile, ''), COALESCE(s.vulnerability, ''),
			COALESCE(s.group_id, 0),
			COALESCE(s.ecosystem, ''), COALESCE(s.package, ''), COALESCE(s.version, '')
		FROM finding f LEFT JOIN finding_subject s ON s.deployment_id = f.deployment_id AND s.finding_id = f.id
		WHERE f.deployment_id = $1 AND `+in+` ORDER BY f.id`, arg)
	if err != nil || len(subjects) == 0 {
		return cases, err
	}
	if err := tx.nameSubjects(ctx, subjects); err != nil {
		return nil, err
	}
	return cases, tx.claim(ctx, subjects)
}

// nameCases adds the active exceptions that name each lineage.
func (tx *Tx) nameCases(ctx context.Context, at map[int64]*model.ExceptionCase, ids []int64) error {
	in, arg := tx.In("q.lineage_id", 3, ids)
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var lineage, id int64
		err := r.Scan(&lineage, &id)
		if c := at[lineage]; c != nil {
			c.NamedBy = append(c.NamedBy, id)
		}
		return err
	}, `SELECT DISTINCT q.lineage_id, q.exception_id FROM exception_finding q
		JOIN exception r ON r.deployment_id = q.deployment_id AND r.id = q.exception_id
		WHERE q.deployment_id = $1 AND r.state = $2 AND `+in+` ORDER BY q.exception_id`, int64(model.ExceptionActive), arg)
}

// exceptionProjects returns lineages with their projects.
func (tx *Tx) exceptionProjects(ctx context.Context, ids []int64) ([]model.ExceptionCase, error) {
	lineages, err := tx.LineagesThat(ctx, ids)
	if err != nil {
		return nil, err
	}
	of := map[int64]model.Project{}
	for _, l := range lineages {
		of[l.ProjectID] = model.Project{}
	}
	projects, err := tx.ProjectsByID(ctx, slices.Sorted(maps.Keys(of)))
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		of[p.ID] = p
	}
	cases := make([]model.ExceptionCase, len(lineages))
	for i, l := range lineages {
		p := of[l.ProjectID]
		if p.ID == 0 {
			return nil, fmt.Errorf("project %d: %w", l.ProjectID, model.ErrNotFound)
		}
		cases[i] = model.ExceptionCase{Lineage: l, Project: p}
	}
	return cases, nil
}

// vulnerableOccurrence is an occurrence of a vulnerability, by the name of its source in upper
// case.
type vulnerableOccurrence struct {
	*model.ExceptionOccurrence
	vulnerability string
	group         int64 // of advisories, or 0
}

// nameSubjects sets all names of the vulnerability of each occurrence.
func (tx *Tx) nameSubjects(ctx context.Context, subjects []vulnerableOccurrence) error {
	names, groups := map[string]bool{}, map[int64]bool{}
	for _, s := range subjects {
		names[s.vulnerability], groups[s.group] = true, true
	}
	known, err := tx.aliasesOf(ctx, slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(groups)))
	if err != nil {
		return err
	}
	for _, s := range subjects {
		s.Names = slices.Concat(known.byName[s.vulnerability], known.byGroup[s.group])
		slices.Sort(s.Names)
		s.Names = slices.Compact(s.Names)
	}
	return nil
}

// claim adds the VEX claims about the vulnerability of each occurrence, regardless of the package.
func (tx *Tx) claim(ctx context.Context, subjects []vulnerableOccurrence) error {
	names := map[string]bool{}
	for _, s := range subjects {
		for _, name := range s.Names {
			names[name] = true
		}
	}
	byName, err := tx.claimsOf(ctx, slices.Sorted(maps.Keys(names)))
	if err != nil || len(byName) == 0 {
		return err
	}
	for _, s := range subjects {
		seen := map[*model.VEXStatement]bool{}
		for _, name := range s.Names {
			for _, c := range byName[name] {
				if !seen[c.Statement] {
					seen[c.Statement] = true
					s.Claims = append(s.Claims, c)
				}
			}
		}
	}
	return nil
}
