package core

import (
	"testing"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// TestManyFollowers checks that the rounds of a hundred followers are cached together. Beyond the
// limit the least recently used rounds are dropped.
func TestManyFollowers(t *testing.T) {
	h := newHarness(t)
	const most = 8 << 20
	r := NewRounds(most)
	small, large := h.ofBytes(t, 1000), h.ofBytes(t, most/16)
	known := func(deployment, until int64) bool {
		_, ok := r.Find(RoundKey{Deployment: deployment, Since: 1, Until: until})
		return ok
	}
	for until := range int64(100) {
		r.Put(RoundKey{Deployment: 1, Since: 1, Until: until}, small)
	}
	for until := range int64(100) {
		if !known(1, until) {
			t.Fatalf("the round of follower %d is not cached", until)
		}
	}
	for until := range int64(50) {
		r.Put(RoundKey{Deployment: 2, Since: 1, Until: until}, large)
		known(2, 0) // used between all others
	}
	if r.size > most || r.size < most/2 || !known(2, 0) || !known(2, 49) || known(2, 1) || known(1, 1) {
		t.Errorf("%d rounds of %d bytes are cached", len(r.all), r.size)
	}
}

// ofBytes returns affected findings that use about n bytes of memory.
func (h *harness) ofBytes(t *testing.T, n int) index.Affected {
	t.Helper()
	view, err := h.server.Index.Deployment(t.Context(), h.deployment.ID)
	if err != nil {
		t.Fatal(err)
	}
	var set model.ChangeSet
	for id := range int64(n / 2) { // two bytes for each id without a neighbor
		set.Findings = append(set.Findings, model.IDRun{id * 64, 0})
	}
	a := view.Affected(&set)
	if size := a.Size(); size < n || size > n+n/4 {
		t.Fatalf("made %d bytes of findings, not %d", size, n)
	}
	return a
}
