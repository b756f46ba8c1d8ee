package model

import "time"

// How long what OAuth clients are given is good for (decision 0030).
const (
	OAuthCodeFor    = time.Minute
	OAuthAccessFor  = time.Hour
	OAuthRefreshFor = 30 * 24 * time.Hour
)

// OAuthGrant is what a person let a client have: first a code, then, in its place, a
// token that the client can have renewed. There is one row of token for it as long
// as it lasts, which people see and revoke among their tokens.
type OAuthGrant struct {
	DeploymentID int64
	CodeHash     []byte // SHA-256 of the code
	TokenID      int64  // 0 until the code was exchanged
	ClientHash   []byte // SHA-256 of the client's id
	RedirectURI  string // as the client asked for the code, to the letter
	Challenge    string // S256 of the client's verifier
	Resource     string // what the token is for
	Generation   int64  // of the refresh token in force, from 1; 0 before there is one
	RefreshHash  []byte // SHA-256 of it
	ExpiresAt    time.Time
	Token        Token // to be made for the code
	ApprovedBy   Actor
}
