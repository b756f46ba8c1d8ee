package web

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// request is one HTTP request on its way through the pages.
type request struct {
	*Pages
	w      http.ResponseWriter
	r      *http.Request
	viewer Viewer // nobody on pages for anyone
	pathID int64  // the number {id} in the path

	tx     *store.Tx       // of inOneView; nil outside of it
	viewed context.Context // of tx
	send   func()          // writes the page of inOneView
}

// serve lets those through who may see a page, and turns errors into pages.
func (p *Pages) serve(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &request{Pages: p, w: w, r: r}
		if r.Method == http.MethodHead && route.Writes { // GET takes HEAD along, which must change nothing
			w.Header().Set("Allow", get)
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		err := addressed(r)
		admitted := false
		if err == nil {
			admitted, err = req.admit(route)
		}
		if err == nil && admitted && r.PathValue("id") != "" {
			req.pathID, err = req.id()
		}
		if err == nil && admitted {
			err = route.handle(req)
		}
		if err != nil {
			p.fail(w, r, req.viewer, err)
		}
	})
}

// addressed refuses an address that holds what is no text: the store keeps none
// and is not asked for any.
func addressed(r *http.Request) error {
	if !httpx.IsText(r.URL.Path) {
		return model.ErrNotFound
	}
	values := r.URL.Query()
	return errors.Join(textualValues("address", values), searchable(values.Get("q")))
}

// admit finds out who looks. When it has answered already, as by leading to the
// sign-in, admitted is false.
func (req *request) admit(route route) (admitted bool, err error) {
	if route.Role == anyone {
		return true, nil
	}
	req.viewer, err = req.Viewers.Viewer(req.r)
	switch {
	case errors.Is(err, ErrNotSignedIn):
		req.lead(signIn(req.next()))
		return false, nil
	case errors.Is(err, errChoose):
		req.lead(choosePath + "?next=" + url.QueryEscape(req.next()))
		return false, nil
	case errors.Is(err, errSecondFactor):
		req.lead(secondFactorPath + "?next=" + url.QueryEscape(req.next()))
		return false, nil
	case errors.Is(err, errNoRole):
		return leadToInvitations(req)
	case err != nil:
		return false, err
	case !req.viewer.May(route.Role):
		return false, errForbidden
	}
	if named := req.r.PathValue("deployment"); named != "" && named != req.viewer.Deployment.Slug && req.r.Method == get {
		req.redirect(under(req.r.URL, req.viewer.Deployment.Slug))
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

// next is the page that somebody wants who has to do something else first; the
// page around it where a part of one was asked for, and no page where it was no
// page.
func (req *request) next() string {
	switch {
	case req.partial():
		if at, err := url.Parse(req.r.Header.Get("HX-Current-URL")); err == nil && at.Path != "" {
			return at.RequestURI()
		}
	case req.r.Method != get:
		return "/"
	}
	return req.r.URL.RequestURI()
}

// lead sends people to a page that comes first. A part of a page that is loaded by
// script has the whole page go there.
func (req *request) lead(to string) {
	if req.partial() {
		req.w.Header().Set("HX-Redirect", to)
		req.w.WriteHeader(http.StatusNoContent)
		return
	}
	req.redirect(to)
}

// redirect sends the browser on by GET.
func (req *request) redirect(to string) { http.Redirect(req.w, req.r, to, http.StatusSeeOther) }

// partial reports whether a script asks for a part of a page.
func (req *request) partial() bool {
	return req.r.Header.Get("HX-Request") == "true" && req.r.Header.Get("HX-History-Restore-Request") != "true"
}

// to is the address of a page of the viewer's deployment, as to("/scans"); the page
// itself where they look at none.
func (req *request) to(path string) string {
	if req.viewer.Deployment.ID == 0 {
		return path
	}
	return "/orgs/" + req.viewer.Deployment.Slug + path
}

// inOneView runs a handler whose page shows one state of the deployment: all its calls of view read it.
// The page is sent when the view has ended, so that a slow client does not hold it.
func (req *request) inOneView(handle func() error) error {
	err := req.view(func(ctx context.Context, tx *store.Tx) error {
		req.viewed, req.tx = ctx, tx
		defer func() { req.viewed, req.tx = nil, nil }()
		return handle()
	})
	if err == nil && req.send != nil {
		req.send()
	}
	return err
}

// view runs fn on one state of the deployment.
func (req *request) view(fn func(context.Context, *store.Tx) error) error {
	if req.tx != nil {
		return fn(req.viewed, req.tx)
	}
	return req.Store.View(req.r.Context(), req.viewer.Deployment.ID, fn)
}

// update runs fn in a transaction of the deployment that acts for the viewer.
func (req *request) update(fn func(context.Context, *store.Tx) error) error {
	return req.Store.Update(req.r.Context(), req.viewer.Deployment.ID, req.viewer.Actor(), fn)
}

// findings returns the deployment's findings, as new as its newest commit.
func (req *request) findings() (*index.View, error) {
	return req.Index.Deployment(req.r.Context(), req.viewer.Deployment.ID)
}

// id reads the number in the path; what is not one is not there.
func (req *request) id() (int64, error) {
	n, err := strconv.ParseInt(req.r.PathValue("id"), 10, 64)
	if err != nil || n <= 0 {
		return 0, model.ErrNotFound
	}
	return n, nil
}

// missing answers every address that the table does not have.
func missing(req *request) error { return model.ErrNotFound }
