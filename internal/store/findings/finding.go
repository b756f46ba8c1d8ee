package findings

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Occurrence is a finding with its lineage and stored documents.
type Occurrence struct {
	model.Finding
	Lineage  model.Lineage
	Body     []byte // see model.Body
	Evidence []byte // JSON with code and data flow; may be empty
}

// FindingColumns are the columns of table finding, without deployment_id and version.
const FindingColumns = `id, issue_type, project_id, ref, source, identity_kind, identity_hash, lineage_id, rule_id,
	rule_name,
	path, line, code_hash, pattern_hash, edge_hash, content, state, severity, confidence, reachability, transitivity,
	package, flags,
	validation_state, secret_type, created_at, relevant_since, state_updated_at, first_scan_id`

// Bits of finding.flags. The numbers are stored: never change their meaning.
const (
	FlagMalicious = 1 << iota
	FlagProOnly
	FlagHistorical
	FlagSeenByFull
	flagPartial
	flagMissed
)

func findingFlags(f *model.Finding) (bits int64) {
	partial, missed := f.Coverage == model.CoveragePartial, f.Coverage == model.CoverageMissed
	unknown := f.Coverage == model.CoverageUnknown
	for i, set := range []bool{f.Malicious, f.ProOnly, f.Historical, f.SeenByFull, partial || unknown, missed || unknown} {
		if set {
			bits |= 1 << i
		}
	}
	return bits
}

func coverageOf(flags int64) model.Coverage {
	switch {
	case flags&flagMissed != 0 && flags&flagPartial != 0:
		return model.CoverageUnknown
	case flags&flagMissed != 0:
		return model.CoverageMissed
	case flags&flagPartial != 0:
		return model.CoveragePartial
	}
	return model.CoverageFull
}

// findingValues returns the values of FindingColumns.
func findingValues(f *model.Finding) []any {
	return []any{
		f.ID, int64(f.IssueType), f.ProjectID, f.Ref, f.Source,
		int64(f.Identity.Kind), f.Identity.Hash, f.LineageID, f.RuleID, f.RuleName,
		f.Path, f.Line, f.CodeHash, f.PatternHash, f.EdgeHash,
		f.Content, int64(f.State), int64(f.Severity), int64(f.Confidence),
		int64(f.Reachability), int64(f.Transitivity), f.Package, findingFlags(f),
		int64(f.ValidationState), f.SecretType, f.CreatedAt, f.RelevantSince, f.StateUpdatedAt, f.FirstScanID,
	}
}

// findingFields returns the destinations of FindingColumns.
func findingFields(f *model.Finding) []any {
	flags := sqldb.Scanner(func(src any) error {
		bits, ok := src.(int64)
		if !ok {
			return fmt.Errorf("flags are stored as %T", src)
		}
		f.Malicious, f.ProOnly = bits&FlagMalicious != 0, bits&FlagProOnly != 0
		f.Historical, f.SeenByFull = bits&FlagHistorical != 0, bits&FlagSeenByFull != 0
		f.Coverage = coverageOf(bits)
		return nil
	})
	return []any{
		&f.ID, &f.IssueType, &f.ProjectID, &f.Ref, &f.Source, &f.Identity.Kind,
		sqldb.Digest(&f.Identity.Hash), &f.LineageID, &f.RuleID, &f.RuleName,
		&f.Path, &f.Line, sqldb.Digest(&f.CodeHash), sqldb.Digest(&f.PatternHash),
		sqldb.Digest(&f.EdgeHash), sqldb.Digest(&f.Content), &f.State, &f.Severity, &f.Confidence,
		&f.Reachability, &f.Transitivity, &f.Package, flags,
		&f.ValidationState, &f.SecretType, sqldb.Instant(&f.CreatedAt),
		sqldb.Instant(&f.RelevantSince), sqldb.Instant(&f.StateUpdatedAt), &f.FirstScanID,
	}
}

// ScanFinding reads a finding from a row of FindingColumns.
func ScanFinding(r sqldb.Row) (f model.Finding, err error) { return f, r.Scan(findingFields(&f)...) }

// streamColumns are the FindingColumns that differ between findings of one (project, ref, source).
var streamColumns = strings.Replace(FindingColumns, "project_id, ref, source, ", "", 1)

// Findings returns all occurrences of (project, ref, source) by id, including removed and fixed
// ones. They are sorted here because SQLite would copy all columns to sort.
func (tx *Tx) Findings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error) {
	list := []model.Finding{}
	var f model.Finding // reused, since findingFields allocates a pointer per column
	fields := findingFields(&f)
	fields = slices.Delete(fields, 2, 5) // the columns of project, ref and source
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		f = model.Finding{ProjectID: projectID, Ref: sqldb.CleanText(ref), Source: sqldb.CleanText(source)}
		err := r.Scan(fields...)
		list = append(list, f)
		return err
	}, `SELECT `+streamColumns+` FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4`, projectID, ref, source)
	return byID(list), err
}

// byID sorts findings by id.
func byID(list []model.Finding) []model.Finding {
	order := make([]int, len(list)) // sorts indexes, because findings are large
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(list[a].ID, list[b].ID) })
	out := make([]model.Finding, len(list))
	for to, from := range order {
		out[to] = list[from]
	}
	return out
}

// CurrentLocations returns the locations of the unresolved and muted findings of a product and source, on
// all refs.
func (tx *Tx) CurrentLocations(
	ctx context.Context, product model.IssueType, source string,
) ([]model.FindingLocation, error) {
	return sqldb.Many(ctx, tx, func(r sqldb.Row) (p model.FindingLocation, err error) {
		return p, r.Scan(&p.FindingID, &p.ProjectID, &p.Path)
	},
		`SELECT id, project_id, path FROM finding WHERE deployment_id = $1 AND issue_type = $2 AND source = $3 AND state `+
			`IN ($4, $5) ORDER BY id`,
		int64(product), source, int64(model.Unresolved), int64(model.Muted))
}

// FindingsByID returns findings by id; unknown ids are skipped.
func (tx *Tx) FindingsByID(ctx context.Context, ids []int64) ([]model.Finding, error) {
	in, arg := tx.In("id", 2, ids)
	return sqldb.Many(
		ctx, tx, ScanFinding, `SELECT `+FindingColumns+` FROM finding WHERE deployment_id = $1 AND `+in+` ORDER BY id`, arg,
	)
}

// FindingBodies returns the bodies and evidence of findings by id.
func (tx *Tx) FindingBodies(ctx context.Context, ids []int64) (map[int64]model.FindingWrite, error) {
	in, arg := tx.In("finding_id", 2, ids)
	out := make(map[int64]model.FindingWrite, len(ids))
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var w model.FindingWrite
		err := r.Scan(&id, &w.Body, &w.Evidence)
		out[id] = w
		return err
	}, `SELECT finding_id, body, evidence_json FROM finding_body WHERE deployment_id = $1 AND `+in, arg)
}

// occurrenceSelect selects findings with their lineages and bodies.
var occurrenceSelect = `SELECT ` + sqldb.Qualified("f", FindingColumns) + `, ` + sqldb.Qualified("l", lineageColumns) +
	`, b.body, b.evidence_json
	FROM finding f
	JOIN lineage l ON l.deployment_id = f.deployment_id AND l.id = f.lineage_id
	JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
	WHERE f.deployment_id = $1`

func scanOccurrence(r sqldb.Row) (o Occurrence, err error) {
	fields := append(findingFields(&o.Finding), lineageFields(&o.Lineage)...)
	return o, r.Scan(append(fields, &o.Body, &o.Evidence)...)
}

// Finding returns an occurrence in any state. An unknown id is model.ErrNotFound.
func (tx *Tx) Finding(ctx context.Context, id int64) (Occurrence, error) {
	o, err := sqldb.One(ctx, tx, scanOccurrence, occurrenceSelect+` AND f.id = $2`, id)
	if err != nil {
		return o, fmt.Errorf("finding %d: %w", id, err)
	}
	return o, nil
}

// NewFindingIDs reserves n ids, which are sequential per deployment and fit uint32
// (docs/reference/addressing.md). If they are exhausted, it returns model.ErrTooLarge.
func (tx *Tx) NewFindingIDs(ctx context.Context, n int) ([]int64, error) {
	if n <= 0 {
		return nil, nil
	}
	tx.MarkWritten()
	next, err := sqldb.One(ctx, tx, sqldb.Scalar[int64],
		`UPDATE deployment SET next_finding_id = next_finding_id + $2 WHERE id = $1 RETURNING next_finding_id`, n)
	if err != nil {
		return nil, err
	}
	if next-1 > math.MaxUint32 {
		return nil, fmt.Errorf("%w: the deployment cannot store %d more findings", model.ErrTooLarge, n)
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = next - int64(n-i)
	}
	return ids, nil
}

// AddFindings stores new occurrences with reserved ids.
func (tx *Tx) AddFindings(ctx context.Context, findings []model.FindingWrite) error {
	tx.NotifyAdded(findings)
	return sqldb.InBatches(findings, func(part []model.FindingWrite) error { return tx.addFindings(ctx, part) })
}

func (tx *Tx) addFindings(ctx context.Context, findings []model.FindingWrite) error {
	if err := tx.writeFindings(ctx, findings, ""); err != nil {
		return fmt.Errorf("add findings: %w", err)
	}
	if err := tx.WriteSubjects(ctx, findings); err != nil {
		return fmt.Errorf("add findings: %w", err)
	}
	if err := tx.outdateSnippets(ctx, findings, nil); err != nil {
		return fmt.Errorf("add findings: %w", err)
	}
	return tx.writeBodies(ctx, findings)
}

// UpdateFindings updates changed findings, and their bodies unless nil. Unchanged rows are not
// written. An unknown id is model.ErrNotFound.
func (tx *Tx) UpdateFindings(ctx context.Context, findings []model.FindingWrite) error {
	stored, err := tx.findingsByID(ctx, findings)
	if err != nil {
		return err
	}
	var changed, withBody []model.FindingWrite
	var moved []int64
	for _, w := range findings {
		before, known := stored[w.ID]
		if !known {
			return fmt.Errorf("update finding %d: %w", w.ID, model.ErrNotFound)
		}
		if before.Identity != w.Identity {
			moved = append(moved, w.ID)
		}
		if w.Body != nil {
			withBody = append(withBody, w)
		}
		if before != w.Finding || w.Body != nil {
			changed = append(changed, w)
		}
		tx.NotifyReturned(before, w.Finding)
	}
	if err := tx.freeIdentities(ctx, moved); err != nil {
		return err
	}
	if err := tx.writeFindings(ctx, changed, updateFinding); err != nil {
		return fmt.Errorf("update findings: %w", err)
	}
	if err := tx.WriteSubjects(ctx, findings); err != nil {
		return fmt.Errorf("update findings: %w", err)
	}
	if err := tx.outdateSnippets(ctx, findings, stored); err != nil {
		return fmt.Errorf("update findings: %w", err)
	}
	return tx.writeBodies(ctx, withBody)
}

func (tx *Tx) findingsByID(ctx context.Context, findings []model.FindingWrite) (map[int64]model.Finding, error) {
	ids := model.Map(findings, func(w model.FindingWrite) int64 { return w.ID })
	in, arg := tx.In("id", 2, ids)
	stored := make(map[int64]model.Finding, len(ids))
	return stored, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		f, err := ScanFinding(r)
		stored[f.ID] = f
		return err
	}, `SELECT `+FindingColumns+` FROM finding WHERE deployment_id = $1 AND `+in, arg)
}

// freeIdentities releases the identities of findings before an update, so that two findings can
// swap theirs.
func (tx *Tx) freeIdentities(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	in, arg := tx.In("id", 2, ids)
	return tx.Write(ctx, `UPDATE finding SET identity_kind = -identity_kind WHERE deployment_id = $1 AND `+in, arg)
}

// updateFinding turns an insert with known ids into an update of the whole row.
var updateFinding = `ON CONFLICT (deployment_id, id) DO UPDATE SET ` + sqldb.Excluded(FindingColumns+`, version`, "id")

func (tx *Tx) writeFindings(ctx context.Context, findings []model.FindingWrite, conflict string) error {
	rows := make([][]any, len(findings))
	for i := range findings {
		rows[i] = append(findingValues(&findings[i].Finding), tx.NextVersion())
		tx.Change(sqldb.ChangeFinding, findings[i].ID)
	}
	return tx.Insert(ctx, `finding (deployment_id, `+FindingColumns+`, version)`, rows, conflict)
}

func (tx *Tx) writeBodies(ctx context.Context, findings []model.FindingWrite) error {
	rows := make([][]any, len(findings))
	for i, w := range findings {
		body := w.Body
		if body == nil {
			body = []byte{}
		}
		rows[i] = []any{w.ID, body, string(w.Evidence)}
	}
	err := tx.Insert(ctx, `finding_body (deployment_id, finding_id, body, evidence_json)`, rows,
		`ON CONFLICT (deployment_id, finding_id) DO UPDATE SET body = excluded.body, evidence_json = excluded.evidence_json`)
	if err != nil {
		return fmt.Errorf("write the bodies of findings: %w", err)
	}
	return nil
}
