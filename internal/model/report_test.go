package model

import (
	"strconv"
	"testing"
)

// TestRefusalsRetainFirstHundred checks that a hundred refusals are retained and the others counted, in
// any order of merging.
func TestRefusalsRetainFirstHundred(t *testing.T) {
	var one, two Refusals
	for i := range 250 {
		one.Refuse(Refusal{Item: strconv.Itoa(i)})
	}
	if len(one.Refused) != MaxRefused || one.CountRefused() != 250 || one.Refused[99].Item != "99" {
		t.Errorf("%d are kept of %d", len(one.Refused), one.CountRefused())
	}
	two.Refuse(Refusal{Item: "x"})
	two.RefuseAll(one)
	if len(two.Refused) != MaxRefused || two.CountRefused() != 251 || two.Refused[1].Item != "0" {
		t.Errorf("%d are kept of %d together", len(two.Refused), two.CountRefused())
	}
}
