package ingest

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// maxScans bounds the scans of one upload, each of which takes about a millisecond of
// the transaction that other uploads wait for.
const maxScans = 100

// ApplyAll takes in all that was read of one request, a scan for each source
// (docs/reference/scans.md), in one transaction: all or none. The reports are used up.
func ApplyAll(ctx context.Context, s Store, ex Exceptions, upload Upload, reports []*model.Report) ([]Summary, error) {
	if len(reports) > maxScans {
		return nil, fmt.Errorf("the upload is %w: it would make %d scans; send at most %d at once",
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
		upload.Digest = model.Digest{} // a scan of several knows nothing of the others
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
	tellDropped(summaries)
	return summaries, nil
}

// tellDropped says of proposals that are gone by the end of their own upload, for
// room or for another of their name, that they are: no receipt names what is not held.
func tellDropped(summaries []Summary) {
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
