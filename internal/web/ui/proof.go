package ui

import (
	"net/http"
	"net/url"
	"path"

	"github.com/redoubt/redoubt/internal/auth"
)

// AgainPath is where who is signed in shows once more who they are.
const AgainPath = "/login/again"

// Proven has what matters most done only within auth.ProofFor of the proof that a
// session began with: whoever finds a browser open, or steals its session, cannot
// stay for good by it.
func Proven(handle func(*Request) error) func(*Request) error {
	return func(req *Request) error {
		if req.SignIn != nil && req.Viewer.User == "" { // a page below no deployment, which has asked nobody yet
			if me, err := CurrentSession(req); err != nil || me.Session.ID == 0 {
				return err
			}
		}
		lately, err := proved(req)
		if err != nil {
			return err
		}
		if !lately {
			req.Lead(AgainPath + "?next=" + url.QueryEscape(returnURL(req)))
			return nil
		}
		return handle(req)
	}
}

// returnURL is the page to go back to afterwards: the one itself that is asked for,
// or the one that a form was sent from. A form may stand on the answer to another,
// whose address only takes forms: then it is the nearest page above.
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

// isPage reports whether the table has a page at a path.
func (p *Pages) isPage(at string) bool {
	_, pattern := p.mux.Handler(&http.Request{Method: get, URL: &url.URL{Path: at}})
	return pattern != "" && pattern != "/"
}

// proved reports whether the viewer showed lately who they are. Who has nothing to
// show it with, neither a password nor a provider, came by a link and is not asked.
func proved(req *Request) (bool, error) {
	if req.SignIn == nil { // somebody else signs people in
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
