package model

import "time"

// HalfSessionFor is how long a sign-in may wait for its second factor.
const HalfSessionFor = 10 * time.Minute

// MaxHalfTries is how many codes may be tried at one sign-in.
const MaxHalfTries = 5

// HalfSession is a sign-in that waits for its second factor. It gives nothing but
// the right to show that.
type HalfSession struct {
	UserID int64
	Method string // what was shown first, as in Session
}

// TOTP is the authenticator app of a user.
type TOTP struct {
	Secret []byte // shared with the app; sealed
	// Step is that of the newest code that was taken: how often 30 seconds have
	// passed since 1970 (RFC 6238). No code of it, or of one before, is taken.
	Step int64
}

// FactorProof is what a second factor was shown by: one of the three.
type FactorProof struct {
	Step     int64       // of a code of the authenticator app; 0: none
	Recovery []byte      // hash of a recovery code, which is used up
	Passkey  *PasskeyUse // nil: none
}

// String says which of the three it is, and nothing of it.
func (p FactorProof) String() string {
	switch {
	case p.Passkey != nil:
		return "passkey"
	case p.Recovery != nil:
		return "recovery code"
	}
	return "code"
}
