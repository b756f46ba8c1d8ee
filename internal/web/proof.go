package web

import (
	"net/http"
	"net/url"
	"path"

	"github.com/redoubt/redoubt/internal/auth"
)

// againPath is where who is signed in shows once more who they are.
const againPath = "/login/again"

// proven has what matters most done only within auth.ProofFor of the proof that a
// session began with: whoever finds a browser open, or steals its session, cannot
// stay for good by it.
func proven(handle func(*request) error) func(*request) error {
	return func(req *request) error {
		if req.SignIn != nil && req.viewer.User == "" { // a page below no deployment, which has asked nobody yet
			if me, err := currentSession(req); err != nil || me.Session.ID == 0 {
				return err
			}
		}
		lately, err := proved(req)
		if err != nil {
			return err
		}
		if !lately {
			req.lead(againPath + "?next=" + url.QueryEscape(cameFrom(req)))
			return nil
		}
		return handle(req)
	}
}

// cameFrom is the page to go back to afterwards: the one itself that is asked for,
// or the one that a form was sent from. A form may stand on the answer to another,
// whose address only takes forms: then it is the nearest page above.
func cameFrom(req *request) string {
	if req.r.Method == get {
		return req.next()
	}
	from, err := url.Parse(req.r.Referer())
	if err != nil || from.Path == "" || safeNext(from.RequestURI()) == "/" {
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
func proved(req *request) (bool, error) {
	if req.SignIn == nil { // somebody else signs people in
		return true, nil
	}
	me, err := me(req)
	if err != nil {
		return false, err
	}
	if me.User.PasswordHash == "" && req.SignIn.Provider == nil && !me.User.HasSecondFactor() {
		return true, nil
	}
	return me.Session.Method != "oidc" && req.Clock().Sub(me.Session.CreatedAt) <= auth.ProofFor, nil
}
