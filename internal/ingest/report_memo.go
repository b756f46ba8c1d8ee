package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// ErrStaleMemo says that results which a memo knows are not as it says, or would change
// what is stored: the transaction has to be given up, and the report read without it.
var ErrStaleMemo = errors.New("the memo of the last report does not hold")

// MemoStore keeps how reports were read.
type MemoStore interface {
	ReportMemo(ctx context.Context, project, ref, source string) (*redoubt.ReportMemo, error)
}

// MemoOf reads what is kept of the last full report of the tool whose reports are
// remembered; nil for nothing. The names are those of the upload to come.
func MemoOf(ctx context.Context, s MemoStore, project, ref, category string) (*redoubt.ReportMemo, error) {
	if redoubt.CheckProjectName(project) != nil || redoubt.CheckRef(ref) != nil || redoubt.CheckRef(category) != nil {
		return nil, nil //nolint:nilerr // which the upload is refused for
	}
	u := Upload{Category: category, Report: &redoubt.Report{Tool: "semgrep"}}
	return s.ReportMemo(ctx, project, redoubt.FullRef(ref), u.source())
}

// WithMemo has an upload taken in that was read by a memo, and where that does not hold
// once more without it.
func WithMemo[R Reading](clean func() R, forget func() error, take func(R) error) error {
	cleaned, err := clean(), ErrStaleMemo
	if !cleaned.Stale() {
		err = take(cleaned)
	}
	if !errors.Is(err, ErrStaleMemo) {
		return err
	}
	if err := forget(); err != nil {
		return err
	}
	return take(clean())
}

// stored are the findings of the source on the ref.
func (u *Upload) stored(ctx context.Context, s Store, projectID int64) ([]redoubt.Finding, error) {
	if u.rows != nil {
		return u.rows, nil
	}
	return s.Findings(ctx, projectID, u.Ref, u.source())
}

// addKnown adds the results that a memo knows, as their findings are stored. A finding
// of another content is not what the memo says, and one of the same content was made of
// an equal result. Plan holds that none of them changes anything.
func (u *Upload) addKnown(ctx context.Context, s Store, project redoubt.Project, sightings []Sighting) (_ []Sighting, err error) {
	if len(u.Report.Known) == 0 {
		return sightings, nil
	}
	if u.rows, err = s.Findings(ctx, project.ID, u.Ref, u.source()); err != nil {
		return nil, err
	}
	rows := make(map[redoubt.Identity]*redoubt.Finding, len(u.rows))
	for i := range u.rows {
		rows[u.rows[i].Identity] = &u.rows[i]
	}
	read := make(map[redoubt.Identity]bool, len(sightings))
	for i := range sightings {
		read[sightings[i].Finding.Identity] = true
	}
	links := NewLinks(cmp.Or(u.Project.URL, project.URL), u.Commit, u.Ref)
	results, known := make([]redoubt.Result, len(u.Report.Known)), make([]Sighting, len(u.Report.Known))
	for i := range u.Report.Known {
		k := &u.Report.Known[i]
		row := rows[k.Identity]
		// Two groups of results that come to number one another are to be read.
		if row == nil || read[k.Identity] || row.Content != links.content(k.Content) {
			return nil, ErrStaleMemo
		}
		results[i] = redoubt.Result{Raw: k.Raw, Rule: k.Rule, Path: row.Path, Location: k.Location, Muted: k.Muted}
		known[i] = Sighting{Result: &results[i], Finding: asReported(*row, k), known: true}
	}
	return inPosition(sightings, known), nil
}

// inPosition puts together what was read and what was known, each in the order of
// Observe.
func inPosition(a, b []Sighting) []Sighting {
	if len(a) == 0 {
		return b
	}
	out := make([]Sighting, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		next := &b
		if byPosition(digestedResult{Result: a[0].Result}, digestedResult{Result: b[0].Result}) < 0 {
			next = &a
		}
		out, *next = append(out, (*next)[0]), (*next)[1:]
	}
	return append(append(out, a...), b...)
}

// asReported is a stored finding with the members alone that the scanner decides.
func asReported(f redoubt.Finding, k *redoubt.KnownResult) redoubt.Finding {
	f.ID, f.ProjectID, f.Ref, f.Source, f.LineageID, f.RuleID, f.FirstScanID = 0, 0, "", "", 0, 0, 0
	f.CreatedAt, f.RelevantSince, f.StateUpdatedAt, f.SeenByFull = time.Time{}, time.Time{}, time.Time{}, false
	if f.Content, f.State = k.Content, redoubt.Unresolved; k.Muted {
		f.State = redoubt.Muted
	}
	return f
}

// memo is what the next full report of the source may know of this one; nil for none,
// or where that is kept already. Of one that is too large the next knows nothing.
func (u *Upload) memo(sightings []Sighting) *redoubt.ReportMemo {
	r := u.Report
	if !u.Full || r.Context == (redoubt.Digest{}) {
		return nil
	}
	unfit := unfitGroups(r.Results, sightings)
	m := &redoubt.ReportMemo{Context: r.Context, Results: make([]redoubt.ReadResult, 0, len(sightings))}
	for i := range sightings {
		if s := &sightings[i]; !unfit[s.Result.Raw.Group] {
			m.Results = append(m.Results, redoubt.ReadResult{
				Raw: s.Result.Raw, Identity: s.Finding.Identity, Content: s.Finding.Content,
				Location: s.Result.Location, Muted: s.Finding.State == redoubt.Muted,
			})
		}
	}
	if len(m.Results) > redoubt.MaxMemoResults {
		m.Results = nil
	}
	if r.Memo != nil && r.Memo.Context == m.Context && slices.Equal(r.Memo.Results, m.Results) {
		return nil
	}
	return m
}

// unfitGroups are those of results of which one has to be read each time, or is no
// finding of its own, or whose order or number is for others to say.
func unfitGroups(results []redoubt.Result, sightings []Sighting) map[uint64]bool {
	unfit, left := map[uint64]bool{}, map[uint64]int{}
	formulas := map[string]uint64{}
	for i := range results {
		r := &results[i]
		group := r.Raw.Group
		left[group]++
		if r.Raw.Digest == (redoubt.Digest{}) {
			unfit[group] = true
		}
		if r.MatchBasedID == "" {
			continue
		}
		formula := redoubt.FormulaGroup(r.MatchBasedID)
		if other, told := formulas[formula]; told && other != group {
			unfit[group], unfit[other] = true, true
		}
		formulas[formula] = group
	}
	for i := range sightings {
		s := &sightings[i]
		if !s.known {
			left[s.Result.Raw.Group]--
		}
		if s.blind || i > 0 && samePlace(s.Result, sightings[i-1].Result) {
			unfit[s.Result.Raw.Group] = true
		}
	}
	for group, n := range left {
		if n != 0 {
			unfit[group] = true
		}
	}
	return unfit
}

// samePlace reports whether only what two results say tells them apart.
func samePlace(a, b *redoubt.Result) bool {
	return a.Path == b.Path && a.Location == b.Location && a.Rule.Name == b.Rule.Name
}
