package model

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// User is a person who signs in. Users belong to the server; what one may do is
// told by a role in each deployment.
type User struct {
	ID           int64
	Name         string // what is typed to sign in; see CheckUserName
	DisplayName  string // what others see; the name where there is none
	PasswordHash string // empty: signs in elsewhere, or not yet
	CreatedAt    time.Time
	DisabledAt   time.Time // zero: may sign in
	SignedInAt   time.Time // last; zero: never
	// SecondFactorAt is since when a sign-in by password or link asks for a second
	// factor too; zero: it does not.
	SecondFactorAt time.Time
	// Address is where mail for the user goes; empty: to the name, where that is one.
	Address string
	Untold  bool // wants no mail
}

// MailTo is where mail for the user goes; empty: nowhere. Who is disabled gets none.
func (u User) MailTo() string {
	switch {
	case u.Untold || !u.Enabled():
		return ""
	case u.Address == "" && CheckMailAddress("address", u.Name) == nil:
		return u.Name
	}
	return u.Address
}

// HasSecondFactor reports whether a password or a link alone does not sign in.
func (u User) HasSecondFactor() bool { return !u.SecondFactorAt.IsZero() }

// Title is what others call the user.
func (u User) Title() string {
	if u.DisplayName != "" {
		return u.DisplayName
	}
	return u.Name
}

// Enabled reports whether the user may sign in.
func (u User) Enabled() bool { return u.DisabledAt.IsZero() }

// Actor names the user in the audit trail.
func (u User) Actor() Actor { return Actor{Kind: ActorUser, ID: u.Name, Name: u.Title()} }

// Member is a user as one deployment knows them.
type Member struct {
	User
	Role Role
	// Foreign is whether the user has a role in other deployments too, which
	// bounds what this one's admins may do to the account.
	Foreign bool
}

// Membership is a deployment as one of its users knows it.
type Membership struct {
	Deployment Deployment
	Role       Role
}

// NamesOf are the slugs and names of deployments, for what must not be guessed by
// them.
func NamesOf(list []Membership) (names []string) {
	for _, m := range list {
		names = append(names, m.Deployment.Slug, m.Deployment.Name)
	}
	return names
}

// UserIdentity is a user as an identity provider knows them.
type UserIdentity struct {
	Issuer  string // the provider's URL
	Subject string // never given to another there
}

var userNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,99}$`)

// maxUserName is the longest name, in characters; the pattern says it too.
const maxUserName = 100

// NormalUserName is a name as it is kept and compared: without the space and
// the capitals that people type.
func NormalUserName(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// CheckUserName says what is wrong with a name to sign in with. It is plain
// ASCII, so that no two names look the same.
func CheckUserName(s string) error {
	if !userNamePattern.MatchString(s) {
		return Invalid("name", "%.100q will not do: a name has lower-case letters, digits and . _ @ + -, "+
			"starts with a letter or digit, and has at most 100 characters", s)
	}
	return nil
}

// maxDisplayName is the longest display name, in characters.
const maxDisplayName = 100

// CheckDisplayName says what is wrong with what others shall see.
func CheckDisplayName(s string) error {
	if n := utf8.RuneCountInString(s); n > maxDisplayName {
		return Invalid("display_name", "it has %d characters; %d are allowed", n, maxDisplayName)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Invalid("display_name", "it holds characters that do not show")
	}
	return nil
}

// UserInvitation asks a person into a deployment. Nothing holds until they
// accept it: who invites learns nothing of the users of other deployments, not
// even whether there is one of that name.
type UserInvitation struct {
	ID         int64
	Deployment Deployment
	// Name is that of the user who may accept it, as whoever invites typed it.
	// There need be none.
	Name string
	// NewName is that of the user whom its link makes; see NewUserName.
	NewName     string
	DisplayName string // of the user whom its link makes
	Role        Role
	InvitedBy   string // as others see them
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// NewUserName is the name of a user who is made at a page of a deployment that
// shares the server with others: what was typed, with the deployment's slug behind
// it. So it is never one that somebody of another deployment has, and whether it
// can be had tells nothing of them.
func NewUserName(typed, slug string) string {
	end := "@" + slug
	typed = NormalUserName(typed)
	if len(typed) > len(end) && typed[len(typed)-len(end):] == end {
		return typed
	}
	return typed + end
}

// CheckNewUserName says what is wrong with a name that was typed, of which
// NewUserName makes another: both are names.
func CheckNewUserName(typed, slug string) error {
	typed = NormalUserName(typed)
	if err := CheckUserName(typed); err != nil {
		return err
	}
	made := NewUserName(typed, slug)
	if over := len(made) - maxUserName; over > 0 {
		return Invalid("name",
			"it has %d characters, and at most %d are left for it: with @%s behind it, it would be too long",
			len(typed), len(typed)-over, slug)
	}
	return CheckUserName(made)
}

// Role is what a person may do in a deployment. A higher role may all that a
// lower one may.
type Role uint8

// Roles, least first. The numbers are stored: never give one another meaning.
const (
	RoleNone    Role = iota // nothing: the deployment is as if it did not exist
	RoleViewer              // reads
	RoleTriager             // decides about findings too, and hands in scans
	RoleAdmin               // and manages projects, policies, tokens and people
)

var roleNames = enumNames[Role]{"", "viewer", "triager", "admin"}

// String returns the name, lower case; empty for none.
func (r Role) String() string { return roleNames.name(r) }

// ParseRole reads a lower-case name. The empty name is no role.
func ParseRole(s string) (Role, bool) { return roleNames.parse(s) }

// Roles lists the roles that a user can have, least first.
func Roles() []Role { return []Role{RoleViewer, RoleTriager, RoleAdmin} }

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
	// Half is whether it is none yet: the second factor is missing, see PendingSession.
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

// PendingSessionFor is how long a sign-in may wait for its second factor.
const PendingSessionFor = 10 * time.Minute

// MaxHalfTries is how many codes may be tried at one sign-in.
const MaxHalfTries = 5

// PendingSession is a sign-in that waits for its second factor. It gives nothing but
// the right to show that.
type PendingSession struct {
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
