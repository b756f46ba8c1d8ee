package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// vexFirst sorts VEX documents before the reports that they may refer to.
func vexFirst(reports []*model.Report) []*model.Report {
	sorted := slices.Clone(reports)
	slices.SortStableFunc(sorted, func(a, b *model.Report) int {
		switch {
		case a.OnlyVEX() == b.OnlyVEX():
			return 0
		case a.OnlyVEX():
			return -1
		}
		return 1
	})
	return sorted
}

// putVEX stores the VEX documents of the upload for its project.
func (a *application) putVEX(ctx context.Context) error {
	upload := model.VEXUpload{Project: a.project, Scan: a.scan, Report: a.upload.Report, Proposed: !a.upload.Decides}
	receipts, refused, err := a.exceptions.PutVEX(ctx, upload)
	if err != nil {
		return err
	}
	a.sum.RefuseAll(refused)
	if a.upload.Strict && refused.CountRefused() > 0 {
		return invalidItems(refused)
	}
	for _, r := range receipts {
		if r.Outcome == model.VEXProposed {
			a.upload.notDecided("VEX document " + r.Document.Name)
		}
		if len(a.upload.Report.VEX) > 0 || r.Outcome == model.VEXWithdrawn {
			a.sum.VEX = append(a.sum.VEX, r)
		}
	}
	return nil
}

// notDecided adds a gap to the scan for an item that the sender may only propose.
func (u *Upload) notDecided(what string) {
	u.Report.Gaps = append(u.Report.Gaps, model.ScanGap{
		Kind: model.GapItem,
		What: what,
		Why:  "only proposed: its token has no triage permission",
	})
}
