package ingest

import (
	"encoding/binary"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestMemosAreBounded: a report of as many results as are remembered is, and one of one
// more leaves nothing but an empty memo in place of the last one.
func TestMemosAreBounded(t *testing.T) {
	results := make([]redoubt.Result, redoubt.MaxMemoResults+1)
	sightings := make([]Sighting, len(results))
	for i := range results {
		r := &results[i]
		r.Rule, r.Location.Line, r.Raw.Group, r.Raw.Size = eqeq, i+1, uint64(i), 1
		binary.LittleEndian.PutUint64(r.Raw.Digest[:], uint64(i+1))
		sightings[i].Result = r
	}
	of := func(n int) *redoubt.ReportMemo {
		u := Upload{Full: true, Report: &redoubt.Report{Context: redoubt.Digest{1}, Results: results[:n]}}
		return u.memo(sightings[:n])
	}
	if m := of(redoubt.MaxMemoResults); m == nil || len(m.Results) != redoubt.MaxMemoResults {
		t.Error("a report of as many results as may be is not remembered")
	}
	if m := of(redoubt.MaxMemoResults + 1); m == nil || len(m.Results) != 0 {
		t.Error("of a report of one result more there is a memo, or none that takes the place of the last one")
	}
}
