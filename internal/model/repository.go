package model

import "time"

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
