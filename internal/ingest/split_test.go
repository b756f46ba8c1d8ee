package ingest

import (
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestExcessAllowsWhatThePrimaryBranchHas counts the findings of one lineage on a
// ref: as many may stay as the primary branch has, and one where it has none.
func TestExcessAllowsWhatThePrimaryBranchHas(t *testing.T) {
	identity := func(n byte) redoubt.Identity {
		return redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{n}}
	}
	for _, c := range []struct {
		name    string
		crowd   []byte
		primary []byte
		want    []byte
	}{
		{"the primary branch has none", []byte{1, 2}, nil, []byte{2}},
		{"it has one, which stays", []byte{1, 2}, []byte{2}, []byte{1}},
		{"it has both", []byte{1, 2}, []byte{1, 2}, nil},
		{"it has two of three", []byte{1, 2, 3}, []byte{1, 3}, []byte{2}},
		{"it has two, one of which moved", []byte{1, 2, 3}, []byte{3, 4}, []byte{2}},
		{"it has more", []byte{1, 2}, []byte{1, 3, 4}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var crowd []entry
			for _, n := range c.crowd {
				crowd = append(crowd, entry{identity: identity(n), path: fmt.Sprint(n), lineage: 1})
			}
			var primary []redoubt.Finding
			for _, n := range c.primary {
				primary = append(primary, redoubt.Finding{Identity: identity(n)})
			}
			var got []byte
			for _, e := range excess(crowd, primary) {
				got = append(got, e.identity.Hash[0])
			}
			if string(got) != string(c.want) {
				t.Errorf("%v are too many, want %v", got, c.want)
			}
		})
	}
}
