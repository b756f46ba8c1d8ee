package model

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Passkey is a key pair of a user, whose public part is here (WebAuthn).
type Passkey struct {
	ID           int64
	UserID       int64
	CredentialID []byte // as the authenticator calls it
	Credential   []byte // public key, counter and flags; sealed
	Name         string // for the user
	CreatedAt    time.Time
	UsedAt       time.Time // zero: never
}

// PasskeyUse is that a passkey was shown.
type PasskeyUse struct {
	ID         int64
	Credential []byte    // as it is by now; sealed
	Challenge  []byte    // hash of what it signed, which no passkey shows again
	Until      time.Time // for how long that could be shown
}

// Bounds of a user's passkeys.
const (
	MaxPasskeys    = 20
	maxPasskeyName = 60 // characters
)

// CheckPasskeyName says what is wrong with what a user calls a passkey.
func CheckPasskeyName(name string) error {
	if n := utf8.RuneCountInString(name); strings.TrimSpace(name) == "" || n > maxPasskeyName {
		return Invalid("name", "say where the passkey is, in %d characters at most", maxPasskeyName)
	}
	return nil
}
