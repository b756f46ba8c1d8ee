package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// IdenticalStore is the storage that Identical needs.
type IdenticalStore interface {
	Store
	// FindProjectForScan is ProjectForScan that creates none: redoubt.ErrNotFound instead.
	FindProjectForScan(ctx context.Context, globs redoubt.ProjectGlobs, p redoubt.Project) (redoubt.Project, error)
	// ScanOfUpload returns the newest applied scan of a ref whose upload had the digest, or
	// redoubt.ErrNotFound.
	ScanOfUpload(ctx context.Context, projectID int64, ref string, digest redoubt.Digest) (redoubt.Scan, error)
	// UnresolvedOf reads the unresolved findings of (project, ref, source) that are of some
	// rules, or of some products.
	UnresolvedOf(ctx context.Context, projectID int64, ref, source string, rules []string, products []redoubt.IssueType) ([]redoubt.Finding, error)
}

// IdenticalGate applies the policies to an identical upload.
type IdenticalGate interface {
	// Judged returns the rules and products whose findings Judge needs.
	Judged(ctx context.Context, project redoubt.Project, ref string) (rules []string, products []redoubt.IssueType, err error)
	Judge(ctx context.Context, project redoubt.Project, scan redoubt.Scan, seen []Sighting) error
}

// Identical records an upload without its report if Upload.Digest equals the digest of the
// newest applied scan of its project, ref and source. It changes no finding: the new scan has
// the findings of that scan, and the gate judges it by the current policies. Otherwise it
// returns false and has written nothing; the caller then parses the report and calls Apply.
func Identical(ctx context.Context, s IdenticalStore, gate IdenticalGate, u Upload) (sum Summary, ok bool, err error) {
	u.Report = &redoubt.Report{Tool: "unread"}
	if u.Digest == (redoubt.Digest{}) || u.check(s.Now()) != nil {
		return sum, false, nil //nolint:nilerr // Apply reports the error
	}
	before, project, err := findIdentical(ctx, s, &u)
	if err != nil {
		return sum, false, ignoreNotFound(err)
	}
	stream, err := s.Stream(ctx, project.ID, u.Ref, before.Source, u.Commit)
	if err != nil {
		return sum, false, err
	}
	scan := u.scanAgain(before, s)
	if stream.LastScanID != before.ID || OutcomeOf(scan, stream) != redoubt.ScanApplied {
		return sum, false, nil
	}
	account, err := s.ScanAccount(ctx, before.ID)
	if err != nil {
		return sum, false, ignoreNotFound(err)
	}
	seen, err := judgedOf(ctx, s, gate, project, scan, account.Reported)
	if err != nil {
		return sum, false, err
	}
	if err := gate.Judge(ctx, project, scan, seen); err != nil {
		return sum, false, err
	}
	sum = Summary{
		ProjectID: project.ID, Project: project.Name, Ref: scan.Ref, Source: scan.Source, Outcome: scan.Outcome,
		Repeat: true, Unchanged: scan.Counts.Total() + scan.Muted, Counts: scan.Counts,
	}
	err = recordIdentical(ctx, s, &u, scan, account, &sum)
	return sum, err == nil, err
}

func ignoreNotFound(err error) error {
	if errors.Is(err, redoubt.ErrNotFound) {
		return nil
	}
	return err
}

func findIdentical(ctx context.Context, s IdenticalStore, u *Upload) (redoubt.Scan, redoubt.Project, error) {
	project, err := s.FindProjectForScan(ctx, u.Globs, u.Project)
	if err != nil {
		return redoubt.Scan{}, project, err
	}
	before, err := s.ScanOfUpload(ctx, project.ID, u.Ref, u.Digest)
	return before, project, err
}

// scanAgain returns the scan of an upload that is identical to that of another scan. A report
// without a start time starts when it is uploaded.
func (u *Upload) scanAgain(before redoubt.Scan, s Store) redoubt.Scan {
	scan, now := before, s.Now()
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
func judgedOf(ctx context.Context, s IdenticalStore, gate IdenticalGate, project redoubt.Project, scan redoubt.Scan, ids []int64) (seen []Sighting, err error) {
	rules, products, err := gate.Judged(ctx, project, scan.Ref)
	if err != nil || len(rules)+len(products) == 0 {
		return nil, err
	}
	rows, err := s.UnresolvedOf(ctx, project.ID, scan.Ref, scan.Source, rules, products)
	result := &redoubt.Result{} // the gate reads the rest from the store
	for i := range rows {
		if _, reported := slices.BinarySearch(ids, rows[i].ID); reported {
			seen = append(seen, Sighting{Result: result, Finding: rows[i]})
		}
	}
	slices.SortFunc(seen, func(a, b Sighting) int { // as Observe does
		return cmp.Or(strings.Compare(a.Finding.Path, b.Finding.Path), cmp.Compare(a.Finding.Line, b.Finding.Line), strings.Compare(a.Finding.RuleName, b.Finding.RuleName))
	})
	return seen, err
}

func recordIdentical(ctx context.Context, s Store, u *Upload, scan redoubt.Scan, account redoubt.ScanAccount, sum *Summary) error {
	project, err := s.UpdateProjectByScan(ctx, u.Globs, scan.ProjectID, u.Project)
	if err != nil {
		return err
	}
	sum.Project = project.Name
	if sum.ScanID, err = s.AddScan(ctx, scan); err != nil {
		return err
	}
	account.ScanID = sum.ScanID
	if err := s.PutScanAccount(ctx, account); err != nil {
		return err
	}
	return s.ScanApplied(ctx, scan.ProjectID, scan.Ref, scan.Full && strings.HasPrefix(scan.Ref, "refs/heads/"), scan.StartedAt)
}

// keptDigest returns the digest that a scan stores for Identical: Upload.Digest if the stored
// findings contain everything the report says. Otherwise it returns a digest that no upload
// has, so the same report is parsed each time.
func (u *Upload) keptDigest(s Store, sum *Summary, scan redoubt.Scan, sightings []Sighting, inventories []redoubt.InventoryStatement) redoubt.Digest {
	proposed := func(s Sighting) bool { return s.Proposed }
	if u.Digest != (redoubt.Digest{}) && scan.Status == redoubt.ScanCompleted && sum.CountRefused() == 0 && sum.MorePlaces == 0 &&
		len(inventories) == 0 && len(u.Report.VEX) == 0 && sum.SkippedVulnerabilities == 0 && !slices.ContainsFunc(sightings, proposed) {
		return u.Digest
	}
	var d digester
	return d.start("upload that is read each time").num(s.Now().UnixMicro()).str(u.source(), u.Ref).sum()
}
