// Package scm provides clients for code hosts: accounts, repositories, change requests, comments,
// statuses and webhooks. It converts the types of the hosts' own clients to those of package model.
// It has no storage, and its callers decide when to send requests.
package scm

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Host is a connection to a code host. Errors are a HostError or a model.BusyError, or wrap
// model.ErrUnavailable if a retry may succeed. Unsupported operations return ErrUnsupported. It is
// safe for concurrent use.
type Host interface {
	// Who returns the account of the connection.
	Who(ctx context.Context) (Account, error)
	// Repositories passes all repositories that the account can access to handle, page by page.
	Repositories(ctx context.Context, handle func([]model.Repository) error) error
	// Repository returns a repository by the host's id.
	Repository(ctx context.Context, hostID string) (model.Repository, error)
	// Branch returns the newest commit of a branch, or model.ErrNotFound.
	Branch(ctx context.Context, r model.Repository, name string) (commit string, err error)
	// ChangeRequests returns the open change requests of a repository.
	ChangeRequests(ctx context.Context, r model.Repository) ([]model.ChangeRequest, error)
	// ChangeRequest returns a change request by its number.
	ChangeRequest(ctx context.Context, r model.Repository, number int64) (model.ChangeRequest, error)
	// SetStatus sets the status of a commit; the newest status of a context counts.
	SetStatus(ctx context.Context, r model.Repository, commit string, s Status) error
	// Comments returns the comments of a change request, including those on lines.
	Comments(ctx context.Context, r model.Repository, number int64) ([]Comment, error)
	// AddComment adds a comment and returns it with the host's ids. If c has a line, it is on that
	// line of the head. A line that is not part of the change is model.ErrConflict.
	AddComment(ctx context.Context, r model.Repository, at model.ChangeRequest, c Comment) (Comment, error)
	// Reply replies to a comment returned by Comments, in its thread if the host supports threads.
	Reply(ctx context.Context, r model.Repository, at model.ChangeRequest, to Comment, body string) error
	// EditComment replaces the text of a comment of the account.
	EditComment(ctx context.Context, r model.Repository, number int64, c Comment) error
	// ResolveComment marks a comment on a line as resolved.
	ResolveComment(ctx context.Context, r model.Repository, number int64, c Comment) error
	// Permission returns the permission of a login in a repository, and the account that has the
	// login now.
	Permission(ctx context.Context, r model.Repository, login string) (Permission, Account, error)
	// User returns the account that has a login now, or model.ErrNotFound.
	User(ctx context.Context, login string) (Account, error)
	// Hooks returns the webhooks of a repository, without other integrations of the host.
	Hooks(ctx context.Context, r model.Repository) ([]Hook, error)
	// AddHook creates a webhook for pushes, change requests and comments, and returns its id.
	AddHook(ctx context.Context, r model.Repository, address, secret string) (string, error)
	// RemoveHook deletes a webhook. A missing webhook is not an error.
	RemoveHook(ctx context.Context, r model.Repository, id string) error
}

// Hook is a webhook at a host.
type Hook struct {
	ID      string // the host's id
	Address string // target URL
	Off     bool   // whether it is disabled
	Lacks   string // events of AddHook that it does not send, by the host's names; empty: none
}

// Account is a user or bot at a host.
type Account struct {
	ID    string // the host's id; a login may be reassigned, an id is permanent
	Login string
}

// StatusState is the state of a commit status.
type StatusState uint8

// States of a commit status.
const (
	StatusPending StatusState = iota + 1
	StatusSuccess
	StatusFailure // findings block
	StatusError   // unknown because the scan failed
)

// Status is a commit status.
type Status struct {
	State   StatusState
	Context string // name of the status
	Text    string // one line
	URL     string // page with details
}

// Comment is a comment on a change request.
type Comment struct {
	ID       string // the host's id
	Thread   string // id of the thread; empty for a comment on the whole change request
	Author   string // login
	AuthorID string // the host's id of the author; empty if unknown
	Body     string
	Path     string // file of a comment on a line; empty for the whole change request
	Line     int    // line in the head
	Resolved bool
	Bot      bool      // written by a bot, if the host reports that
	Edited   bool      // whether the text was changed since its creation, possibly by other users
	At       time.Time // time of creation
}

// Key returns an id that is unique in the change request: some hosts number comments on lines
// separately.
func (c Comment) Key() string {
	if c.Path != "" {
		return "line:" + c.ID
	}
	return c.ID
}

// bothTimes is the maximum difference between the two times of a new comment at some hosts.
const bothTimes = time.Second

// rewritten reports whether a comment was changed after its creation. Some hosts also update the
// time when a comment is resolved; that counts as a change.
func rewritten(created, updated time.Time, within time.Duration) bool {
	return updated.Sub(created) > within
}

// Permission is a permission in a repository.
type Permission uint8

// Permissions in ascending order.
const (
	MayNothing Permission = iota
	MayRead
	MayWrite
	MayAdminister
)

// ErrUnsupported means that a host does not support an operation.
var ErrUnsupported = errors.New("the host does not support this")

// Config configures the clients of hosts.
type Config struct {
	Reach Reach            // addresses that hosts may have
	Clock func() time.Time // required
	Name  string           // name of this program, sent as the user agent
	// Known caches responses. If nil, nothing is cached.
	Known *Known
	// Tokens caches the tokens of apps until they expire. If nil, each opened host creates its own.
	Tokens *Tokens
	// RateLimits delays requests after a host requested a wait. If nil, requests are always sent.
	RateLimits *RateLimits
	// Local allows git remotes in local folders, such as file:///srv/x.git.
	Local bool
}

// Limits of hosts' responses.
const (
	perPage        = 50
	maxPages       = model.MaxRepositories / perPage
	maxAnswer      = 16 << 20
	requestTimeout = 30 * time.Second
	maxComments    = 2000
	maxOpen        = 500 // change requests
)

// Forget removes the cached data of connections without a request since a time, such as removed
// connections.
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

// Open returns the host of a connection. It sends no request.
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
