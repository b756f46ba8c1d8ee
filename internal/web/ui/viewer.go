package ui

import (
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/model"
)

// Viewer is the signed-in user who requests a page.
type Viewer struct {
	UserID      int64  // owner of personal data
	User        string // sign-in name; unique
	DisplayName string // may be empty
	Role        model.Role
	Deployment  model.Deployment // deployment of the page
	Several     bool             // the viewer has roles in other deployments
}

// Name returns the display name of the viewer, or else the sign-in name.
func (v Viewer) Name() string {
	if v.DisplayName != "" {
		return v.DisplayName
	}
	return v.User
}

// May reports whether the viewer's role is at least the given one.
func (v Viewer) May(least model.Role) bool { return v.Role >= least }

// Actor returns the viewer as the actor of audit entries.
func (v Viewer) Actor() model.Actor {
	return model.Actor{Kind: model.ActorUser, ID: v.User, Name: v.Name()}
}

// Viewers determines the viewer of a request.
type Viewers interface {
	// Viewer returns the sender of a request. r.PathValue("deployment") is the slug or id of the
	// requested deployment. "-" or an empty value means the viewer's own choice, which other users
	// cannot influence. Without a session it returns ErrNotSignedIn. It returns model.ErrNotFound
	// if the deployment does not exist or the viewer has no role in it.
	Viewer(r *http.Request) (Viewer, error)
}

// ErrNotSignedIn redirects the browser to the sign-in page and back.
var ErrNotSignedIn = errors.New("not signed in")

// signedOut is the Viewers without sign-in.
type signedOut struct{}

// Viewer always returns ErrNotSignedIn.
func (signedOut) Viewer(*http.Request) (Viewer, error) { return Viewer{}, ErrNotSignedIn }
