package ingest

import "github.com/redoubt/redoubt/internal/model"

// OutcomeOf decides whether a scan counts (docs/reference/scans.md): a re-run of a
// commit that others followed is superseded, one that started before the newest
// applied full scan is late, and a diff scan before the newest applied diff scan
// too. They are recorded and change nothing.
func OutcomeOf(scan model.Scan, stream model.ScanStream) model.ScanOutcome {
	switch {
	case stream.Superseded && scan.Commit != "":
		return model.ScanSuperseded
	case scan.StartedAt.Before(stream.LastFullStart), !scan.Full && scan.StartedAt.Before(stream.LastDiffStart):
		return model.ScanLate
	}
	return model.ScanApplied
}
