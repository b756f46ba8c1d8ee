package model

import (
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// HostKind is the kind of a code host or issue tracker.
type HostKind uint8

// Kinds of hosts. The numbers are stored and must not change.
const (
	HostGit    HostKind = iota + 1 // any Git remote without an API
	HostGitea                      // Gitea and Forgejo
	HostGitHub                     // GitHub and GitHub Enterprise
	HostGitLab                     // GitLab, also self-managed
	HostJira                       // Jira Cloud and Data Center: issues only
)

var hostKinds = enumNames[HostKind]{"", "git", "gitea", "github", "gitlab", "jira"}

// String returns the wire name.
func (k HostKind) String() string { return hostKinds.name(k) }

// ParseHostKind parses a wire name.
func ParseHostKind(s string) (HostKind, bool) { return hostKinds.parse(s) }

// HostKinds returns all kinds.
func HostKinds() []HostKind { return []HostKind{HostGitea, HostGitHub, HostGitLab, HostGit, HostJira} }

// HasAPI reports whether hosts of the kind have an API for repositories, statuses and comments.
func (k HostKind) HasAPI() bool { return k != HostGit }

// HasWebhooks reports whether hosts of the kind can send webhooks for pushes and change requests.
func (k HostKind) HasWebhooks() bool { return k.HasAPI() && k != HostJira }

// HasIssues reports whether hosts of the kind have issues, which can be linked as tickets.
func (k HostKind) HasIssues() bool { return k != HostGit }

// Connection is an account at a code host.
type Connection struct {
	ID      int64
	Kind    HostKind
	Name    string // display name
	BaseURL string // of the host, without a trailing slash; for HostGit the remote itself
	Account string // login name, as reported by the host; empty until then
	// Credential and WebhookSecret are encrypted; empty if there is none.
	Credential    []byte
	WebhookSecret []byte
	// Follow contains globs of full repository names. Matching repositories automatically become
	// projects, except those that match a glob with a leading "!".
	Follow    []string
	Replies   ReplyPolicy // accounts at the host that can triage by replies
	RepliesAt time.Time   // earlier replies are ignored; zero if unknown
	People    HostPeople  // links of accounts at the host
	CreatedAt time.Time
	CheckedAt time.Time // last request to the host; zero if never
	Problem   string    // error of the last request, for display; empty if none
	WebhookAt time.Time // newest verified webhook; zero if none
}

// Follows reports whether the repository with the full name automatically becomes a project.
func (c Connection) Follows(name string) bool {
	followed := false
	for _, glob := range c.Follow {
		not, excludes := strings.CutPrefix(glob, "!")
		switch matches := (ProjectGlobs{not}).Allows(name); {
		case matches && excludes:
			return false
		case matches:
			followed = true
		}
	}
	return followed
}

// ConnectionChange contains changes of a connection. Nil fields are left unchanged.
type ConnectionChange struct {
	Name       *string
	Follow     *[]string
	Replies    *ReplyPolicy
	People     *HostPeople
	Credential *HostCredential
}

// Of returns the connection with the changes applied, except for the credential.
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

// CredentialKind is the method of authentication at a host.
type CredentialKind string

// Kinds of credentials.
const (
	CredentialToken    CredentialKind = "token"    // API token, also used for Git
	CredentialPassword CredentialKind = "password" // user name and password for Git over HTTPS
	CredentialSSHKey   CredentialKind = "ssh_key"  // private key for Git over SSH
	CredentialApp      CredentialKind = "app"      // private key of a GitHub App
)

// HostCredential is the credential of a connection. It is stored encrypted and must not be
// displayed or logged.
type HostCredential struct {
	Kind     CredentialKind `json:"kind"`
	Username string         `json:"username,omitempty"` // for CredentialPassword
	Secret   string         `json:"secret"`
	// KnownHosts contains host keys in the known_hosts format, for CredentialSSHKey.
	KnownHosts     string `json:"known_hosts,omitempty"`
	AppID          int64  `json:"app_id,omitempty"`          // for CredentialApp
	InstallationID int64  `json:"installation_id,omitempty"` // for CredentialApp
}

// String returns a fixed text, so that a logged credential remains secret.
func (c HostCredential) String() string { return "(credential)" }

// GoString returns a fixed text too.
func (c HostCredential) GoString() string { return c.String() }

// Basic returns the user name and password for Git over HTTPS.
func (c HostCredential) Basic(kind HostKind) (user, password string) {
	switch {
	case c.Kind == CredentialPassword:
		return c.Username, c.Secret
	case kind == HostGitHub:
		return "x-access-token", c.Secret
	}
	return "oauth2", c.Secret
}

// Limits of a connection's fields.
const (
	MaxConnections     = 100
	maxConnectionName  = 100
	maxConnectionURL   = 1000
	maxCredential      = 16 << 10
	maxConnectionGlobs = 100
	maxConnectionGlob  = 512
)

// CheckConnection validates a requested connection.
func CheckConnection(c Connection) error {
	if strings.TrimSpace(c.Name) == "" || utf8.RuneCountInString(c.Name) > maxConnectionName ||
		strings.ContainsFunc(c.Name, IsControl) {
		return Invalid("name", "enter a name of at most %d characters", maxConnectionName)
	}
	if hostKinds.name(c.Kind) == "" {
		return Invalid("kind", "unknown kind: use gitea, github, gitlab, jira or git")
	}
	if len(c.Follow) > maxConnectionGlobs {
		return Invalid("follow", "%d globs given; the limit is %d", len(c.Follow), maxConnectionGlobs)
	}
	for _, glob := range c.Follow {
		if strings.TrimSpace(glob) == "" || strings.ContainsFunc(glob, IsControl) || !utf8.ValidString(glob) ||
			len(glob) > maxConnectionGlob || glob == "!" {
			return Invalid("follow", "invalid glob %.40q: use acme/*, ** for all, or !acme/old to exclude", glob)
		}
	}
	if len(c.People) > MaxHostPeople {
		return Invalid("people", "at most %d people can be linked", MaxHostPeople)
	}
	if c.Replies != 0 && c.Replies.String() == "" {
		return Invalid("replies", "use linked, collaborators or off")
	}
	return CheckHostURL(c.Kind, c.BaseURL)
}

// Serves reports whether a clone URL belongs to the host for which the connection's credential is
// valid.
func (c Connection) Serves(cloneURL string) bool {
	base := strings.TrimSuffix(c.BaseURL, "/")
	return base != "" && (cloneURL == c.BaseURL || strings.HasPrefix(cloneURL, base+"/"))
}

// CheckHostURL validates the URL of a host. It rejects credentials, because URLs appear in lists
// and logs.
func CheckHostURL(kind HostKind, address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxConnectionURL || u.Host == "" || strings.ContainsFunc(address, IsControl):
		return Invalid("base_url", "invalid URL %.80q: use https://git.example.com", hideUser(address))
	case !slices.Contains(schemesOf(kind), u.Scheme):
		return Invalid("base_url", "the URL must begin with one of %s://", strings.Join(schemesOf(kind), "://, "))
	case u.User != nil && (kind != HostGit || u.Scheme != "ssh"), hasPassword(u):
		return Invalid("base_url", "the URL must not contain a user or password: enter the credential separately")
	case u.RawQuery != "" || u.Fragment != "":
		return Invalid("base_url", "the URL must not contain ? or #")
	case u.Hostname() == "" || strings.HasPrefix(u.Hostname(), "-") ||
		u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
		return Invalid("base_url", "%.80q has no valid host", hideUser(address))
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

// hideUser removes everything before the host from a URL, because it may be a credential.
func hideUser(address string) string {
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		return address[at+1:]
	}
	return address
}

// CheckCredential validates a credential for a kind of host.
func CheckCredential(kind HostKind, c HostCredential) error {
	allowed := []CredentialKind{CredentialToken}
	switch kind {
	case HostGit:
		allowed = []CredentialKind{CredentialPassword, CredentialSSHKey}
	case HostGitHub:
		allowed = []CredentialKind{CredentialToken, CredentialApp}
	case HostJira: // Jira Cloud requires an email address and a token, Data Center only a token
		allowed = []CredentialKind{CredentialToken, CredentialPassword}
	}
	switch {
	case !slices.Contains(allowed, c.Kind):
		return Invalid("credential.kind", "a connection of kind %s requires one of %v", kind, allowed)
	case c.Secret == "" || len(c.Secret)+len(c.KnownHosts) > maxCredential || !utf8.ValidString(c.Secret):
		return Invalid("credential.secret", "enter a secret of at most %d bytes", maxCredential)
	case (c.Kind == CredentialToken || c.Kind == CredentialPassword) &&
		strings.ContainsFunc(c.Secret+c.Username, IsControl):
		return Invalid("credential.secret", "the secret must not contain line ends or control characters")
	case c.Kind == CredentialPassword && c.Username == "":
		return Invalid("credential.username", "enter the user name of the password")
	case c.Kind == CredentialSSHKey && strings.TrimSpace(c.KnownHosts) == "":
		return Invalid("credential.known_hosts",
			"enter the host keys printed by ssh-keyscan: they verify the host")
	case c.Kind == CredentialApp && (c.AppID <= 0 || c.InstallationID <= 0):
		return Invalid("credential.app_id", "enter the app ID and the installation ID")
	}
	return nil
}

// Repository is a repository that a connection can access.
type Repository struct {
	ID            int64
	ConnectionID  int64
	HostID        string // ID at the host, which survives renames
	FullName      string // such as acme/payments
	DefaultBranch string // branch name without refs/heads/; empty if the host does not provide it
	Archived      bool
	Private       bool
	CloneURL      string    // for Git, without credentials
	WebURL        string    // for display; empty if none
	ProjectID     int64     // linked project; 0 if none
	HookID        string    // webhook created by the connection; empty if none
	HookAddress   string    // target of that webhook; empty if none or unknown
	GoneAt        time.Time // since when the host does not list it; zero if it does
	PolledAt      time.Time // last poll; zero if never
	WebhookAt     time.Time // newest webhook about a push or a change request; zero if none
	MissedAt      time.Time // when polling found the first push since then without a webhook; zero if none
	Missed        string    // the newest such push, for display
	HookLacks     string    // error of its webhook at the host, for display; empty if none is known
}

// HookPatience is the time after which a webhook for a push found by polling is considered missing.
// The repository is then polled as if it had no webhook.
const HookPatience = 5 * time.Minute

// HookSilent reports whether the repository's webhook missed a push that polling found, or is
// misconfigured.
func (r Repository) HookSilent(now time.Time) bool {
	missed := !r.MissedAt.IsZero() && now.Sub(r.MissedAt) >= HookPatience
	return r.ProjectID != 0 && r.HookID != "" && (missed || r.HookLacks != "")
}

// HookProblem returns a message about the problem of the webhook, or "" if there is none.
func (r Repository) HookProblem(now time.Time) string {
	if !r.HookSilent(now) {
		return ""
	}
	if r.HookLacks != "" {
		return "its webhook at the host " + r.HookLacks
	}
	return "no webhook was received for " + r.Missed + ", which polling found"
}

// Scannable reports whether the repository can be fetched.
func (r Repository) Scannable() bool { return !r.Archived && r.GoneAt.IsZero() && r.CloneURL != "" }

// State returns a word for the state of the repository at its host.
func (r Repository) State() string {
	switch {
	case !r.GoneAt.IsZero():
		return "gone"
	case r.Archived:
		return "archived"
	}
	return "present"
}

// MaxRepositories is the maximum number of repositories per connection.
const MaxRepositories = 10_000
