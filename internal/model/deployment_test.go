package model

import "testing"

// TestNextVersion checks that versions increase with any random bits and depend on these bits.
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

// TestActorString checks that users are identified by their unique login name and others by their
// name.
func TestActorString(t *testing.T) {
	for want, a := range map[string]Actor{
		"user:secada": {Kind: ActorUser, ID: "secada", Name: "ada"}, "token:ci": {Kind: "token", ID: "tok_1", Name: "ci"},
		"vex:7": {Kind: ActorVEX, ID: "7"}, "cli": {Kind: "cli"}, "user:Ada": {Kind: ActorUser, Name: "Ada"},
	} {
		if got := a.String(); got != want {
			t.Errorf("%+v is %s, want %s", a, got, want)
		}
	}
}
