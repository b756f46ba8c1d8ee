package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// recordAccount stores the ids of the reported findings and the gaps of a scan.
func recordAccount(
	ctx context.Context, s Store, u *Upload, scanID int64, refused model.Refusals, reported []int64,
) error {
	slices.Sort(reported)
	a := model.ScanAccount{ScanID: scanID, Reported: slices.Compact(reported), Gaps: gaps(u, refused)}
	a.AllGaps = len(a.Gaps) + refused.MoreRefused
	return s.PutScanAccount(ctx, a)
}

// gaps lists the distinct gaps of an upload: skipped files and rules, unreadable lockfiles, and
// refused items of the report.
func gaps(u *Upload, refused model.Refusals) []model.ScanGap {
	var list []model.ScanGap
	covered, once := map[string]bool{}, map[model.ScanGap]bool{}
	for _, g := range u.Report.Gaps {
		if !once[g] {
			list = append(list, g)
		}
		once[g], covered[g.What] = true, true
	}
	for _, path := range u.Unread {
		list = append(list, model.ScanGap{Kind: model.GapLockfile, What: path, Why: "the scanner could not read it"})
		covered[path] = true
	}
	for _, r := range refused.Refused {
		kind := model.GapItem
		if slices.Contains(u.Report.Skipped, r.Item) { // the item is the file itself
			kind, covered[r.Item] = model.GapLockfile, true
		}
		list = append(list, model.ScanGap{Kind: kind, What: r.Item, Why: r.Reason})
	}
	for _, path := range slices.Concat(u.Report.Skipped, u.Report.Unresolved) {
		if !covered[path] {
			list = append(list, model.ScanGap{Kind: model.GapPath, What: path})
		}
	}
	return list
}
