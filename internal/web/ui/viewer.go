package ui

import (
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/model"
)

// Viewer is the person who looks at a page.
type Viewer struct {
	UserID      int64  // what is theirs alone hangs on it
	User        string // the name they sign in with; unique
	DisplayName string // for people; may be empty
	Role        model.Role
	Deployment  model.Deployment // the one that they look at
	Several     bool             // whether they have a role in others too
}

// Name is what the pages call the viewer.
func (v Viewer) Name() string {
	if v.DisplayName != "" {
		return v.DisplayName
	}
	return v.User
}

// May reports whether the viewer's role is at least the given one.
func (v Viewer) May(least model.Role) bool { return v.Role >= least }

// Actor is the viewer in trails.
func (v Viewer) Actor() model.Actor {
	return model.Actor{Kind: model.ActorUser, ID: v.User, Name: v.Name()}
}

// Viewers knows who looks.
type Viewers interface {
	// Viewer says who sends a request. r.PathValue("deployment") is the slug or
	// id of the deployment asked for; "-" or nothing is the viewer's own
	// choice, never one that somebody else could make. Nobody signed in is
	// ErrNotSignedIn; a deployment that the viewer has no role in, or that does
	// not exist, is model.ErrNotFound.
	Viewer(r *http.Request) (Viewer, error)
}

// ErrNotSignedIn leads to the sign-in page and from there back.
var ErrNotSignedIn = errors.New("nobody is signed in")

// nobody is who looks where no sign-in is set up.
type nobody struct{}

// Viewer finds nobody.
func (nobody) Viewer(*http.Request) (Viewer, error) { return Viewer{}, ErrNotSignedIn }
