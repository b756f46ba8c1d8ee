package model

import (
	"strings"
	"testing"
)

func TestUserNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"anna": true, "anna.schmidt+ci@example.com": true, "0": true, "": false, "Anna": false, "an na": false, ".anna": false,
		"<script>": false, "anna\n": false, strings.Repeat("a", 100): true, strings.Repeat("a", 101): false,
	} {
		if err := CheckUserName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if got := NormalUserName("  Anna "); got != "anna" {
		t.Errorf("as it is kept: %q", got)
	}
}

// TestSuffixedUserNameError checks that the error for a name with a suffix states the remaining
// length.
func TestSuffixedUserNameError(t *testing.T) {
	long := strings.Repeat("a", 95)
	for name, want := range map[string]string{
		long: "", long + "@acme": "", long + "b": "the limit is 95", long + "bcdef": "the suffix @acme", "<b>": "invalid name",
	} {
		err := CheckNewUserName(name, "acme")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
}

func TestRolesAreOrderedAndNamed(t *testing.T) {
	for i, r := range Roles() {
		got, ok := ParseRole(r.String())
		if !ok || got != r || int(r) != i+1 {
			t.Errorf("%v is read as %v, %v", r, got, ok)
		}
	}
	if _, ok := ParseRole(""); ok || RoleNone.String() != "" {
		t.Error("no role has a name")
	}
}
