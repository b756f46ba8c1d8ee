package ingest

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestOriginal checks which of several findings of a lineage remains: that of the primary branch,
// otherwise the first.
func TestOriginal(t *testing.T) {
	identity := func(n byte) model.Identity {
		return model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{n}}
	}
	for _, c := range []struct {
		name    string
		primary []byte
		want    byte
	}{
		{"the primary branch has none", nil, 1},
		{"it has the second", []byte{2}, 2},
		{"it has another one", []byte{9}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			crowd := []entry{{identity: identity(1)}, {identity: identity(2)}, {identity: identity(3)}}
			var primary []model.Finding
			for _, n := range c.primary {
				primary = append(primary, model.Finding{Identity: identity(n)})
			}
			if got := original(crowd, primary); got.identity != identity(c.want) {
				t.Errorf("%v stays, want %d", got.identity, c.want)
			}
		})
	}
}
