package model

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// User is a person who signs in. Users belong to the server, and have a role in each of their
// deployments.
type User struct {
	ID           int64
	Name         string // login name, see CheckUserName
	DisplayName  string // display name; empty for the login name
	PasswordHash string // empty if another method is used, or none is set yet
	CreatedAt    time.Time
	DisabledAt   time.Time // zero unless disabled
	SignedInAt   time.Time // last sign-in; zero if never
	// SecondFactorAt is the time since which sign-ins by password or link require a second factor.
	// Zero means that they do not.
	SecondFactorAt time.Time
	// Address is the email address; if it is empty and the name is an email address, the name is
	// used.
	Address string
	Untold  bool // wants no mail
}

// MailTo returns the user's email address, or "" for none. Disabled users receive no email.
func (u User) MailTo() string {
	switch {
	case u.Untold || !u.Enabled():
		return ""
	case u.Address == "" && CheckMailAddress("address", u.Name) == nil:
		return u.Name
	}
	return u.Address
}

// HasSecondFactor reports whether sign-ins by password or link require a second factor.
func (u User) HasSecondFactor() bool { return !u.SecondFactorAt.IsZero() }

// Title returns the display name, or the login name if there is none.
func (u User) Title() string {
	if u.DisplayName != "" {
		return u.DisplayName
	}
	return u.Name
}

// Enabled reports whether the user can sign in.
func (u User) Enabled() bool { return u.DisabledAt.IsZero() }

// Actor returns the user as an actor in the audit log.
func (u User) Actor() Actor { return Actor{Kind: ActorUser, ID: u.Name, Name: u.Title()} }

// Member is a user with the role in one deployment.
type Member struct {
	User
	Role Role
	// Foreign is whether the user also has a role in other deployments. Then administrators of this
	// deployment have limited control over the account.
	Foreign bool
}

// Membership is a deployment with the role of one of its users.
type Membership struct {
	Deployment Deployment
	Role       Role
}

// NamesOf returns the slugs and names of deployments, for checks of passwords.
func NamesOf(list []Membership) (names []string) {
	for _, m := range list {
		names = append(names, m.Deployment.Slug, m.Deployment.Name)
	}
	return names
}

// UserIdentity is the identity of a user at an identity provider.
type UserIdentity struct {
	Issuer  string // URL of the provider
	Subject string // not reused by the provider
}

var userNamePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._@+-]{0,99}$`)

// maxUserName is the maximum length of a name in characters. The pattern contains it too.
const maxUserName = 100

// NormalUserName returns a name as it is stored and compared: without surrounding space, in lower
// case.
func NormalUserName(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

// CheckUserName validates a login name. It is limited to ASCII, to avoid names that look alike.
func CheckUserName(s string) error {
	if !userNamePattern.MatchString(s) {
		return Invalid("name", "invalid name %.100q: use at most 100 lower-case letters, digits and . _ @ + -, "+
			"with a letter or digit first", s)
	}
	return nil
}

// maxDisplayName is the maximum length of a display name in characters.
const maxDisplayName = 100

// CheckDisplayName validates a display name.
func CheckDisplayName(s string) error {
	if n := utf8.RuneCountInString(s); n > maxDisplayName {
		return Invalid("display_name", "it has %d characters; the limit is %d", n, maxDisplayName)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Invalid("display_name", "it contains invisible characters")
	}
	return nil
}

// UserInvitation is an invitation to a deployment. It has no effect until it is accepted. The
// inviter does not learn whether a user of that name exists in other deployments.
type UserInvitation struct {
	ID         int64
	Deployment Deployment
	// Name is the invited user name, as entered by the inviter. The user need not exist.
	Name string
	// NewName is the name of the user that its link creates; see NewUserName.
	NewName     string
	DisplayName string // of the user that its link creates
	Role        Role
	InvitedBy   string // display name of the inviter
	CreatedAt   time.Time
	ExpiresAt   time.Time
}

// NewUserName returns the name of a user created on a page of a deployment that shares its server
// with others. It is the entered name with the deployment's slug appended. So it does not conflict
// with users of other deployments, and reveals nothing about them.
func NewUserName(typed, slug string) string {
	end := "@" + slug
	typed = NormalUserName(typed)
	if len(typed) > len(end) && typed[len(typed)-len(end):] == end {
		return typed
	}
	return typed + end
}

// CheckNewUserName validates an entered name and the result of NewUserName.
func CheckNewUserName(typed, slug string) error {
	typed = NormalUserName(typed)
	if err := CheckUserName(typed); err != nil {
		return err
	}
	made := NewUserName(typed, slug)
	if over := len(made) - maxUserName; over > 0 {
		return Invalid("name",
			"it has %d characters; the limit is %d, because the suffix @%s is added",
			len(typed), len(typed)-over, slug)
	}
	return CheckUserName(made)
}

// Role is the role of a user in a deployment. Each role includes the permissions of lower roles.
type Role uint8

// Roles in ascending order. The numbers are stored and must not change.
const (
	RoleNone    Role = iota // no access: the deployment appears not to exist
	RoleViewer              // reads
	RoleTriager             // also triages findings and uploads scans
	RoleAdmin               // also manages projects, policies, tokens and users
)

var roleNames = enumNames[Role]{"", "viewer", "triager", "admin"}

// String returns the name in lower case, which is empty for RoleNone.
func (r Role) String() string { return roleNames.name(r) }

// ParseRole parses a name in lower case. The empty name is invalid.
func ParseRole(s string) (Role, bool) { return roleNames.parse(s) }

// Roles returns the roles that a user can have, in ascending order.
func Roles() []Role { return []Role{RoleViewer, RoleTriager, RoleAdmin} }

// Session is a browser session of a user. Its secret is stored in a cookie, and on the server only
// as a hash.
type Session struct {
	ID        int64
	UserID    int64
	Method    string // sign-in method: password, oidc or link, with the second factor
	Address   string // network address
	Agent     string // user agent
	CreatedAt time.Time
	SeenAt    time.Time // last request, accurate to about a minute
	ExpiresAt time.Time // absolute expiry
	// Half is whether the second factor is missing; see PendingSession.
	Half bool
}

// ByProvider reports whether an identity provider authenticated the user. It is then responsible
// for second factors.
func (s Session) ByProvider() bool { return strings.HasPrefix(s.Method, "oidc") }

// ByLink reports whether the user signed in with a one-time link.
func (s Session) ByLink() bool { return strings.HasPrefix(s.Method, "link") }

// CheckedPassword is the result of verifying a password.
type CheckedPassword struct {
	Hash   string // hash that matched; empty for other methods
	Rehash string // stronger hash to store instead; empty if none
}

// SessionUse is the last use of a session.
type SessionUse struct {
	SessionID int64
	At        time.Time
}

// Attempt is a failed attempt to sign in.
type Attempt struct {
	Name    string // as entered; the user need not exist
	Method  string // password, oidc or link
	Address string
	Agent   string
	Reason  string // reason of the failure
}

// LinkKind is the purpose of a one-time link.
type LinkKind string

// Kinds of links.
const (
	LinkSetup  LinkKind = "setup"   // creates an administrator of the deployment
	LinkReset  LinkKind = "reset"   // sets the user's password
	LinkSignIn LinkKind = "sign-in" // signs the user in
)

// UserLink is a one-time link. Its secret is stored only as a hash.
type UserLink struct {
	ID         int64
	Kind       LinkKind
	UserID     int64 // user; 0 for a setup link
	Deployment int64 // deployment of a setup link; otherwise 0
	// Within contains the deployments of the administrator who requests a reset link. The link is
	// invalid for users with roles in other deployments. Nil means a request by the server's
	// operator. It is not stored: a role in another deployment invalidates the link.
	Within    []int64
	CreatedAt time.Time
	ExpiresAt time.Time
}

// PendingSessionFor is the time within which a sign-in must provide its second factor.
const PendingSessionFor = 10 * time.Minute

// MaxHalfTries is the maximum number of codes per sign-in.
const MaxHalfTries = 5

// PendingSession is a sign-in without its second factor. It permits only to provide that factor.
type PendingSession struct {
	UserID int64
	Method string // first method, as in Session
}

// TOTP is the authenticator app of a user.
type TOTP struct {
	Secret []byte // shared with the app; encrypted
	// Step is the time step of the newest accepted code, in units of 30 seconds since 1970 (RFC
	// 6238). Codes of this or an earlier step are rejected.
	Step int64
}

// FactorProof is the proof of a second factor. Exactly one field is set.
type FactorProof struct {
	Step     int64       // time step of a code; 0 if not used
	Recovery []byte      // hash of a recovery code, which can be used once
	Passkey  *PasskeyUse // nil if not used
}

// String returns the kind of proof without its value.
func (p FactorProof) String() string {
	switch {
	case p.Passkey != nil:
		return "passkey"
	case p.Recovery != nil:
		return "recovery code"
	}
	return "code"
}

// Passkey is the public part of a user's key pair (WebAuthn).
type Passkey struct {
	ID           int64
	UserID       int64
	CredentialID []byte // ID from the authenticator
	Credential   []byte // public key, counter and flags; encrypted
	Name         string // name for the user
	CreatedAt    time.Time
	UsedAt       time.Time // zero if never
}

// PasskeyUse is a use of a passkey.
type PasskeyUse struct {
	ID         int64
	Credential []byte    // updated credential; encrypted
	Challenge  []byte    // hash of the signed challenge, which is valid once
	Until      time.Time // expiry of the challenge
}

// Limits of a user's passkeys.
const (
	MaxPasskeys    = 20
	maxPasskeyName = 60 // characters
)

// CheckPasskeyName validates the name of a passkey.
func CheckPasskeyName(name string) error {
	if n := utf8.RuneCountInString(name); strings.TrimSpace(name) == "" || n > maxPasskeyName {
		return Invalid("name", "enter a name of at most %d characters", maxPasskeyName)
	}
	return nil
}
