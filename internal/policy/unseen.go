package policy

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// unseenBefore finds what the primary branch has fixed and the scan sees, where neither
// the scan that fixed it nor the last one could parse all: `semgrep ci` calls fixed what
// it did not see for an error of syntax, and does not say in which file that is.
func (j *Judge) unseenBefore(ctx context.Context, stream redoubt.ScanStream) ([]redoubt.Finding, error) {
	if stream.LastScanID == 0 {
		return nil, nil
	}
	part, err := j.s.ParsedInPart(ctx, []int64{stream.LastScanID})
	if err != nil || !part[stream.LastScanID] {
		return nil, err
	}
	var ids []redoubt.Identity
	for _, list := range [][]Sighting{j.sightings, j.others} {
		for i := range list {
			ids = append(ids, list[i].Finding.Identity)
		}
	}
	fixed, err := j.s.FixedFindings(ctx, j.project, j.primary, j.scan.Source, ids)
	if err != nil {
		return nil, err
	}
	if part, err = j.s.ParsedInPart(ctx, slices.Collect(maps.Keys(fixed))); err != nil {
		return nil, err
	}
	var unseen []redoubt.Finding
	for scan, list := range fixed {
		if part[scan] {
			unseen = append(unseen, list...)
		}
	}
	return unseen, nil
}

// isUnseen reports whether the primary branch had the finding in the very place, and may
// have lost it for an error of syntax alone. It is no news, so it fails no build.
func (j *Judge) isUnseen(s *Sighting) bool {
	of := &s.Finding
	return slices.ContainsFunc(j.unseen, func(f redoubt.Finding) bool {
		return (f.Identity == of.Identity || f.Identity == s.told) && f.Path == of.Path && f.Line == of.Line && f.CodeHash == of.CodeHash
	})
}
