package ingest

import (
	"context"
	"slices"
)

// ApplyAll takes in all that was read of one request, a scan for each source
// (semantics §9), in one transaction: all or none. The reading is used up.
func ApplyAll(ctx context.Context, s Store, ex Exemptions, upload Upload, reading Reading) ([]Summary, error) {
	reports, err := ResolveSecrets(ctx, s, reading)
	if err != nil {
		return nil, err
	}
	if upload.Whole {
		for _, report := range reports {
			for _, inventory := range report.Inventories {
				upload.named = append(upload.named, inventory.Lockfile)
			}
			upload.named = slices.Concat(upload.named, report.Skipped, report.Unresolved)
		}
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
	return summaries, nil
}
