package policy

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// unseenBefore returns reported findings that are fixed on the primary branch, if neither
// the scan that fixed them nor the branch's last scan parsed everything. `semgrep ci` does
// not say in which file a syntax error was, so its scan fixes what the error hid.
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

// seenAt is a finding in its place.
type seenAt struct {
	identity model.Identity
	path     string
	line     int
	code     model.Digest
}

// isUnseen reports whether the primary branch had the finding at the same place, and may
// have closed it only because of a syntax error. It is not new, so it fails no build.
func (j *Judge) isUnseen(s *Sighting) bool {
	f := &s.Finding
	return j.unseen[seenAt{f.Identity, f.Path, f.Line, f.CodeHash}] || j.unseen[seenAt{s.told, f.Path, f.Line, f.CodeHash}]
}
