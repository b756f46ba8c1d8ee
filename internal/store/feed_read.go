package store

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
)

// What an index is fed of findings and lineages: not what only scans compare. The
// columns are read as the driver has them, since for a million of rows it is
// database/sql that takes the longest.

const fedFindingColumns = `id, issue_type, project_id, ref, lineage_id, rule_id, path, state, severity, confidence, reachability, transitivity, package, flags,
	validation_state, secret_type, created_at, relevant_since, state_updated_at, first_scan_id`

const fedLineageColumns = `id, project_id, triage_state, triage_reason, triage_comment, triaged_at, triage_until, assignee, annotations_json`

// plainRow reads rows of columns as the driver has them. The first value of another
// kind than its column's is what fault returns.
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

func (p *plainRow) scan(r row) error {
	p.next, p.err = 0, nil
	return r.Scan(p.into...)
}

func (p *plainRow) value() any {
	p.next++
	return p.values[p.next-1]
}

func (p *plainRow) fault(v any) {
	if p.err == nil {
		p.err = fmt.Errorf("column %d is kept as %T", p.next, v)
	}
}

// int reads a whole number; NULL is 0.
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

// time reads an instant; NULL is the zero time.
func (p *plainRow) time() time.Time {
	if p.values[p.next] == nil {
		p.next++
		return time.Time{}
	}
	return time.UnixMicro(p.int()).UTC()
}

func (p *plainRow) finding(f *redoubt.Finding) {
	f.ID, f.IssueType, f.ProjectID, f.Ref = p.int(), redoubt.IssueType(p.int()), p.int(), p.text()
	f.LineageID, f.RuleID, f.Path, f.State = p.int(), p.int(), p.text(), redoubt.State(p.int())
	f.Severity, f.Confidence = redoubt.Severity(p.int()), redoubt.Confidence(p.int())
	f.Reachability, f.Transitivity, f.Package = redoubt.Reachability(p.int()), redoubt.Transitivity(p.int()), p.text()
	bits := p.int()
	f.Malicious, f.ProOnly, f.Historical = bits&flagMalicious != 0, bits&flagProOnly != 0, bits&flagHistorical != 0
	f.SeenByFull = bits&flagSeenByFull != 0
	f.ValidationState, f.SecretType = redoubt.ValidationState(p.int()), p.text()
	f.CreatedAt, f.RelevantSince, f.StateUpdatedAt, f.FirstScanID = p.time(), p.time(), p.time(), p.int()
}

// noAnnotations is how those of most lineages are kept.
var noAnnotations = encoded(redoubt.Annotations{})

func (p *plainRow) lineage(l *redoubt.Lineage) {
	l.ID, l.ProjectID = p.int(), p.int()
	t := &l.Triage
	t.State, t.Reason, t.Comment = redoubt.TriageState(p.int()), redoubt.TriageReason(p.int()), p.text()
	t.At, t.Until, t.Assignee = p.time(), p.time(), p.text()
	if text := p.text(); text != noAnnotations && p.err == nil {
		p.err = decoded(&l.Annotations)(text)
	}
}

func scanFedFinding(p *plainRow, r row) (f redoubt.IndexedFinding, err error) {
	if err := p.scan(r); err != nil {
		return f, err
	}
	p.finding(&f.Finding)
	f.Body = p.bytes()
	return f, p.err
}

func scanFedLineage(p *plainRow, r row) (l redoubt.Lineage, err error) {
	if err := p.scan(r); err != nil {
		return l, err
	}
	p.lineage(&l)
	return l, p.err
}

// fedFindings and fedLineages begin what reads them. Bodies are read in the order of
// the findings.
var (
	fedFindings = `SELECT ` + qualified("f", fedFindingColumns) + `, b.body
		FROM finding f JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id WHERE f.deployment_id = $1 AND `
	fedLineages = `SELECT ` + fedLineageColumns + ` FROM lineage WHERE deployment_id = $1 AND `

	fedFindingFields = len(columnNames(fedFindingColumns)) + 1
	fedLineageFields = len(columnNames(fedLineageColumns))
)

// feedReaders is how many transactions read a whole feed at most.
const feedReaders = 4

// together runs fn with several transactions that see the same version of a
// deployment, and so the same of all that is fed: each commit that changes any of it
// makes another version. Where writers are too fast for that, or another feed has
// several, there is one.
func (s *Store) together(ctx context.Context, deploymentID int64, fn func(context.Context, []*Tx) error) error {
	n := min(feedReaders, runtime.GOMAXPROCS(0))
	if !s.wide.TryLock() {
		n = 1
	} else {
		defer s.wide.Unlock()
	}
	for range 5 {
		moved := false
		err := s.open(ctx, deploymentID, n, nil, func(ctx context.Context, all []*Tx) error {
			for _, tx := range all {
				moved = moved || tx.Version() != all[0].Version()
			}
			if moved {
				return nil
			}
			return fn(ctx, all)
		})
		if err != nil || !moved {
			return err
		}
	}
	return s.open(ctx, deploymentID, 1, nil, fn)
}

// open adds n transactions to those that are open.
func (s *Store) open(ctx context.Context, deploymentID int64, n int, before []*Tx, fn func(context.Context, []*Tx) error) error {
	if n == 0 {
		return fn(ctx, before)
	}
	return s.View(ctx, deploymentID, func(ctx context.Context, tx *Tx) error {
		return s.open(ctx, deploymentID, n-1, append(before, tx), fn)
	})
}

// feedPieces is how many parts a table is read in: several a reader, since ids of a
// deployment may lie anywhere between the first and the last.
const feedPieces = 16

// feedWide hands a table over in pieces that several transactions read side by side.
func feedWide(ctx context.Context, all []*Tx, table string, read func(ctx context.Context, tx *Tx, from, to int64) error) error {
	var first, last int64
	err := each(ctx, all[0], func(r row) error {
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
	return <-failed // the first, which the others gave up for; nil where there is none
}

// feedStream hands the rows of a query over as they come, in batches.
func feedStream[T any](ctx context.Context, tx *Tx, scan func(*plainRow, row) (T, error), fields int, batch func([]T) *redoubt.Batch, take func(*redoubt.Batch) error, query string, args ...any) error {
	p := newPlainRow(fields)
	list := make([]T, 0, feedBatch)
	hand := func() error {
		if len(list) == 0 {
			return nil
		}
		full := list
		list = make([]T, 0, feedBatch)
		return take(batch(full))
	}
	err := each(ctx, tx, func(r row) error {
		v, err := scan(p, r)
		if err != nil {
			return err
		}
		if list = append(list, v); len(list) == feedBatch {
			return hand()
		}
		return nil
	}, query, args...)
	if err != nil {
		return err
	}
	return hand()
}
