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
