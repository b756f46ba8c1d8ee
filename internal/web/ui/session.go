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

// ViewerSession is the session of the viewer.
func ViewerSession(req *Request) (auth.SessionInfo, error) {
	if req.SignIn == nil {
		return auth.SessionInfo{}, model.ErrNotFound
	}
	return req.SignIn.Session(req.HTTP)
}

const (
	// ChoosePath is the page where people with several deployments say which one
	// they mean.
	ChoosePath = "/choose"
	// ChosenSeconds is how long a browser remembers the choice.
	ChosenSeconds = 400 * 24 * 3600
)

// ChosenName is the name of the cookie with the deployment that was chosen last.
func (s *SignIn) ChosenName(r *http.Request) string { return s.CookieName(r) + "-deployment" }

// chosen is the deployment that somebody means who names none: their only one, or
// the one that they chose last, in this browser. No role says that they have to
// choose. It is never the first by some order: whoever makes a deployment could
// come first.
func (s *SignIn) chosen(r *http.Request, v auth.SessionInfo) (model.Deployment, model.Role) {
	if len(v.Memberships) == 1 {
		return v.Memberships[0].Deployment, v.Memberships[0].Role
	}
	// They are asked each time: a scanner that is let into the wrong one reports there.
	if strings.HasSuffix(r.Pattern, ApprovePath) || strings.HasSuffix(r.Pattern, AuthorizePath) ||
		strings.HasSuffix(r.Pattern, DevicePath) {
		return model.Deployment{}, model.RoleNone
	}
	return s.LastChoice(r, v)
}

// LastChoice is the deployment that was chosen last, if it is still theirs.
func (s *SignIn) LastChoice(r *http.Request, v auth.SessionInfo) (model.Deployment, model.Role) {
	cookie, err := r.Cookie(s.ChosenName(r))
	if err != nil {
		return model.Deployment{}, model.RoleNone
	}
	return v.Role(cookie.Value)
}

// CurrentSession is the session of who looks at a page that is below no deployment.
// Nobody is led to the sign-in, and then the session has no id.
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

// leadToInvitations leads who has no role yet to what they are invited to, if
// anything.
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

// SignInAddress is the address of the sign-in page, which leads to next.
func SignInAddress(next string) string {
	if next == "/" {
		return "/login"
	}
	return "/login?next=" + url.QueryEscape(next)
}

// SignIn is what the pages need to let people in themselves.
type SignIn struct {
	Sessions *auth.Sessions
	// Factors asks for the second factor of who has one.
	Factors *auth.SecondFactors
	// Passkeys signs in by passkeys; nil where browsers have none for the server's
	// address, or none was told.
	Passkeys *auth.Passkeys
	// Provider signs people in elsewhere; nil where none is set up.
	Provider *sso.Provider
	// Secure is whether browsers reach the server by https alone.
	Secure bool
	// TrustedProxies are the networks whose X-Forwarded headers count.
	TrustedProxies []netip.Prefix
}

// members finds viewers by the cookie of their session.
type members struct{ *SignIn }

// Viewer says who sends a request.
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

// Session finds the session of a request.
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

// from is where a request comes from.
func (s *SignIn) from(r *http.Request) httpx.Origin {
	return httpx.Trust{Proxies: s.TrustedProxies}.Origin(r)
}

// IsSecure reports whether the browser came by https.
func (s *SignIn) IsSecure(r *http.Request) bool { return s.Secure || s.from(r).Secure }

// Origin is where a request comes from, as sign-in wants it.
func (s *SignIn) Origin(r *http.Request) auth.Origin {
	return auth.Origin{Address: s.from(r).Address, Agent: r.UserAgent()}
}

// CookieName begins with __Host- over https, which browsers take from this very
// host alone.
func (s *SignIn) CookieName(r *http.Request) string {
	if s.IsSecure(r) {
		return "__Host-redoubt"
	}
	return "redoubt"
}

// Keep gives the browser the secret of a new session.
func (s *SignIn) Keep(w http.ResponseWriter, r *http.Request, secret string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.CookieName(r), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: s.IsSecure(r), SameSite: http.SameSiteLaxMode,
	})
}

// SafeNext is where to go after the sign-in: a page here, never somebody
// else's, whatever a link says.
func SafeNext(next string) string {
	u, err := url.Parse(next)
	bad := func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, bad) {
		return "/"
	}
	return next
}
