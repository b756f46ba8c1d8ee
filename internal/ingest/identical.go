package ingest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// IdenticalStore is what is asked of an upload that may have come before.
type IdenticalStore interface {
	Store
	// FindProjectForScan is ProjectForScan that creates none: redoubt.ErrNotFound instead.
	FindProjectForScan(ctx context.Context, globs redoubt.ProjectGlobs, p redoubt.Project) (redoubt.Project, error)
	// ScanOfUpload returns the newest applied scan of a ref whose upload had the digest, or
	// redoubt.ErrNotFound.
	ScanOfUpload(ctx context.Context, projectID int64, ref string, digest redoubt.Digest) (redoubt.Scan, error)
}

// Identical takes in an upload without its report, where Upload.Digest says that it is
// the one by which the newest applied scan of its project, ref and source was made. No
// finding changes: a scan is recorded that reports what that one did, and Upload.Before
// judges it by the policies of now. Where that does not hold it reports false and has
// written nothing: the report has to be read, for Apply.
func Identical(ctx context.Context, s IdenticalStore, u Upload) (sum Summary, ok bool, err error) {
	u.Report = &redoubt.Report{Tool: "unread"}
	if u.Digest == (redoubt.Digest{}) || u.check(s.Now()) != nil {
		return sum, false, nil // what is wrong is said once it is read
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
	seen, muted, err := stillOpen(ctx, s, scan, account.Reported)
	if err != nil || len(seen) != len(account.Reported) {
		return sum, false, err // somebody removed some of them, and the report has them
	}
	if u.Before != nil {
		if err := u.Before(ctx, project, scan, seen); err != nil {
			return sum, false, err
		}
	}
	sum = Summary{
		ProjectID: project.ID, Project: project.Name, Ref: scan.Ref, Source: scan.Source, Outcome: scan.Outcome,
		Repeat: true, Unchanged: len(seen) + muted, Counts: scan.Counts,
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

// scanAgain is the scan of an upload that came before with another one. A report that tells
// no start has a new one each time: such a scan starts when it is over.
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

// stillOpen reads those of findings that are unresolved on the scan's ref, as a report would
// have them, and counts what is muted in the code there, as a full one tells.
func stillOpen(ctx context.Context, s Store, scan redoubt.Scan, ids []int64) (seen []Sighting, muted int, err error) {
	rows, err := s.Findings(ctx, scan.ProjectID, scan.Ref, scan.Source)
	if err != nil {
		return nil, 0, err
	}
	result := &redoubt.Result{} // what the gate asks beside the rows, it reads itself
	seen = make([]Sighting, 0, len(ids))
	for i := range rows {
		switch _, reported := slices.BinarySearch(ids, rows[i].ID); {
		case rows[i].State == redoubt.Muted && scan.Full:
			muted++
		case reported && rows[i].State == redoubt.Unresolved:
			seen = append(seen, Sighting{Result: result, Finding: rows[i]})
		}
	}
	return seen, muted, nil
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

// keptDigest is what the scan of an upload keeps for Identical: Upload.Digest where all
// that the report says is in the findings that are stored of it. Of another report it is
// one that no upload has, so that each is read.
func (u *Upload) keptDigest(s Store, sum *Summary, scan redoubt.Scan, sightings []Sighting, inventories []redoubt.InventoryStatement) redoubt.Digest {
	proposed := func(s Sighting) bool { return s.Proposed }
	if u.Digest != (redoubt.Digest{}) && scan.Status == redoubt.ScanCompleted && sum.CountRefused() == 0 && sum.MorePlaces == 0 &&
		len(inventories) == 0 && len(u.Report.VEX) == 0 && sum.SkippedVulnerabilities == 0 && !slices.ContainsFunc(sightings, proposed) {
		return u.Digest
	}
	var d digester
	return d.start("upload that is read each time").num(s.Now().UnixMicro()).str(u.source(), u.Ref).sum()
}
