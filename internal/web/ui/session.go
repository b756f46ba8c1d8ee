package ui

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"unicode"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/auth/sso"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// ViewerSession returns the session of the viewer.
func ViewerSession(req *Request) (auth.SessionInfo, error) {
	if req.SignIn == nil {
		return auth.SessionInfo{}, model.ErrNotFound
	}
	return req.SignIn.Session(req.HTTP)
}

const (
	// ChoosePath is the page on which users with several deployments choose one.
	ChoosePath = "/choose"
	// ChosenSeconds is how long a browser remembers the choice, in seconds.
	ChosenSeconds = 400 * 24 * 3600
)

// ChosenName returns the name of the cookie with the last chosen deployment.
func (s *SignIn) ChosenName(r *http.Request) string { return s.CookieName(r) + "-deployment" }

// chosen returns the deployment for a request that names none: the user's only one, or the one last
// chosen in this browser. RoleNone means that the user must choose. There is no default by order: a
// user who creates a deployment could otherwise become the default.
func (s *SignIn) chosen(r *http.Request, v auth.SessionInfo) (model.Deployment, model.Role) {
	if len(v.Memberships) == 1 {
		return v.Memberships[0].Deployment, v.Memberships[0].Role
	}
	// These pages require a choice each time: a scanner in the wrong deployment would report there.
	if strings.HasSuffix(r.Pattern, ApprovePath) || strings.HasSuffix(r.Pattern, AuthorizePath) ||
		strings.HasSuffix(r.Pattern, DevicePath) {
		return model.Deployment{}, model.RoleNone
	}
	return s.LastChoice(r, v)
}

// LastChoice returns the last chosen deployment, if the user still has a role in it.
func (s *SignIn) LastChoice(r *http.Request, v auth.SessionInfo) (model.Deployment, model.Role) {
	cookie, err := r.Cookie(s.ChosenName(r))
	if err != nil {
		return model.Deployment{}, model.RoleNone
	}
	return v.Role(cookie.Value)
}

// CurrentSession returns the session for a page below no deployment. Without a session it redirects
// to the sign-in page and returns a session without id.
func CurrentSession(req *Request) (auth.SessionInfo, error) {
	if req.SignIn == nil {
		return auth.SessionInfo{}, model.ErrNotFound
	}
	me, err := req.SignIn.Session(req.HTTP)
	if errors.Is(err, ErrNotSignedIn) {
		req.Lead(SignInAddress(req.next()))
		return auth.SessionInfo{}, nil
	}
	return me, err
}

// leadToInvitations redirects a user without roles to their invitations, if there are any.
func leadToInvitations(req *Request) (bool, error) {
	me, err := ViewerSession(req)
	if err != nil {
		return false, err
	}
	list, err := req.Store.InvitationsFor(req.HTTP.Context(), me.User.Name)
	if err == nil && len(list) == 0 {
		err = errNoRole
	}
	if err != nil {
		return false, err
	}
	req.Lead(InvitationsPath)
	return false, nil
}

// SignInAddress returns the address of the sign-in page that returns to next.
func SignInAddress(next string) string {
	if next == "/" {
		return "/login"
	}
	return "/login?next=" + url.QueryEscape(next)
}

// SignIn contains the services for signing in.
type SignIn struct {
	Sessions *auth.Sessions
	// Factors checks second factors.
	Factors *auth.SecondFactors
	// Passkeys signs in by passkeys; nil if the server's address is unknown or unsuitable for
	// passkeys.
	Passkeys *auth.Passkeys
	// Provider signs in by an external identity provider; nil if none is configured.
	Provider *sso.Provider
	// Secure reports whether browsers reach the server only by https.
	Secure bool
	// TrustedProxies are the networks whose X-Forwarded headers are trusted.
	TrustedProxies []netip.Prefix
}

// members determines viewers by their session cookie.
type members struct{ *SignIn }

// Viewer returns the sender of a request.
func (m members) Viewer(r *http.Request) (Viewer, error) {
	v, err := m.Session(r)
	if err != nil {
		return Viewer{}, err
	}
	d, role := v.Role(r.PathValue("deployment"))
	switch named := r.PathValue("deployment"); {
	case len(v.Memberships) == 0:
		return Viewer{}, errNoRole
	case named == "" || named == "-":
		if d, role = m.chosen(r, v); role == model.RoleNone {
			return Viewer{}, errChoose
		}
	case role == model.RoleNone:
		return Viewer{}, model.ErrNotFound
	}
	if d.SecondFactor && !v.User.HasSecondFactor() && !v.Session.ByProvider() {
		return Viewer{}, errSecondFactor
	}
	return Viewer{
		UserID:      v.User.ID,
		User:        v.User.Name,
		DisplayName: v.User.DisplayName,
		Role:        role,
		Deployment:  d,
		Several:     len(v.Memberships) > 1,
	}, nil
}

// Session returns the session of a request, or ErrNotSignedIn.
func (s *SignIn) Session(r *http.Request) (auth.SessionInfo, error) {
	cookie, err := r.Cookie(s.CookieName(r))
	if err != nil {
		return auth.SessionInfo{}, ErrNotSignedIn
	}
	v, err := s.Sessions.Authenticate(r.Context(), cookie.Value)
	if errors.Is(err, auth.ErrUnauthenticated) {
		err = ErrNotSignedIn
	}
	return v, err
}

func (s *SignIn) from(r *http.Request) httpx.Origin {
	return httpx.Trust{Proxies: s.TrustedProxies}.Origin(r)
}

// IsSecure reports whether the browser uses https.
func (s *SignIn) IsSecure(r *http.Request) bool { return s.Secure || s.from(r).Secure }

// Origin returns the client address and agent of a request.
func (s *SignIn) Origin(r *http.Request) auth.Origin {
	return auth.Origin{Address: s.from(r).Address, Agent: r.UserAgent()}
}

// CookieName returns the name of the session cookie. Over https it has the prefix __Host-, which
// binds the cookie to this host.
func (s *SignIn) CookieName(r *http.Request) string {
	if s.IsSecure(r) {
		return "__Host-redoubt"
	}
	return "redoubt"
}

// SetSessionCookie sets the cookie with the secret of a new session.
func (s *SignIn) SetSessionCookie(w http.ResponseWriter, r *http.Request, secret string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.CookieName(r), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: s.IsSecure(r), SameSite: http.SameSiteLaxMode,
	})
}

// SafeNext returns next if it is a path of this server, and "/" otherwise. It prevents open
// redirects.
func SafeNext(next string) string {
	u, err := url.Parse(next)
	bad := func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, bad) {
		return "/"
	}
	return next
}
