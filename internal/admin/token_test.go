package admin

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// TestTokenStatus checks that an expired token that can be renewed is shown as renewable.
func TestTokenStatus(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for want, token := range map[string]model.Token{
		"active":                              {},
		"revoked":                             {RevokedAt: now, RenewableUntil: now.Add(time.Hour)},
		"expired":                             {ExpiresAt: now, RenewableUntil: now},
		"until 2026-01-03 03:04:05":           {ExpiresAt: now.Add(24 * time.Hour)},
		"renewable until 2026-02-01 03:04:05": {ExpiresAt: now.Add(-time.Hour), RenewableUntil: now.AddDate(0, 0, 30)},
	} {
		if got := tokenStatus(token, now); got != want {
			t.Errorf("%+v is %q, want %q", token, got, want)
		}
	}
}
