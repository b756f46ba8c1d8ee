package ui

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

// Request is one HTTP request on its way through the pages.
type Request struct {
	*Pages
	Writer http.ResponseWriter
	HTTP   *http.Request
	Viewer Viewer // nobody on pages for anyone
	PathID int64  // the number {id} in the path

	tx     *store.Tx       // of InOneView; nil outside of it
	viewed context.Context // of tx
	send   func()          // writes the page of InOneView
}

// serve lets those through who may see a page, and turns errors into pages.
func (p *Pages) serve(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &Request{Pages: p, Writer: w, HTTP: r}
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
			req.PathID, err = req.id()
		}
		if err == nil && admitted {
			err = route.handle(req)
		}
		if err != nil {
			p.fail(w, r, req.Viewer, err)
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
	return errors.Join(TextualValues("address", values), searchable(values.Get("q")))
}

// admit finds out who looks. When it has answered already, as by leading to the
// sign-in, admitted is false.
func (req *Request) admit(route Route) (admitted bool, err error) {
	if route.Role == Anyone {
		return true, nil
	}
	req.Viewer, err = req.Viewers.Viewer(req.HTTP)
	switch {
	case errors.Is(err, ErrNotSignedIn):
		req.Lead(SignInAddress(req.next()))
		return false, nil
	case errors.Is(err, errChoose):
		req.Lead(ChoosePath + "?next=" + url.QueryEscape(req.next()))
		return false, nil
	case errors.Is(err, errSecondFactor):
		req.Lead(SecondFactorPath + "?next=" + url.QueryEscape(req.next()))
		return false, nil
	case errors.Is(err, errNoRole):
		return leadToInvitations(req)
	case err != nil:
		return false, err
	case !req.Viewer.May(route.Role):
		return false, ErrForbidden
	}
	if named := req.HTTP.PathValue("deployment"); named != "" && named != req.Viewer.Deployment.Slug &&
		req.HTTP.Method == get {
		req.Redirect(UnderDeployment(req.HTTP.URL, req.Viewer.Deployment.Slug))
		return false, nil
	}
	return true, nil
}

// UnderDeployment is an address below the deployment of a slug, however the address itself
// spells the deployment.
func UnderDeployment(u *url.URL, slug string) string {
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
func (req *Request) next() string {
	switch {
	case req.Partial():
		if at, err := url.Parse(req.HTTP.Header.Get("HX-Current-URL")); err == nil && at.Path != "" {
			return at.RequestURI()
		}
	case req.HTTP.Method != get:
		return "/"
	}
	return req.HTTP.URL.RequestURI()
}

// Lead sends people to a page that comes first. A part of a page that is loaded by
// script has the whole page go there.
func (req *Request) Lead(to string) {
	if req.Partial() {
		req.Writer.Header().Set("HX-Redirect", to)
		req.Writer.WriteHeader(http.StatusNoContent)
		return
	}
	req.Redirect(to)
}

// Redirect sends the browser on by GET.
func (req *Request) Redirect(to string) { http.Redirect(req.Writer, req.HTTP, to, http.StatusSeeOther) }

// Partial reports whether a script asks for a part of a page.
func (req *Request) Partial() bool {
	return req.HTTP.Header.Get("HX-Request") == "true" && req.HTTP.Header.Get("HX-History-Restore-Request") != "true"
}

// To is the address of a page of the viewer's deployment, as to("/scans"); the page
// itself where they look at none.
func (req *Request) To(path string) string {
	if req.Viewer.Deployment.ID == 0 {
		return path
	}
	return "/orgs/" + req.Viewer.Deployment.Slug + path
}

// InOneView runs a handler whose page shows one state of the deployment: all its calls of view read it.
// The page is sent when the view has ended, so that a slow client does not hold it.
func (req *Request) InOneView(handle func() error) error {
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		req.viewed, req.tx = ctx, tx
		defer func() { req.viewed, req.tx = nil, nil }()
		return handle()
	})
	if err == nil && req.send != nil {
		req.send()
	}
	return err
}

// View runs fn on one state of the deployment.
func (req *Request) View(fn func(context.Context, *store.Tx) error) error {
	if req.tx != nil {
		return fn(req.viewed, req.tx)
	}
	return req.Store.View(req.HTTP.Context(), req.Viewer.Deployment.ID, fn)
}

// Update runs fn in a transaction of the deployment that acts for the viewer.
func (req *Request) Update(fn func(context.Context, *store.Tx) error) error {
	return req.Store.Update(req.HTTP.Context(), req.Viewer.Deployment.ID, req.Viewer.Actor(), fn)
}

// Findings returns the deployment's findings, as new as its newest commit.
func (req *Request) Findings() (*index.View, error) {
	return req.Index.Deployment(req.HTTP.Context(), req.Viewer.Deployment.ID)
}

// id reads the number in the path; what is not one is not there.
func (req *Request) id() (int64, error) {
	n, err := strconv.ParseInt(req.HTTP.PathValue("id"), 10, 64)
	if err != nil || n <= 0 {
		return 0, model.ErrNotFound
	}
	return n, nil
}

// missing answers every address that the table does not have.
func missing(req *Request) error { return model.ErrNotFound }
