package redoubt

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
	GoneAt        time.Time // since when the host tells of it no more; zero: it does
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
