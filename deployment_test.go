package redoubt

import "testing"

// A version grows by its number whatever chance says, and chance makes it another one.
func TestNextVersion(t *testing.T) {
	seen := map[int64]bool{}
	for _, chance := range []uint32{0, 1, 1<<24 - 1} {
		a := NextVersion(0, chance)
		b := NextVersion(a, 0)
		if a <= 0 || b <= a || Commits(a) != 1 || Commits(b) != 2 || FirstVersion(2) != b || seen[a] {
			t.Errorf("chance %d: after 0 comes %d, and then %d", chance, a, b)
		}
		seen[a] = true
	}
	if NextVersion(7, 1<<24) != NextVersion(7, 0) {
		t.Error("chance changes the number")
	}
}
