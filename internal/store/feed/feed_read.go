package feed

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// fedFindingColumns are the columns of findings that the index uses, without those that only scans
// compare. Values are read as the driver returns them, because conversions in database/sql dominate
// the time for a million rows.

const fedFindingColumns = `id, project_id, ref, lineage_id, rule_id, path, package, secret_type, created_at, ` +
	`relevant_since, state_updated_at, first_scan_id`

// fedFindingSmall contains small numbers, packed four in a column. With SQLite, reading a column
// takes as long as ten of these sums.
var fedFindingSmall = together("f.issue_type", "f.state", "f.severity", "f.confidence") + ", " +
	together("f.reachability", "f.transitivity", "f.flags", "f.validation_state")

// smallLimit is greater than any SMALLINT.
const smallLimit = 1 << 15

// together returns an expression that packs four nonnegative numbers.
func together(a, b, c, d string) string {
	return fmt.Sprintf("%s + %d * (%s + %d * (%s + %d * CAST(%s AS BIGINT)))",
		a, smallLimit, b, smallLimit, c, smallLimit, d)
}

const fedLineageColumns = `id, project_id, triage_state, triage_reason, triage_comment, triaged_at, triage_until, ` +
	`assignee, stops, annotations_json`

// plainRow reads rows as the driver returns them. err is set by fault for the first value with an
// unexpected type.
type plainRow struct {
	values []any
	into   []any
	next   int
	err    error
}

func newPlainRow(columns int) *plainRow {
	p := &plainRow{values: make([]any, columns), into: make([]any, columns)}
	for i := range p.values {
		p.into[i] = &p.values[i]
	}
	return p
}

func (p *plainRow) scan(r sqldb.Row) error {
	p.next, p.err = 0, nil
	return r.Scan(p.into...)
}

func (p *plainRow) value() any {
	p.next++
	return p.values[p.next-1]
}

func (p *plainRow) fault(v any) {
	if p.err == nil {
		p.err = sqldb.Undecoded(fmt.Errorf("column %d is stored as %T", p.next, v))
	}
}

// int reads an integer; NULL is 0.
func (p *plainRow) int() int64 {
	switch v := p.value().(type) {
	case int64:
		return v
	case nil:
		return 0
	default:
		p.fault(v)
		return 0
	}
}

func (p *plainRow) text() string {
	switch v := p.value().(type) {
	case string:
		return v
	case []byte:
		return string(v)
	default:
		p.fault(v)
		return ""
	}
}

func (p *plainRow) bytes() []byte {
	switch v := p.value().(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	default:
		p.fault(v)
		return nil
	}
}

// time reads a time; NULL is the zero time.
func (p *plainRow) time() time.Time {
	if p.values[p.next] == nil {
		p.next++
		return time.Time{}
	}
	return time.UnixMicro(p.int()).UTC()
}

// four reads the numbers packed by together.
func (p *plainRow) four() (a, b, c, d uint16) {
	v := p.int()
	return uint16(v % smallLimit), uint16(v / smallLimit % smallLimit), uint16(v / (smallLimit * smallLimit) % smallLimit),
		uint16(v / (smallLimit * smallLimit * smallLimit))
}

func (p *plainRow) finding(f *model.Finding) {
	issueType, state, severity, confidence := p.four()
	f.IssueType, f.State = model.IssueType(issueType), model.State(state)
	f.Severity, f.Confidence = model.Severity(severity), model.Confidence(confidence)
	reachability, transitivity, bits, validation := p.four()
	f.Reachability, f.Transitivity = model.Reachability(reachability), model.Transitivity(transitivity)
	f.ValidationState = model.ValidationState(validation)
	f.Malicious, f.ProOnly, f.Historical = bits&findings.FlagMalicious != 0, bits&findings.FlagProOnly !=
		0, bits&findings.FlagHistorical != 0
	f.SeenByFull = bits&findings.FlagSeenByFull != 0
	f.ID, f.ProjectID, f.Ref, f.LineageID, f.RuleID = p.int(), p.int(), p.text(), p.int(), p.int()
	f.Path, f.Package, f.SecretType = p.text(), p.text(), p.text()
	f.CreatedAt, f.RelevantSince, f.StateUpdatedAt, f.FirstScanID = p.time(), p.time(), p.time(), p.int()
}

// noAnnotations is the stored form of empty annotations, which most lineages have.
var noAnnotations = sqldb.Encoded(model.Annotations{})

// untouched is the condition for lineages without decision and annotations, as most are. Their
// columns are constant. $4 is the state and $5 are the annotations.
const untouched = `triage_state = $4 AND annotations_json = $5 AND triage_reason = 0 AND triaged_at IS NULL
	AND triage_until IS NULL
	AND triage_comment = '' AND assignee = '' AND stops = ''`

const untouchedLineages = `SELECT id, project_id FROM lineage WHERE deployment_id = $1 AND id >= $2 AND id < $3 AND `

func scanUntouched(p *plainRow, r sqldb.Row) (l model.Lineage, err error) {
	if err := p.scan(r); err != nil {
		return l, err
	}
	l.ID, l.ProjectID = p.int(), p.int()
	l.Triage.State = model.TriageUntriaged
	return l, p.err
}

// feedLineagesWide reads the lineages with ids in [from, to), untouched ones first.
func feedLineagesWide(ctx context.Context, tx *Tx, from, to int64, emit func(*model.Batch) error) error {
	batch := func(list []model.Lineage) *model.Batch { return &model.Batch{Lineages: list} }
	args := []any{from, to, int64(model.TriageUntriaged), noAnnotations}
	if err := feedStream(ctx, tx, scanUntouched, 2, batch, emit, untouchedLineages+untouched+` ORDER BY id`,
		args...); err != nil {
		return err
	}
	return feedStream(ctx, tx, scanFedLineage, fedLineageFields, batch, emit,
		fedLineages+`id >= $2 AND id < $3 AND NOT (`+untouched+`) ORDER BY id`, args...)
}

func (p *plainRow) lineage(l *model.Lineage) {
	l.ID, l.ProjectID = p.int(), p.int()
	t := &l.Triage
	t.State, t.Reason, t.Comment = model.TriageState(p.int()), model.TriageReason(p.int()), p.text()
	t.At, t.Until, t.Assignee = p.time(), p.time(), p.text()
	l.Stops = model.ClockPauses(p.text())
	if text := p.text(); text != noAnnotations && p.err == nil {
		p.err = sqldb.DecodeStored([]byte(text), &l.Annotations)
	}
}

func scanFedFinding(p *plainRow, r sqldb.Row) (f model.IndexedFinding, err error) {
	if err := p.scan(r); err != nil {
		return f, err
	}
	p.finding(&f.Finding)
	f.Body = p.bytes()
	return f, p.err
}

func scanFedLineage(p *plainRow, r sqldb.Row) (l model.Lineage, err error) {
	if err := p.scan(r); err != nil {
		return l, err
	}
	p.lineage(&l)
	return l, p.err
}

// fedFindings and fedLineages are the starts of queries. Bodies are read in the order of the
// findings.
var (
	fedFindings = `SELECT ` + fedFindingSmall + `, ` + sqldb.Qualified("f", fedFindingColumns) + `, b.body
		FROM finding f JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
		WHERE f.deployment_id = $1 AND `
	fedLineages = `SELECT ` + fedLineageColumns + ` FROM lineage WHERE deployment_id = $1 AND `

	fedFindingFields = 2 + len(sqldb.ColumnNames(fedFindingColumns)) + 1
	fedLineageFields = len(sqldb.ColumnNames(fedLineageColumns))
)

// feedPieces is the number of parts in which a table is read. It exceeds the number of readers,
// since a deployment's ids may be unevenly distributed.
const feedPieces = 16

// feedWide splits a table by id and reads the parts concurrently with several transactions.
func feedWide(
	ctx context.Context, all []*Tx, table string, read func(ctx context.Context, tx *Tx, from, to int64) error,
) error {
	var first, last int64
	err := sqldb.Each(ctx, all[0], func(r sqldb.Row) error {
		p := newPlainRow(2)
		err := p.scan(r)
		first, last = p.int(), p.int()
		return err
	}, `SELECT MIN(id), MAX(id) FROM `+table+` WHERE deployment_id = $1`)
	if err != nil || last == 0 {
		return err
	}
	step := (last-first)/feedPieces + 1
	pieces := make(chan int64, feedPieces)
	for from := first; from <= last; from += step {
		pieces <- from
	}
	close(pieces)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var readers sync.WaitGroup
	failed := make(chan error, len(all))
	for _, tx := range all {
		readers.Go(func() {
			for from := range pieces {
				if err := read(ctx, tx, from, from+step); err != nil {
					failed <- err
					stop(err)
					return
				}
			}
		})
	}
	readers.Wait()
	close(failed)
	return <-failed // the first error, which canceled the others, or nil
}

// feedStream reads the rows of a query and passes them on in batches.
func feedStream[T any](
	ctx context.Context, tx *Tx, scan func(*plainRow, sqldb.Row) (T, error), fields int, batch func([]T) *model.Batch,
	emit func(*model.Batch) error, query string, args ...any,
) error {
	p := newPlainRow(fields)
	list := make([]T, 0, sqldb.FeedBatch)
	flush := func() error {
		if len(list) == 0 {
			return nil
		}
		full := list
		list = make([]T, 0, sqldb.FeedBatch)
		return emit(batch(full))
	}
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		v, err := scan(p, r)
		if err != nil {
			return err
		}
		if list = append(list, v); len(list) == sqldb.FeedBatch {
			return flush()
		}
		return nil
	}, query, args...)
	if err != nil {
		return err
	}
	return flush()
}
