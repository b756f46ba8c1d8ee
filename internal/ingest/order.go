package ingest

import "github.com/redoubt/redoubt/internal/model"

// OutcomeOf returns whether a scan is applied (docs/reference/scans.md). A rerun of a commit with
// later scans is superseded. A scan is late if it started before the newest applied full scan, or,
// for a diff scan, before the newest applied diff scan. Superseded and late scans are recorded and
// change no findings.
func OutcomeOf(scan model.Scan, stream model.ScanStream) model.ScanOutcome {
	switch {
	case stream.Superseded && scan.Commit != "":
		return model.ScanSuperseded
	case scan.StartedAt.Before(stream.LastFullStart), !scan.Full && scan.StartedAt.Before(stream.LastDiffStart):
		return model.ScanLate
	}
	return model.ScanApplied
}
