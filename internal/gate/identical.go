package gate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// IdenticalGate applies the policies to an identical upload.
type IdenticalGate interface {
	// Judged returns the rules and products whose findings Judge needs.
	Judged(ctx context.Context, project model.Project, ref string) (rules []string, products []model.IssueType, err error)
	Judge(ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting) error
}

// Identical records an upload without parsing its report if its digest equals that of the newest
// applied scan. That scan has the same project, ref and source. It changes no finding: the new scan
// has the findings of that scan, and the gate evaluates it by the current policies. Otherwise it
// returns false and has written nothing; the caller then parses the report and calls ingest.Apply.
func Identical(
	ctx context.Context, tx *store.Tx, gate IdenticalGate, u ingest.Upload,
) (sum ingest.Summary, ok bool, err error) {
	u.Report = &model.Report{Tool: "unread"}
	if u.Digest == (model.Digest{}) || u.Check(tx.Now()) != nil {
		return sum, false, nil //nolint:nilerr // Apply reports the error
	}
	before, project, err := findIdentical(ctx, tx, &u)
	if err != nil {
		return sum, false, ignoreNotFound(err)
	}
	stream, err := tx.Stream(ctx, project.ID, u.Ref, before.Source, u.Commit)
	if err != nil {
		return sum, false, err
	}
	scan := repeatedScan(&u, before, tx.Now())
	if stream.LastScanID != before.ID || ingest.OutcomeOf(scan, stream) != model.ScanApplied {
		return sum, false, nil
	}
	account, err := tx.ScanAccount(ctx, before.ID)
	if err != nil {
		return sum, false, ignoreNotFound(err)
	}
	seen, err := judgedOf(ctx, tx, gate, project, scan, account.Reported)
	if err != nil {
		return sum, false, err
	}
	if err := gate.Judge(ctx, project, scan, seen); err != nil {
		return sum, false, err
	}
	sum = ingest.Summary{
		ProjectID: project.ID, Project: project.Name, Ref: scan.Ref, Source: scan.Source, Outcome: scan.Outcome,
		Repeat: true, Unchanged: scan.Counts.Total() + scan.Muted, Counts: scan.Counts,
	}
	err = recordIdentical(ctx, tx, &u, scan, account, &sum)
	return sum, err == nil, err
}

func ignoreNotFound(err error) error {
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}

func findIdentical(ctx context.Context, tx *store.Tx, u *ingest.Upload) (model.Scan, model.Project, error) {
	project, err := tx.FindProjectForScan(ctx, u.Globs, u.Project)
	if err != nil {
		return model.Scan{}, project, err
	}
	before, err := tx.ScanOfUpload(ctx, project.ID, u.Ref, u.Digest)
	return before, project, err
}

// repeatedScan returns the scan of an upload that is identical to that of another scan. A report
// without a start time starts when it is uploaded.
func repeatedScan(u *ingest.Upload, before model.Scan, now time.Time) model.Scan {
	scan := before
	scan.ID, scan.RunID, scan.CompletedAt = 0, 0, now
	if u.Commit != "" {
		scan.Commit = u.Commit
	}
	switch {
	case !u.At.IsZero():
		scan.StartedAt, scan.CompletedAt = u.At, u.At
	case before.StartedAt.Equal(before.CompletedAt):
		scan.StartedAt = now
	}
	return scan
}

// judgedOf reads the findings among ids that the gate needs.
func judgedOf(
	ctx context.Context, tx *store.Tx, gate IdenticalGate,
	project model.Project, scan model.Scan, ids []int64,
) (seen []ingest.Sighting, err error) {
	rules, products, err := gate.Judged(ctx, project, scan.Ref)
	if err != nil || len(rules)+len(products) == 0 {
		return nil, err
	}
	rows, err := tx.UnresolvedOf(ctx, project.ID, scan.Ref, scan.Source, rules, products)
	result := &model.Result{} // the gate reads the rest from the store
	for i := range rows {
		if _, reported := slices.BinarySearch(ids, rows[i].ID); reported {
			seen = append(seen, ingest.Sighting{Result: result, Finding: rows[i]})
		}
	}
	slices.SortFunc(seen, func(a, b ingest.Sighting) int { // as Observe does
		x, y := &a.Finding, &b.Finding
		return cmp.Or(strings.Compare(x.Path, y.Path), cmp.Compare(x.Line, y.Line), strings.Compare(x.RuleName, y.RuleName))
	})
	return seen, err
}

func recordIdentical(
	ctx context.Context, tx *store.Tx, u *ingest.Upload, scan model.Scan,
	account model.ScanAccount, sum *ingest.Summary,
) error {
	project, err := tx.UpdateProjectByScan(ctx, u.Globs, scan.ProjectID, u.Project)
	if err != nil {
		return err
	}
	sum.Project = project.Name
	if sum.ScanID, err = tx.AddScan(ctx, scan); err != nil {
		return err
	}
	account.ScanID = sum.ScanID
	if err := tx.PutScanAccount(ctx, account); err != nil {
		return err
	}
	branchScanned := scan.Full && strings.HasPrefix(scan.Ref, "refs/heads/")
	return tx.ScanApplied(ctx, scan.ProjectID, scan.Ref, branchScanned, scan.StartedAt)
}
