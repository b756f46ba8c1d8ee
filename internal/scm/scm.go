// Package scm speaks with code hosts: who a connection is there, which repositories it
// sees, what change requests are told.
//
// Its border: it knows the nouns, one host at a time and its HTTP API. The types of the
// hosts' own clients end here. It knows no store; what is kept, and when a host is asked,
// is decided by who calls.
package scm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Host is a code host, as one connection knows it. Its errors are HostError,
// model.BusyError, or wrap model.ErrUnavailable where another try may help; what a
// host cannot do is ErrUnsupported. It is safe for concurrent use.
type Host interface {
	// Who is the account that the connection has there.
	Who(ctx context.Context) (Account, error)
	// Repositories hands over all that the account sees, page by page.
	Repositories(ctx context.Context, take func([]model.Repository) error) error
	// Repository finds one by the host's own id.
	Repository(ctx context.Context, hostID string) (model.Repository, error)
	// Branch is the newest commit of a branch; one that is not there is model.ErrNotFound.
	Branch(ctx context.Context, r model.Repository, name string) (commit string, err error)
	// ChangeRequests lists the open ones of a repository.
	ChangeRequests(ctx context.Context, r model.Repository) ([]model.ChangeRequest, error)
	// ChangeRequest finds one by its number.
	ChangeRequest(ctx context.Context, r model.Repository, number int64) (model.ChangeRequest, error)
	// SetStatus says beside a commit what became of it; the newest of a context counts.
	SetStatus(ctx context.Context, r model.Repository, commit string, s Status) error
	// Comments lists those of a change request, on lines and not.
	Comments(ctx context.Context, r model.Repository, number int64) ([]Comment, error)
	// AddComment writes one, and returns it with the host's ids: on a line of the head
	// where it names one. A line that is no part of the change is model.ErrConflict.
	AddComment(ctx context.Context, r model.Repository, at model.ChangeRequest, c Comment) (Comment, error)
	// Reply answers a comment of Comments, in its thread where the host has those.
	Reply(ctx context.Context, r model.Repository, at model.ChangeRequest, to Comment, body string) error
	// EditComment gives one of the account's own another text.
	EditComment(ctx context.Context, r model.Repository, number int64, c Comment) error
	// ResolveComment folds a comment on a line away, as settled.
	ResolveComment(ctx context.Context, r model.Repository, number int64, c Comment) error
	// Permission says what somebody may do in a repository, and who has that login now.
	Permission(ctx context.Context, r model.Repository, login string) (Permission, Account, error)
	// User finds who has a login now. Nobody is model.ErrNotFound.
	User(ctx context.Context, login string) (Account, error)
	// Hooks lists the webhooks of a repository; what else the host may tell others by is
	// not among them.
	Hooks(ctx context.Context, r model.Repository) ([]Hook, error)
	// AddHook has the host tell an address of pushes, change requests and comments, and
	// returns the host's id of that.
	AddHook(ctx context.Context, r model.Repository, address, secret string) (string, error)
	// RemoveHook ends that; one that is gone already is no error.
	RemoveHook(ctx context.Context, r model.Repository, id string) error
}

// Hook is a webhook at a host.
type Hook struct {
	ID      string // the host's
	Address string // that it tells
	Off     bool   // it tells nothing for now
	Lacks   string // the events that AddHook has a host tell and this one does not, as the host calls them; empty: none
}

// Account is somebody at a host: who a connection is there, or who wrote.
type Account struct {
	ID    string // the host's; a login may be another's later, an id never
	Login string
}

// StatusState is what is said of a commit.
type StatusState uint8

// States of a commit.
const (
	StatusPending StatusState = iota + 1
	StatusSuccess
	StatusFailure // findings block
	StatusError   // nobody can say, for the scan failed
)

// Status is what is said beside a commit.
type Status struct {
	State   StatusState
	Context string // who says it
	Text    string // a line
	URL     string // of what there is to read
}

// Comment is a text at a change request.
type Comment struct {
	ID       string // the host's
	Thread   string // what it is part of, the same of all that answer each other; empty: of the whole
	Author   string // the login
	AuthorID string // the host's id of the author; empty: it tells none
	Body     string
	Path     string // of a comment on a line; empty: of the whole
	Line     int    // of the head
	Resolved bool
	Bot      bool      // a program wrote it, as far as the host tells
	Edited   bool      // the text is another than the author wrote first; others than the author may do that
	At       time.Time // when it was written
}

// Key tells a comment from all others of its change request: some hosts count those on
// lines by themselves.
func (c Comment) Key() string {
	if c.Path != "" {
		return "line:" + c.ID
	}
	return c.ID
}

// bothTimes is how long some hosts take from one time of a new comment to the other.
const bothTimes = time.Second

// rewritten reports whether a text was changed after it was written. That it was resolved is
// a change to some hosts, too: nobody can tell, so it counts.
func rewritten(created, updated time.Time, within time.Duration) bool {
	return updated.Sub(created) > within
}

// Permission is what somebody may do in a repository.
type Permission uint8

// Permissions, least first.
const (
	MayNothing Permission = iota
	MayRead
	MayWrite
	MayAdminister
)

// ErrUnsupported means that a host cannot do what was asked.
var ErrUnsupported = errors.New("the host cannot do that")

// Config is what hosts are asked with.
type Config struct {
	Reach Reach            // which addresses they may have
	Clock func() time.Time // required
	Name  string           // of this program, as hosts log it
	// Known has what hosts told before, so that they need not tell it again. Nil: nothing is
	// kept.
	Known *Known
	// Tokens has what is shown for apps, until it ends. Nil: each host that is opened makes its
	// own.
	Tokens *Tokens
	// RateLimits delays requests to hosts that asked to wait. Nil sends them.
	RateLimits *RateLimits
	// Local lets remotes of git be folders of this machine, as file:///srv/x.git.
	Local bool
}

// bounds of what hosts tell.
const (
	perPage     = 50
	maxPages    = model.MaxRepositories / perPage
	maxAnswer   = 16 << 20
	askFor      = 30 * time.Second
	maxComments = 2000
	maxOpen     = 500 // change requests
)

// Forget drops what is kept in memory for connections by which nothing was asked since a time,
// as those that are gone.
func (c Config) Forget(before time.Time) {
	if c.Known != nil {
		c.Known.forget(before)
	}
	if c.Tokens != nil {
		c.Tokens.forget(before)
	}
	if c.RateLimits != nil {
		c.RateLimits.forget(before)
	}
}

// Open returns the host of a connection, which nobody has asked anything yet.
func (c Config) Open(at model.Connection, credential model.HostCredential) (Host, error) {
	if local := c.Local && at.Kind == model.HostGit && strings.HasPrefix(at.BaseURL, "file:///"); !local {
		if err := model.CheckHostURL(at.Kind, at.BaseURL); err != nil {
			return nil, err
		}
	}
	switch at.Kind {
	case model.HostGitea:
		return newGitea(c, at, credential), nil
	case model.HostGitHub:
		return newGitHub(c, at, credential)
	case model.HostGitLab:
		return newGitLab(c, at, credential), nil
	case model.HostJira:
		return newJira(c, at, credential), nil
	}
	return newGit(c, at, credential), nil
}
