package ingest

import (
	"context"

	"github.com/redoubt/redoubt"
)

// ApplyAll takes in all reports of one request, a scan for each (decisions §9),
// in one transaction: all or none. No two of them may share a source.
func ApplyAll(ctx context.Context, s Store, upload Upload, reports []*redoubt.Report) ([]Summary, error) {
	summaries := make([]Summary, 0, len(reports))
	for _, report := range reports {
		upload.Report = report
		summary, err := Apply(ctx, s, upload)
		if err != nil {
			return nil, err
		}
		summaries = append(summaries, summary)
	}
	return summaries, nil
}
