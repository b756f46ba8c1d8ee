package model

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// HostKind is what a code host is asked with.
type HostKind uint8

// Kinds of hosts. The numbers are stored: never give one another meaning.
const (
	HostGit    HostKind = iota + 1 // any remote of git, which has no API
	HostGitea                      // Gitea and Forgejo
	HostGitHub                     // GitHub, also Enterprise
	HostGitLab                     // GitLab, also self-managed
	HostJira                       // Jira Cloud and Data Center: issues, and no code
)

var hostKinds = enumNames[HostKind]{"", "git", "gitea", "github", "gitlab", "jira"}

// String returns the wire name.
func (k HostKind) String() string { return hostKinds.name(k) }

// ParseHostKind reads a wire name.
func ParseHostKind(s string) (HostKind, bool) { return hostKinds.parse(s) }

// HostKinds lists the kinds.
func HostKinds() []HostKind { return []HostKind{HostGitea, HostGitHub, HostGitLab, HostGit, HostJira} }

// HasAPI reports whether a host of the kind tells of its repositories by itself,
// and takes statuses and comments.
func (k HostKind) HasAPI() bool { return k != HostGit }

// HasWebhooks reports whether a host of the kind can tell of pushes and change requests.
func (k HostKind) HasWebhooks() bool { return k.HasAPI() && k != HostJira }

// HasIssues reports whether a host of the kind keeps issues, which tickets are.
func (k HostKind) HasIssues() bool { return k != HostGit }

// Connection is an account on a code host.
type Connection struct {
	ID      int64
	Kind    HostKind
	Name    string // for people
	BaseURL string // of the host, without a slash at its end; of HostGit the remote itself
	Account string // the login, as the host told it; empty before it did
	// Credential and WebhookSecret are sealed; empty: none.
	Credential    []byte
	WebhookSecret []byte
	// Follow are globs of full names: repositories that one of them fits become
	// projects by themselves, but for those that one with a ! in front fits.
	Follow    []string
	Replies   ReplyPolicy // whose replies decide about findings
	RepliesAt time.Time   // since when; older ones decide nothing. Zero: that was not kept yet
	People    HostPeople  // users by their names at the host
	CreatedAt time.Time
	CheckedAt time.Time // when the host was asked last; zero: never
	Problem   string    // what went wrong then, for people; empty: nothing
	HeardAt   time.Time // of the newest webhook that was verified; zero: none
}

// Follows reports whether a repository of a full name is to become a project by itself.
func (c Connection) Follows(name string) bool {
	followed := false
	for _, glob := range c.Follow {
		not, excludes := strings.CutPrefix(glob, "!")
		switch fits := (ProjectGlobs{not}).Allows(name); {
		case fits && excludes:
			return false
		case fits:
			followed = true
		}
	}
	return followed
}

// ConnectionChange is what is to be another of a connection; what is nil stays.
type ConnectionChange struct {
	Name       *string
	Follow     *[]string
	Replies    *ReplyPolicy
	People     *HostPeople
	Credential *HostCredential
}

// Of is a connection with the change, but for the credential.
func (d ConnectionChange) Of(c Connection) Connection {
	if d.Name != nil {
		c.Name = *d.Name
	}
	if d.Follow != nil {
		c.Follow = *d.Follow
	}
	if d.Replies != nil {
		c.Replies = *d.Replies
	}
	if d.People != nil {
		c.People = *d.People
	}
	return c
}

// CredentialKind says how a HostCredential is shown to the host.
type CredentialKind string

// Kinds of credentials.
const (
	CredentialToken    CredentialKind = "token"    // of a host's API, which git takes too
	CredentialPassword CredentialKind = "password" // of git over HTTPS, with a user's name
	CredentialSSHKey   CredentialKind = "ssh_key"  // a private key, of git over SSH
	CredentialApp      CredentialKind = "app"      // the private key of a GitHub App
)

// HostCredential is what a connection shows to its host. It is kept sealed, and
// never told to people or logs.
type HostCredential struct {
	Kind     CredentialKind `json:"kind"`
	Username string         `json:"username,omitempty"` // of CredentialPassword
	Secret   string         `json:"secret"`
	// KnownHosts are the host's keys, as a known_hosts file has them, of CredentialSSHKey.
	KnownHosts     string `json:"known_hosts,omitempty"`
	AppID          int64  `json:"app_id,omitempty"`          // of CredentialApp
	InstallationID int64  `json:"installation_id,omitempty"` // of CredentialApp
}

// String tells nothing: a credential that somebody logs stays secret.
func (c HostCredential) String() string { return "(credential)" }

// GoString tells nothing either.
func (c HostCredential) GoString() string { return c.String() }

// Basic is what git shows over HTTPS: a user's name and a password.
func (c HostCredential) Basic(kind HostKind) (user, password string) {
	switch {
	case c.Kind == CredentialPassword:
		return c.Username, c.Secret
	case kind == HostGitHub:
		return "x-access-token", c.Secret
	}
	return "oauth2", c.Secret
}

// Bounds of a connection's members.
const (
	MaxConnections     = 100
	maxConnectionName  = 100
	maxConnectionURL   = 1000
	maxCredential      = 16 << 10
	maxConnectionGlobs = 100
	maxConnectionGlob  = 512
)

// CheckConnection says what is wrong with a connection that somebody asks for.
func CheckConnection(c Connection) error {
	if strings.TrimSpace(c.Name) == "" || utf8.RuneCountInString(c.Name) > maxConnectionName ||
		strings.ContainsFunc(c.Name, IsControl) {
		return Invalid("name", "give the connection a name of %d characters at most", maxConnectionName)
	}
	if hostKinds.name(c.Kind) == "" {
		return Invalid("kind", "the kind is one of gitea, github, gitlab, jira and git")
	}
	if len(c.Follow) > maxConnectionGlobs {
		return Invalid("follow", "%d globs given; %d are allowed", len(c.Follow), maxConnectionGlobs)
	}
	for _, glob := range c.Follow {
		if strings.TrimSpace(glob) == "" || strings.ContainsFunc(glob, IsControl) || !utf8.ValidString(glob) ||
			len(glob) > maxConnectionGlob || glob == "!" {
			return Invalid("follow", "%.40q will not do: a glob is as acme/*, ** fits all, and !acme/old leaves one out", glob)
		}
	}
	if len(c.People) > MaxHostPeople {
		return Invalid("people", "%d people can be linked at most", MaxHostPeople)
	}
	if c.Replies != 0 && c.Replies.String() == "" {
		return Invalid("replies", "it is one of linked, collaborators and off")
	}
	return CheckHostURL(c.Kind, c.BaseURL)
}

// Serves reports whether a repository that is fetched from there is of the host that
// the connection's credential is for.
func (c Connection) Serves(cloneURL string) bool {
	base := strings.TrimSuffix(c.BaseURL, "/")
	return base != "" && (cloneURL == c.BaseURL || strings.HasPrefix(cloneURL, base+"/"))
}

// CheckHostURL says what is wrong with the address of a host. A credential has no
// place in it: it would be in lists and logs.
func CheckHostURL(kind HostKind, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxConnectionURL || u.Host == "" || strings.ContainsFunc(address, IsControl):
		return Invalid("base_url", "%.80q is no address: it is as https://git.example.com", hideUser(address))
	case !slices.Contains(schemesOf(kind), u.Scheme):
		return Invalid("base_url", "the address begins with one of %s://", strings.Join(schemesOf(kind), "://, "))
	case u.User != nil && (kind != HostGit || u.Scheme != "ssh"), hasPassword(u):
		return Invalid("base_url", "an address holds no user or password: give the credential by itself")
	case u.RawQuery != "" || u.Fragment != "":
		return Invalid("base_url", "an address ends before ? and #")
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") ||
		u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
		return Invalid("base_url", "%.80q names no host", hideUser(address))
	}
	return nil
}

func schemesOf(kind HostKind) []string {
	if kind == HostGit {
		return []string{"https", "http", "ssh"}
	}
	return []string{"https", "http"}
}

func hasPassword(u *url.URL) bool {
	if u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

// hideUser leaves out of an address what may be a credential in front of its host.
func hideUser(address string) string {
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		return address[at+1:]
	}
	return address
}

// CheckCredential says what is wrong with a credential for a kind of host.
func CheckCredential(kind HostKind, c HostCredential) error {
	allowed := []CredentialKind{CredentialToken}
	switch kind {
	case HostGit:
		allowed = []CredentialKind{CredentialPassword, CredentialSSHKey}
	case HostGitHub:
		allowed = []CredentialKind{CredentialToken, CredentialApp}
	case HostJira: // Cloud takes an address of mail and a token, Data Center a token alone
		allowed = []CredentialKind{CredentialToken, CredentialPassword}
	}
	switch {
	case !slices.Contains(allowed, c.Kind):
		return Invalid("credential.kind", "a connection of the kind %s takes one of %v", kind, allowed)
	case c.Secret == "" || len(c.Secret)+len(c.KnownHosts) > maxCredential || !utf8.ValidString(c.Secret):
		return Invalid("credential.secret", "give the credential's secret, of %d bytes at most", maxCredential)
	case (c.Kind == CredentialToken || c.Kind == CredentialPassword) &&
		strings.ContainsFunc(c.Secret+c.Username, IsControl):
		return Invalid("credential.secret", "the secret holds a line end or another control character")
	case c.Kind == CredentialPassword && c.Username == "":
		return Invalid("credential.username", "say whose password it is")
	case c.Kind == CredentialSSHKey && strings.TrimSpace(c.KnownHosts) == "":
		return Invalid("credential.known_hosts",
			"give the host's keys, as ssh-keyscan prints them: without them nobody knows who answers")
	case c.Kind == CredentialApp && (c.AppID <= 0 || c.InstallationID <= 0):
		return Invalid("credential.app_id", "give the ids of the app and of its installation")
	}
	return nil
}

// Repository is what a connection sees on its host.
type Repository struct {
	ID            int64
	ConnectionID  int64
	HostID        string // the host's own id, which stays when it is renamed
	FullName      string // as acme/payments
	DefaultBranch string // its name, without refs/heads/; empty: the host did not say
	Archived      bool
	Private       bool
	CloneURL      string    // for git, without credentials
	WebURL        string    // for people; empty: none
	ProjectID     int64     // the project that it is; 0: none
	HookID        string    // of the webhook that the connection made there; empty: none
	HookAddress   string    // that it was made to tell; empty: none, or from before this was kept
	GoneAt        time.Time // since when the host tells of it no more; zero: it does
	PolledAt      time.Time // when it was asked for news last; zero: never
	HeardAt       time.Time // of the newest webhook about a push or a change request; zero: none
	MissedAt      time.Time // when polling found the first push since that no webhook told of; zero: none
	Missed        string    // the newest such push, for people
	HookLacks     string    // what is wrong with its webhook at the host, for people; empty: nothing that is known
}

// HookPatience is how much later than polling a webhook may tell of a push. One that does
// not is silent: the repository is polled as if it had none.
const HookPatience = 5 * time.Minute

// HookSilent reports whether the webhook of the repository told nothing of a push that
// polling found, or cannot tell of all that it should.
func (r Repository) HookSilent(now time.Time) bool {
	missed := !r.MissedAt.IsZero() && now.Sub(r.MissedAt) >= HookPatience
	return r.ProjectID != 0 && r.HookID != "" && (missed || r.HookLacks != "")
}

// HookProblem says what a webhook did not tell, or cannot, for people; empty: nothing.
func (r Repository) HookProblem(now time.Time) string {
	if !r.HookSilent(now) {
		return ""
	}
	if r.HookLacks != "" {
		return "its webhook at the host " + r.HookLacks
	}
	return "no webhook told of " + r.Missed + ", found by polling"
}

// Scannable reports whether there is something to fetch.
func (r Repository) Scannable() bool { return !r.Archived && r.GoneAt.IsZero() && r.CloneURL != "" }

// State says in a word how the repository is at its host.
func (r Repository) State() string {
	switch {
	case !r.GoneAt.IsZero():
		return "gone"
	case r.Archived:
		return "archived"
	}
	return "present"
}

// MaxRepositories bounds what one connection lists.
const MaxRepositories = 10_000
