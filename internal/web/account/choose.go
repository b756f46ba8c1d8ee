package account

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// chooseView is the data of the page on which a user chooses a deployment.
type chooseView struct {
	Memberships []model.Membership
	Last        string // slug of the last choice
	Next        string
	Approve     bool // a scanner will report to the chosen deployment
	Program     bool // an application will receive a token of the chosen deployment
	Invitations int
}

// choose shows the deployments of the signed-in user.
func choose(req *ui.Request) error {
	me, err := ui.CurrentSession(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	s := chooseView{Memberships: me.Memberships, Next: ui.SafeNext(req.HTTP.URL.Query().Get("next"))}
	s.Approve = strings.HasPrefix(s.Next, "/orgs/-/approve/")
	s.Program = strings.HasPrefix(s.Next, "/orgs/-"+ui.AuthorizePath) || strings.HasPrefix(s.Next, "/orgs/-"+ui.DevicePath)
	last, _ := req.SignIn.LastChoice(req.HTTP, me)
	s.Last = last.Slug
	invited, err := req.Store.InvitationsFor(req.HTTP.Context(), me.User.Name)
	if err != nil {
		return err
	}
	s.Invitations = len(invited)
	return req.Show(http.StatusOK, ui.Page{Template: "choose", Title: "Choose a deployment", Data: s})
}

// chooseOne stores the choice and redirects to the next page.
func chooseOne(req *ui.Request) error {
	me, form, err := sentForm(req)
	if err != nil || me.Session.ID == 0 {
		return err
	}
	d, role := me.Role(form.Get("deployment"))
	if role == model.RoleNone {
		return model.ErrNotFound
	}
	http.SetCookie(req.Writer, &http.Cookie{
		Name: req.SignIn.ChosenName(req.HTTP), Value: d.Slug, Path: "/", MaxAge: ui.ChosenSeconds, HttpOnly: true,
		Secure: req.SignIn.IsSecure(req.HTTP), SameSite: http.SameSiteLaxMode,
	})
	to := "/orgs/" + d.Slug + "/overview"
	if next, err := url.Parse(ui.SafeNext(form.Get("next"))); err == nil && strings.HasPrefix(next.Path, "/orgs/-/") {
		to = ui.UnderDeployment(next, d.Slug)
	}
	req.Redirect(to)
	return nil
}

// sentForm returns the session and the form of a request. Without a session it redirects to the
// sign-in page and returns a session without id.
func sentForm(req *ui.Request) (me auth.SessionInfo, form url.Values, err error) {
	if me, err = ui.CurrentSession(req); err != nil || me.Session.ID == 0 {
		return me, nil, err
	}
	form, err = req.Form()
	return me, form, err
}
