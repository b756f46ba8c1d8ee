package web

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
	v, err := m.session(r)
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

// session finds the session of a request.
func (s *SignIn) session(r *http.Request) (auth.SessionInfo, error) {
	cookie, err := r.Cookie(s.cookieName(r))
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

// secure reports whether the browser came by https.
func (s *SignIn) secure(r *http.Request) bool { return s.Secure || s.from(r).Secure }

// origin is where a request comes from, as sign-in wants it.
func (s *SignIn) origin(r *http.Request) auth.Origin {
	return auth.Origin{Address: s.from(r).Address, Agent: r.UserAgent()}
}

// cookieName begins with __Host- over https, which browsers take from this very
// host alone.
func (s *SignIn) cookieName(r *http.Request) string {
	if s.secure(r) {
		return "__Host-redoubt"
	}
	return "redoubt"
}

// keep gives the browser the secret of a new session.
func (s *SignIn) keep(w http.ResponseWriter, r *http.Request, secret string, seconds int) {
	http.SetCookie(w, &http.Cookie{
		Name: s.cookieName(r), Value: secret, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: s.secure(r), SameSite: http.SameSiteLaxMode,
	})
}

// welcome ends the session that was, if any, and begins the new one in the
// browser.
func welcome(req *request, secret, next string) error {
	if old, err := req.SignIn.session(req.r); err == nil {
		if err := req.SignIn.Sessions.SignOut(req.r.Context(), old); err != nil {
			return err
		}
	}
	dropHalf(req)
	req.SignIn.Sessions.Forget()
	req.SignIn.keep(req.w, req.r, secret, int(req.SignIn.Sessions.Limits().Max.Seconds()))
	req.redirect(safeNext(next))
	return nil
}

// safeNext is where to go after the sign-in: a page here, never somebody
// else's, whatever a link says.
func safeNext(next string) string {
	u, err := url.Parse(next)
	bad := func(r rune) bool { return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) }
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, bad) {
		return "/"
	}
	return next
}
