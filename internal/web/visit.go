package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/store"
)

// visit is one request on its way through the pages.
type visit struct {
	*Pages
	w      http.ResponseWriter
	r      *http.Request
	viewer Viewer // nobody on pages for anyone
}

// serve lets those through who may see a page, and turns errors into pages.
func (p *Pages) serve(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := &visit{Pages: p, w: w, r: r}
		err := addressed(r)
		admitted := false
		if err == nil {
			admitted, err = v.admit(route)
		}
		if err == nil && admitted {
			err = route.handle(v)
		}
		if err != nil {
			p.fail(w, r, v.viewer, err)
		}
	})
}

// addressed refuses an address that holds what is no text: the store keeps none
// and is not asked for any.
func addressed(r *http.Request) error {
	if !textual(r.URL.Path) {
		return redoubt.ErrNotFound
	}
	return textualValues("address", r.URL.Query())
}

// textualValues refuses what is no text among the values of an address or a form.
func textualValues(place string, values url.Values) error {
	for name, list := range values {
		if !textual(name) || slices.ContainsFunc(list, func(s string) bool { return !textual(s) }) {
			return redoubt.Invalid(place, "holds what is no text: a zero byte, or bytes that are not UTF-8")
		}
	}
	return nil
}

func textual(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// admit finds out who looks. When it has answered already, as by leading to the
// sign-in, admitted is false.
func (v *visit) admit(route route) (admitted bool, err error) {
	if route.least == anyone {
		return true, nil
	}
	v.viewer, err = v.Viewers.Viewer(v.r)
	switch {
	case errors.Is(err, ErrNotSignedIn):
		v.leadToSignIn()
		return false, nil
	case err != nil:
		return false, err
	case !v.viewer.May(route.least):
		return false, errForbidden
	}
	if named := v.r.PathValue("deployment"); named != "" && named != v.viewer.Deployment.Slug && v.r.Method == get {
		v.redirect(under(v.r.URL, v.viewer.Deployment.Slug))
		return false, nil
	}
	return true, nil
}

// under is an address below the deployment of a slug, however the address itself
// spells the deployment.
func under(u *url.URL, slug string) string {
	_, below, _ := strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/orgs/"), "/")
	to := strings.TrimSuffix("/orgs/"+slug+"/"+below, "/")
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	return to
}

// leadToSignIn sends people to the sign-in and, from a page, back afterwards. A
// part of a page that is loaded by script has the whole page go there.
func (v *visit) leadToSignIn() {
	next := v.r.URL.RequestURI()
	if v.r.Method != get {
		next = "/"
	}
	if v.partial() {
		if at, err := url.Parse(v.r.Header.Get("HX-Current-URL")); err == nil && at.Path != "" {
			next = at.RequestURI()
		}
		v.w.Header().Set("HX-Redirect", signIn(next))
		v.w.WriteHeader(http.StatusNoContent)
		return
	}
	v.redirect(signIn(next))
}

func signIn(next string) string {
	if next == "/" {
		return "/login"
	}
	return "/login?next=" + url.QueryEscape(next)
}

// redirect sends the browser on by GET.
func (v *visit) redirect(to string) { http.Redirect(v.w, v.r, to, http.StatusSeeOther) }

// partial reports whether a script asks for a part of a page.
func (v *visit) partial() bool {
	return v.r.Header.Get("HX-Request") == "true" && v.r.Header.Get("HX-History-Restore-Request") != "true"
}

// to is the address of a page of the viewer's deployment, as to("/scans").
func (v *visit) to(path string) string { return "/orgs/" + v.viewer.Deployment.Slug + path }

// view runs fn on one state of the deployment.
func (v *visit) view(fn func(context.Context, *store.Tx) error) error {
	return v.Store.View(v.r.Context(), v.viewer.Deployment.ID, fn)
}

// update runs fn in a transaction of the deployment that acts for the viewer.
func (v *visit) update(fn func(context.Context, *store.Tx) error) error {
	return v.Store.Update(v.r.Context(), v.viewer.Deployment.ID, v.viewer.Actor(), fn)
}

// findings returns the deployment's findings, as new as its newest commit.
func (v *visit) findings() (*index.View, error) {
	return v.Index.Deployment(v.r.Context(), v.viewer.Deployment.ID)
}

// id reads the number in the path; what is not one is not there.
func (v *visit) id() (int64, error) {
	n, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil || n <= 0 {
		return 0, redoubt.ErrNotFound
	}
	return n, nil
}

// home leads to the overview.
func (v *visit) home() error {
	v.redirect(v.to("/overview"))
	return nil
}

// missing answers every address that the table does not have.
func (v *visit) missing() error { return redoubt.ErrNotFound }
