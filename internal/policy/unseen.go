package policy

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// unseenBefore returns reported findings that are fixed on the primary branch but may still exist
// there. Neither the scan that fixed them nor the branch's last scan parsed everything. `semgrep
// ci` does not report the file of a syntax error, so its scans close findings that the error hid.
func (j *Judge) unseenBefore(ctx context.Context, stream model.ScanStream) (map[seenAt]bool, error) {
	if stream.LastScanID == 0 {
		return nil, nil
	}
	part, err := j.s.ParsedInPart(ctx, []int64{stream.LastScanID})
	if err != nil || !part[stream.LastScanID] {
		return nil, err
	}
	var ids []model.Identity
	for i := range j.sightings {
		ids = append(ids, j.sightings[i].Finding.Identity)
	}
	fixed, err := j.s.FixedFindings(ctx, j.project, j.primary, j.scan.Source, ids)
	if err != nil {
		return nil, err
	}
	if part, err = j.s.ParsedInPart(ctx, slices.Collect(maps.Keys(fixed))); err != nil {
		return nil, err
	}
	unseen := map[seenAt]bool{}
	for scan, list := range fixed {
		for _, f := range list {
			if part[scan] {
				unseen[seenAt{f.Identity, f.Path, f.Line, f.CodeHash}] = true
			}
		}
	}
	return unseen, nil
}

// seenAt identifies a finding at a location.
type seenAt struct {
	identity model.Identity
	path     string
	line     int
	code     model.Digest
}

// isUnseen reports whether the finding is in unseen: the primary branch may have closed it only due
// to a syntax error. Such a finding is not new and does not fail the build.
func (j *Judge) isUnseen(s *Sighting) bool {
	f := &s.Finding
	return j.unseen[seenAt{f.Identity, f.Path, f.Line, f.CodeHash}] ||
		j.unseen[seenAt{s.reported, f.Path, f.Line, f.CodeHash}]
}
