package policy

import (
	"testing"

	"github.com/redoubt/redoubt"
)

// TestCountKnowsAsManyAsThePrimaryBranchHad counts equal code of one lineage: each
// that the primary branch had makes one sighting known, and a copy more is new.
func TestCountKnowsAsManyAsThePrimaryBranchHad(t *testing.T) {
	finding := func(n byte) redoubt.Finding {
		return redoubt.Finding{ID: int64(n), Identity: redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{n}}, CodeHash: redoubt.Digest{1}}
	}
	for _, c := range []struct {
		name    string
		had     []byte
		sighted []byte
		known   []bool
	}{
		{"one by its identity, no copy", []byte{1}, []byte{1, 2}, []bool{true, false}},
		{"the one that moved, no copy", []byte{1}, []byte{2, 3}, []bool{true, false}},
		{"two by their identities", []byte{1, 2}, []byte{1, 2}, []bool{true, true}},
		{"one stayed, one moved, no copy", []byte{1, 2}, []byte{3, 2, 4}, []bool{true, true, false}},
		{"none", nil, []byte{1}, []bool{false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var had []redoubt.Finding
			for _, n := range c.had {
				had = append(had, finding(n))
			}
			sightings := make([]Sighting, len(c.sighted))
			var group []*Sighting
			for i, n := range c.sighted {
				sightings[i] = Sighting{Finding: finding(n), Triage: redoubt.TriageIgnored}
				group = append(group, &sightings[i])
			}
			j := &Judge{scan: redoubt.Scan{Ref: "refs/heads/topic", Full: true}, primary: "refs/heads/main"}
			j.count(group, had)
			for i, want := range c.known {
				if got := sightings[i].Known; got != want {
					t.Errorf("sighting %d, of %d, is known: %t, want %t", i, c.sighted[i], got, want)
				}
			}
		})
	}
}
