package findings

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ImpactQuery selects the findings of a vulnerability.
type ImpactQuery struct {
	Group    int64
	Names    []string // of the vulnerability in upper case, as used by scanners
	All      bool     // include fixed and removed findings
	Projects model.ProjectGlobs
	AfterID  int64 // of a finding
	Limit    int
}

// Impact returns the findings of a vulnerability from any source, on all refs, by id. It also
// reports whether there are more.
func (tx *Tx) Impact(ctx context.Context, q ImpactQuery) ([]model.Impact, bool, error) {
	projects, all, err := tx.VisibleProjectIDs(ctx, q.Projects)
	if err != nil || !all && len(projects) == 0 {
		return []model.Impact{}, false, err
	}
	w := sqldb.Where{Tx: tx.Tx}
	w.And(`f.id > ?`, q.AfterID)
	names, arg := tx.In("UPPER(s.vulnerability)", len(w.Args)+3, q.Names)
	w.Text.WriteString(` AND (s.group_id = $` + fmt.Sprint(len(w.Args)+2) + ` OR s.group_id = 0 AND ` + names + `)`)
	w.Args = append(w.Args, q.Group, arg)
	if !all {
		w.In("f.project_id", projects)
	}
	if !q.All {
		w.And(`f.state NOT IN (?, ?)`, int64(model.Fixed), int64(model.StateRemoved))
	}
	list, err := sqldb.Many(ctx, tx, scanImpact, `
		SELECT f.id, f.project_id, p.name, p.url, f.ref, f.source, f.state, l.triage_state, f.severity, f.transitivity,
		f.relevant_since,
			s.lockfile, s.ecosystem, s.package, s.version, b.body
		FROM finding_subject s
		JOIN finding f ON f.deployment_id = s.deployment_id AND f.id = s.finding_id
		JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
		JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id
		JOIN project p ON p.deployment_id = f.deployment_id AND p.id = f.project_id
		WHERE s.deployment_id = $1`+w.Text.String()+` ORDER BY f.id LIMIT $`+fmt.Sprint(len(w.Args)+2),
		append(w.Args, q.Limit+1)...)
	if err != nil {
		return nil, false, err
	}
	list, more := sqldb.Page(list, q.Limit)
	return list, more, nil
}

func scanImpact(r sqldb.Row) (i model.Impact, err error) {
	var body []byte
	if err = r.Scan(&i.FindingID, &i.ProjectID, &i.Project, &i.ProjectURL, &i.Ref, &i.Source, &i.State, &i.Triage,
		&i.Severity, &i.Transitivity, sqldb.Instant(&i.Since),
		&i.Lockfile, &i.Ecosystem, &i.Package, &i.Version, &body); err != nil {
		return i, err
	}
	var decoded struct {
		Fixes    []model.Fix           `json:"fix_recommendations"`
		Location model.WireLocation    `json:"location"`
		Found    model.FoundDependency `json:"found_dependency"`
	}
	if err = sqldb.DecodeStored(append(append([]byte{'{'}, body...), '}'), &decoded); err != nil {
		return i, fmt.Errorf("the body of finding %d: %w", i.FindingID, err)
	}
	i.Fixes, i.Line = decoded.Fixes, decoded.Location.Line
	if decoded.Found.LockfileLineURL != nil {
		i.LineURL = *decoded.Found.LockfileLineURL
	}
	return i, nil
}
