package ingest

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// maxScans limits the scans of one upload. Each takes about a millisecond of the transaction, which
// blocks other uploads.
const maxScans = 100

// ApplyAll imports all reports of one request in one transaction, with one scan for each source
// (docs/reference/scans.md). It releases the results of the reports, which must not be used
// afterwards.
func ApplyAll(ctx context.Context, s Store, ex Exceptions, upload Upload, reports []*model.Report) ([]Summary, error) {
	if len(reports) > maxScans {
		return nil, fmt.Errorf("the upload is %w: it would create %d scans; send at most %d at once",
			model.ErrTooLarge, len(reports), maxScans)
	}
	if upload.Whole {
		for _, report := range reports {
			for _, inventory := range report.Inventories {
				upload.named = append(upload.named, inventory.Lockfile)
			}
			upload.named = slices.Concat(upload.named, report.Skipped, report.Unresolved)
		}
	}
	if len(reports) != 1 {
		upload.Digest = model.Digest{} // the digest identifies the whole request, not one scan of several
	}
	summaries := make([]Summary, 0, len(reports))
	for _, report := range vexFirst(reports) {
		upload.Report, upload.Release = report, true
		summary, err := Apply(ctx, s, ex, upload)
		if err != nil {
			return nil, err
		}
		summaries = append(summaries, summary)
	}
	markDropped(summaries)
	return summaries, nil
}

// markDropped marks proposals that were dropped later in the same upload. Limits or another
// proposal of the same name are the cause. Receipts must only refer to stored documents.
func markDropped(summaries []Summary) {
	gone, own := map[int64]bool{}, map[int64]bool{}
	type scope struct{ name, ref string }
	last := map[scope]int64{}
	for _, s := range slices.Backward(summaries) {
		for k := range slices.Backward(s.VEX) {
			r := &s.VEX[k]
			for _, id := range r.Dropped {
				gone[id] = true
			}
			if r.Outcome == model.VEXOlder {
				continue
			}
			at, id := scope{r.Document.Name, r.Document.Ref}, r.Document.ID
			now, later := last[at]
			last[at] = id
			if r.Outcome == model.VEXProposed && (gone[id] || later && now != id) {
				own[id] = true
				r.Outcome, r.Document.ID = model.VEXDropped, 0
			}
		}
	}
	for _, s := range summaries {
		for k := range s.VEX {
			s.VEX[k].Dropped = slices.DeleteFunc(s.VEX[k].Dropped, func(id int64) bool { return own[id] })
		}
	}
}
