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

// Request is an HTTP request for a page.
type Request struct {
	*Pages
	Writer http.ResponseWriter
	HTTP   *http.Request
	Viewer Viewer // zero on public pages
	PathID int64  // the number {id} in the path

	tx     *store.Tx       // of InOneView; nil outside of it
	viewed context.Context // context of tx
	send   func()          // writes the page of InOneView
}

// serve returns the handler of a route. It checks the viewer's permission and renders errors as
// pages.
func (p *Pages) serve(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req := &Request{Pages: p, Writer: w, HTTP: r}
		if r.Method == http.MethodHead && route.Writes { // GET routes also match HEAD
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

// addressed rejects addresses that are not valid text. The store contains only valid text.
func addressed(r *http.Request) error {
	if !httpx.IsText(r.URL.Path) {
		return model.ErrNotFound
	}
	values := r.URL.Query()
	return errors.Join(TextualValues("address", values), searchable(values.Get("q")))
}

// admit determines the viewer. It returns false if it has already written a response, such as a
// redirect to the sign-in page.
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

// UnderDeployment returns an address with the slug of its deployment, however the address names the
// deployment.
func UnderDeployment(u *url.URL, slug string) string {
	_, below, _ := strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/orgs/"), "/")
	to := strings.TrimSuffix("/orgs/"+slug+"/"+below, "/")
	if u.RawQuery != "" {
		to += "?" + u.RawQuery
	}
	return to
}

// next returns the page to open after an intermediate step. For a partial request it is the
// surrounding page, and for other methods than GET it is "/".
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

// Lead redirects to an intermediate page. For a partial request, the whole page is redirected.
func (req *Request) Lead(to string) {
	if req.Partial() {
		req.Writer.Header().Set("HX-Redirect", to)
		req.Writer.WriteHeader(http.StatusNoContent)
		return
	}
	req.Redirect(to)
}

// Redirect redirects the browser with status 303, which uses GET.
func (req *Request) Redirect(to string) { http.Redirect(req.Writer, req.HTTP, to, http.StatusSeeOther) }

// Partial reports whether a script requests a part of a page.
func (req *Request) Partial() bool {
	return req.HTTP.Header.Get("HX-Request") == "true" && req.HTTP.Header.Get("HX-History-Restore-Request") != "true"
}

// To returns the address of a path in the viewer's deployment, as in To("/scans"). Without a
// deployment it returns the path.
func (req *Request) To(path string) string {
	if req.Viewer.Deployment.ID == 0 {
		return path
	}
	return "/orgs/" + req.Viewer.Deployment.Slug + path
}

// InOneView runs a handler whose calls of View all read one state of the deployment. The page is
// sent after the view has ended, so that slow clients do not delay its end.
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

// Update runs fn in a transaction of the deployment. The actor is the viewer.
func (req *Request) Update(fn func(context.Context, *store.Tx) error) error {
	return req.Store.Update(req.HTTP.Context(), req.Viewer.Deployment.ID, req.Viewer.Actor(), fn)
}

// Findings returns the deployment's findings as of its newest commit.
func (req *Request) Findings() (*index.View, error) {
	return req.Index.Deployment(req.HTTP.Context(), req.Viewer.Deployment.ID)
}

// id parses the id in the path. An invalid id is model.ErrNotFound.
func (req *Request) id() (int64, error) {
	n, err := strconv.ParseInt(req.HTTP.PathValue("id"), 10, 64)
	if err != nil || n <= 0 {
		return 0, model.ErrNotFound
	}
	return n, nil
}

// missing handles every address without a route.
func missing(req *Request) error { return model.ErrNotFound }
