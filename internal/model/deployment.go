package model

import (
	"cmp"
	"regexp"
	"strings"
	"time"
)

// Deployment is a tenant. All data access requires one.
type Deployment struct {
	ID         int64
	Slug       string // [a-z0-9][a-z0-9-]{0,62} with at least one non-digit
	Name       string
	CreatedAt  time.Time
	OpenRules  bool // rules are served without a token
	StoresCode bool // code around findings is accepted from builds
	// SecondFactor is whether users need a second factor, unless an identity provider signs them
	// in. It does not apply to tokens.
	SecondFactor bool
	OpenRequests int   // number of undecided exception requests
	Version      int64 // increases with each commit that changes a result; see NextVersion
}

// chanceBits is the number of low bits of a version that are random.
const chanceBits = 24

// NextVersion returns the version of the next commit: a counter in the high bits and random low
// bits. So a version identifies a commit, not only a position in a sequence. After a restore from a
// backup, or a failover that loses commits, new versions differ from the lost ones.
func NextVersion(version int64, chance uint32) int64 {
	return FirstVersion(Commits(version)+1) | int64(chance&(1<<chanceBits-1))
}

// Commits returns the counter in a version: the number of commits that changed a result.
func Commits(version int64) int64 { return version >> chanceBits }

// FirstVersion returns the smallest version with the given counter.
func FirstVersion(commits int64) int64 { return commits << chanceBits }

var slugPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ValidSlug reports whether s is a valid slug. A slug contains a non-digit, because an all-digit
// path segment is an ID (docs/reference/addressing.md).
func ValidSlug(s string) bool {
	return slugPattern.MatchString(s) && strings.Trim(s, "0123456789") != ""
}

// Actor is the originator of a change: a token, a user, a scan or the server.
type Actor struct {
	// Kind is token, user, collaborator (author of a reply at a code host), cli, scan, system,
	// exception or vex.
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Via  string `json:"via,omitempty"` // origin of a reply at a code host, such as octocat at acme/payments#3
}

// ActorUser is the kind of a signed-in user. The actor's ID is the login name, and its name the
// display name, which users can choose.
const ActorUser = "user"

// Label returns the login name of a user, or the name of another actor, which may be empty. It does
// not return display names of users, because they are not unique.
func (a Actor) Label() string {
	if a.Kind == ActorUser && a.ID != "" {
		return a.ID
	}
	return a.Name
}

// String returns kind:label for logs and lists, with the ID if the label is empty.
func (a Actor) String() string {
	if label := cmp.Or(a.Label(), a.ID); label != "" {
		return a.Kind + ":" + label
	}
	return a.Kind
}

// AuditEvent is an immutable record of a change.
type AuditEvent struct {
	ID      int64
	At      time.Time
	By      Actor
	Action  string // such as "project.update" or "token.create"
	Subject string // such as "project:17"
	Before  string // JSON of the changed fields; empty if created
	After   string // JSON of the changed fields; empty if deleted
}

// FirstStart contains choices of administrators during the setup of a deployment. Completed steps
// are derived from scans, blocking rules and users instead.
type FirstStart struct {
	// Left is whether an administrator dismissed the setup guide for all users.
	Left bool
	// BlocksNothing is whether they chose that no rule blocks for now.
	BlocksNothing bool
}

// AnswerRetention is how long the response to a write is stored under its idempotency key.
const AnswerRetention = 24 * time.Hour

// StoredAnswer is the stored response to a write. A repeated request with the same idempotency key
// receives this response and is not executed again (docs/reference/requests.md).
type StoredAnswer struct {
	Key     string    // idempotency key of 1 to 200 visible ASCII characters
	Request []byte    // digest of the request
	Answer  []byte    // encoded by its owner
	At      time.Time // of the commit
}
