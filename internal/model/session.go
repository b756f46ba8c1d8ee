package model

import (
	"strings"
	"time"
)

// Session is one browser in which a user is signed in. Its secret is in a
// cookie and kept as a hash only.
type Session struct {
	ID        int64
	UserID    int64
	Method    string // how the user signed in: password, oidc or link, and what was shown beside it
	Address   string // where from
	Agent     string // the browser, as it calls itself
	CreatedAt time.Time
	SeenAt    time.Time // last request, give or take a minute
	ExpiresAt time.Time // whatever happens
	// Half is whether it is none yet: the second factor is missing, see HalfSession.
	Half bool
}

// ByProvider reports whether an identity provider signed the user in. Second
// factors are its business then.
func (s Session) ByProvider() bool { return strings.HasPrefix(s.Method, "oidc") }

// ByLink reports whether a one-time link signed the user in.
func (s Session) ByLink() bool { return strings.HasPrefix(s.Method, "link") }

// CheckedPassword is how a password was found right.
type CheckedPassword struct {
	Hash   string // that it fits; empty where the user showed something else
	Rehash string // a stronger one to keep in its place; empty: none
}

// SessionUse says when a session was last used.
type SessionUse struct {
	SessionID int64
	At        time.Time
}

// Attempt is a try to sign in.
type Attempt struct {
	Name    string // as given; may be nobody's
	Method  string // password, oidc or link
	Address string
	Agent   string
	Reason  string // why it failed
}

// LinkKind is what a one-time link does.
type LinkKind string

// Kinds of links.
const (
	LinkSetup  LinkKind = "setup"   // makes an admin of the deployment
	LinkReset  LinkKind = "reset"   // sets the user's password
	LinkSignIn LinkKind = "sign-in" // signs the user in
)

// UserLink is a link that works once. Its secret is kept as a hash only.
type UserLink struct {
	ID         int64
	Kind       LinkKind
	UserID     int64 // whose; 0 of a setup link
	Deployment int64 // of which the setup link makes an admin; 0 otherwise
	// Within are the deployments of the admin who asks for a reset link: it is
	// for nobody with a role elsewhere. Nil: whoever runs the server asks. It is
	// not kept: a role elsewhere ends the link.
	Within    []int64
	CreatedAt time.Time
	ExpiresAt time.Time
}
