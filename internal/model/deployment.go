package model

import (
	"cmp"
	"regexp"
	"strings"
	"time"
)

// Deployment is the tenant: nothing is read or written without one.
type Deployment struct {
	ID        int64
	Slug      string // [a-z0-9][a-z0-9-]{0,62}, holding a non-digit
	Name      string
	CreatedAt time.Time
	OpenRules bool // whether the rules are served to who shows no token
	KeepsCode bool // whether code around findings is taken from builds
	// SecondFactor is whether people need one to work in it, unless an identity
	// provider signs them in. Tokens are not asked.
	SecondFactor bool
	OpenRequests int   // for exceptions, that wait to be decided
	Version      int64 // grows with every commit that changes an answer; see NextVersion
}

// chanceBits are the lower bits of a version that are left to chance.
const chanceBits = 24

// NextVersion is the version of a commit that follows another one's: their number goes
// up by one, and below it is what chance says. So a version names one commit, and not
// only a place in a row: a database that was restored from a backup, or a standby that
// was promoted without the last commits, comes to other versions than those that were
// lost. There are numbers for as many commits as anybody can make.
func NextVersion(version int64, chance uint32) int64 {
	return FirstVersion(Commits(version)+1) | int64(chance&(1<<chanceBits-1))
}

// Commits is the number in a version: how many commits changed an answer.
func Commits(version int64) int64 { return version >> chanceBits }

// FirstVersion is the least version with a number.
func FirstVersion(commits int64) int64 { return commits << chanceBits }

var slugPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// ValidSlug reports whether s may name a deployment. An all-digit segment of a
// path is an id, so a slug holds something else too (docs/reference/addressing.md).
func ValidSlug(s string) bool {
	return slugPattern.MatchString(s) && strings.Trim(s, "0123456789") != ""
}

// Actor is who changed something: a token, a person at the pages or at the
// command line, a scan, or the server itself.
type Actor struct {
	// Kind is token, user, collaborator (who replied at a code host), cli, scan, system, exception or vex.
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	Via  string `json:"via,omitempty"` // where they decided, of replies at a code host: octocat at acme/payments#3
}

// ActorUser is the kind of an actor who signed in; its id is the login name, and its
// name the display name, which people choose.
const ActorUser = "user"

// Label returns the login name of a user and the name of any other actor, which may be
// empty. It is never the display name of a user: several users can choose the same one.
func (a Actor) Label() string {
	if a.Kind == ActorUser && a.ID != "" {
		return a.ID
	}
	return a.Name
}

// String returns kind:label, for logs and lists; the id where there is no label.
func (a Actor) String() string {
	if label := cmp.Or(a.Label(), a.ID); label != "" {
		return a.Kind + ":" + label
	}
	return a.Kind
}

// AuditEvent says who changed what. Nothing rewrites it.
type AuditEvent struct {
	ID      int64
	At      time.Time
	By      Actor
	Action  string // as "project.update", "token.create"
	Subject string // as "project:17"
	Before  string // JSON of the members that changed; empty when created
	After   string // JSON of the members that changed; empty when deleted
}

// FirstStart is what the people of a deployment chose while it was set up. What they did
// is seen by what there is: scans, rules that block, people.
type FirstStart struct {
	// Left is whether an administrator said that they know their way: nobody is
	// shown the steps any more.
	Left bool
	// BlocksNothing is whether they chose that nothing blocks for now.
	BlocksNothing bool
}

// AnswerKept is how long the answer to a write is kept under its key.
const AnswerKept = 24 * time.Hour

// KeptAnswer is what a write answered. It is kept under the key that the client
// gave the request, so that the same request again is answered and not done
// again (docs/reference/requests.md).
type KeptAnswer struct {
	Key     string    // the client's, of 1 to 200 visible ASCII characters
	Request []byte    // a digest of all that was asked for
	Answer  []byte    // in whatever form its owner packs it
	At      time.Time // of the commit
}
