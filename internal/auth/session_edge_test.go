package auth

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// TestOverlongPasswordsAreRejected checks passwords around the length at which they are truncated, and
// longer ones.
func TestOverlongPasswordsAreRejected(t *testing.T) {
	d := newDoor(t)
	for _, n := range []int{4*MaxPassword - 1, 4 * MaxPassword, 4*MaxPassword + 1, 4*MaxPassword + 2, 1 << 20} {
		if _, err := d.SignIn(t.Context(), "ada", strings.Repeat("x", n), home); !errors.Is(err, ErrSignIn) {
			t.Errorf("%d bytes: %v", n, err)
		}
		d.clock.Advance(time.Minute)
	}
}

// TestUnknownUserStartsNoSession checks that a deleted user gets the same error as an unknown one.
func TestUnknownUserStartsNoSession(t *testing.T) {
	d := newDoor(t)
	if _, err := d.Begin(t.Context(), d.ada.ID+1000, "oidc", home, model.CheckedPassword{}); !errors.Is(err, ErrSignIn) {
		t.Errorf("an unknown session: %v", err)
	}
}

// TestCodeHashes checks that codes are distinct and that overlong ones are invalid.
func TestCodeHashes(t *testing.T) {
	text, sum := NewCode()
	other, _ := NewCode()
	if text == other || len(text) < 32 || !bytes.Equal(CodeHash(text), sum) || bytes.Equal(CodeHash(other), sum) {
		t.Errorf("the codes %q and %q", text, other)
	}
	most := strings.Repeat("x", maxSecret)
	if bytes.Equal(CodeHash(most), CodeHash("")) || !bytes.Equal(CodeHash(most+"x"), CodeHash("")) {
		t.Errorf("%d characters are looked at, more are not: not so", maxSecret)
	}
}
