package ui

import (
	"net/http"
	"net/url"
	"path"

	"github.com/redoubt/redoubt/internal/auth"
)

// ReauthPath is the page on which a signed-in user authenticates again.
const ReauthPath = "/login/again"

// Proven restricts a sensitive action to auth.ProofFor after the last authentication. A stolen
// session or an unattended browser therefore cannot be used to gain permanent access.
func Proven(handle func(*Request) error) func(*Request) error {
	return func(req *Request) error {
		if req.SignIn != nil && req.Viewer.User == "" { // a page below no deployment, whose viewer is not yet known
			if me, err := CurrentSession(req); err != nil || me.Session.ID == 0 {
				return err
			}
		}
		lately, err := proved(req)
		if err != nil {
			return err
		}
		if !lately {
			req.Lead(ReauthPath + "?next=" + url.QueryEscape(returnURL(req)))
			return nil
		}
		return handle(req)
	}
}

// returnURL returns the page to open after authentication: the requested page, or the page of the
// form. If the form was part of a response whose address only accepts POST, it is the nearest page
// above.
func returnURL(req *Request) string {
	if req.HTTP.Method == get {
		return req.next()
	}
	from, err := url.Parse(req.HTTP.Referer())
	if err != nil || from.Path == "" || SafeNext(from.RequestURI()) == "/" {
		return "/"
	}
	for from.Path != "/" {
		if req.isPage(from.Path) {
			return from.RequestURI()
		}
		from = &url.URL{Path: path.Dir(from.Path)}
	}
	return "/"
}

// isPage reports whether the route table has a page at a path.
func (p *Pages) isPage(at string) bool {
	_, pattern := p.mux.Handler(&http.Request{Method: get, URL: &url.URL{Path: at}})
	return pattern != "" && pattern != "/"
}

// proved reports whether the viewer authenticated recently. Users who have neither a password, a
// provider nor a second factor sign in by link and always pass.
func proved(req *Request) (bool, error) {
	if req.SignIn == nil { // authentication happens elsewhere
		return true, nil
	}
	me, err := ViewerSession(req)
	if err != nil {
		return false, err
	}
	if me.User.PasswordHash == "" && req.SignIn.Provider == nil && !me.User.HasSecondFactor() {
		return true, nil
	}
	return me.Session.Method != "oidc" && req.Clock().Sub(me.Session.CreatedAt) <= auth.ProofFor, nil
}
