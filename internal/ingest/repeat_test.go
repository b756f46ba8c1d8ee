package ingest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestARepeatIsToldTheSame: a report that tells nothing of its code names findings by their
// numbers. Who sends it again is told as what they are stored, as the first time, and
// nothing else happens.
func TestARepeatIsToldTheSame(t *testing.T) {
	m := newMemory()
	send := func(told bool) Summary {
		calls := callsOf("ab")
		r := blindReport(t, calls)
		for i := range r.Results {
			if told {
				r.Results[i].Code, r.Results[i].CodeHash = calls[i], calls[i]
			}
		}
		return apply(t, m, Upload{Project: redoubt.Project{Name: "acme/payments"}, Ref: "main", Full: true, Report: r})
	}
	send(true)
	first := send(false) // which is what was told
	rows := len(m.rows)
	again := send(false)
	if first.Repeat || !again.Repeat || again.ScanID != first.ScanID || again.Unchanged != 2 || again.Outcome != redoubt.ScanApplied || len(m.rows) != rows {
		t.Errorf("the first time %+v\nand the second %+v", first, again)
	}
	stored := func(s Summary) (out []redoubt.Digest) {
		for _, is := range s.Became {
			out = append(out, is.CodeHash)
		}
		slices.SortFunc(out, func(a, b redoubt.Digest) int { return bytes.Compare(a[:], b[:]) })
		return out
	}
	if told := stored(first); len(told) != 2 || !slices.Equal(told, stored(again)) {
		t.Errorf("as what they are stored: the first time %v, and the second %v", told, stored(again))
	}
}
