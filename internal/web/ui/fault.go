package ui

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Errors of handlers. Each has its own error page.
var (
	ErrForbidden = errors.New("the viewer's role does not allow it")
	ErrForeign   = errors.New("the user has roles in deployments that the viewer does not administer")
	ErrLink      = errors.New("the one-time link is used or expired")

	errNoRole       = errors.New("the user has no role in any deployment")
	errChoose       = errors.New("the viewer has not chosen one of several deployments")
	errSecondFactor = errors.New("the deployment requires a second factor, and the user has none")
	errCrossOrigin  = errors.New("cross-origin request")
)

// fault is the content of an error page.
type fault struct {
	Status    int
	Title     string
	Text      string
	Fields    []model.FieldError
	RequestID string
}

// faultOf returns the error page for an error: what failed and what to do. It exposes no internal
// details.
func faultOf(err error) fault {
	var invalid *model.InvalidError
	var busy *model.BusyError
	if f := faultOfViewer(err); f.Status != 0 {
		return f
	}
	switch {
	case errors.As(err, &busy):
		return fault{Status: http.StatusTooManyRequests, Title: "Too many requests", Text: busy.Text}
	case errors.As(err, &invalid):
		return fault{
			Status: http.StatusBadRequest, Title: "Invalid request",
			Text: "The address or the form contains invalid values:", Fields: AsFilledIn(invalid.Fields),
		}
	case errors.Is(err, model.ErrNotFound):
		return fault{
			Status: http.StatusNotFound, Title: "Page not found",
			Text: "The page does not exist, was deleted, or belongs to a deployment that you cannot access.",
		}
	case errors.Is(err, ErrLink):
		return fault{
			Status: http.StatusNotFound, Title: "Link expired",
			Text: "A link is valid once, for a limited time, until a newer one replaces it. Request another link. " +
				"On the server: redoubt user setup-link, or redoubt user reset --link NAME",
		}
	case errors.Is(err, errCrossOrigin):
		return fault{
			Status: http.StatusForbidden, Title: "Request from another site rejected",
			Text: "Nothing was changed. Open the page on this site and try again. Behind a proxy, --public-url of " +
				"the server must match the address in your browser.",
		}
	case errors.Is(err, model.ErrConflict):
		return fault{
			Status: http.StatusConflict, Title: "Conflicting change",
			Text: "Nothing was saved. Reload the page and review its current state.",
		}
	case errors.Is(err, model.ErrUnavailable):
		return fault{
			Status: http.StatusServiceUnavailable, Title: "Temporarily unavailable",
			Text: model.OutageOf(err).Text(),
		}
	}
	return fault{
		Status: http.StatusInternalServerError, Title: "Internal error",
		Text: "Nothing was changed. The server log contains the cause under the request ID below.",
	}
}

// faultOfViewer is faultOf for missing permissions and for steps that the viewer must complete
// first. Its Status is 0 for other errors.
func faultOfViewer(err error) fault {
	switch {
	case errors.Is(err, ErrForbidden):
		return fault{
			Status: http.StatusForbidden, Title: "Access denied",
			Text: "Your role does not allow this. Contact an administrator of the deployment.",
		}
	case errors.Is(err, errNoRole):
		return fault{
			Status: http.StatusForbidden, Title: "No role assigned",
			Text: "You are signed in but have no role in a deployment. Contact an administrator. On the server: " +
				"redoubt user role NAME viewer",
		}
	case errors.Is(err, errChoose):
		return fault{
			Status: http.StatusConflict, Title: "Choose a deployment first",
			Text: "You have roles in several deployments, and the address does not name one. Open /choose.",
		}
	case errors.Is(err, errSecondFactor):
		return fault{
			Status: http.StatusForbidden, Title: "Second factor required",
			Text: "The deployment requires a second factor. Open /second-factor to set one up.",
		}
	case errors.Is(err, ErrForeign):
		return fault{
			Status: http.StatusForbidden, Title: "User of several deployments",
			Text: "The user has a role in a deployment that you do not administer. You can change or remove the role " +
				"here. To change the account, use redoubt user on the server.",
		}
	}
	return fault{}
}

// AsFilledIn renames fields to their names in forms, such as body.new_triage_until to until.
func AsFilledIn(fields []model.FieldError) []model.FieldError {
	out := slices.Clone(fields)
	for i, f := range out {
		name := f.Location[strings.LastIndexByte(f.Location, '.')+1:]
		out[i].Location = words(strings.TrimPrefix(strings.TrimPrefix(name, "new_"), "triage_"))
	}
	return out
}

// fail writes the error page of an error.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, viewer Viewer, err error) {
	if httpx.HungUp(r, err) {
		w.WriteHeader(httpx.StatusHungUp)
		return
	}
	f := faultOf(err)
	f.RequestID = w.Header().Get("X-Request-Id")
	if f.Status >= http.StatusInternalServerError {
		p.Logger.ErrorContext(r.Context(), "page failed", "request_id", f.RequestID, "page", r.Pattern, "cause", err)
	}
	if f.Status == http.StatusServiceUnavailable {
		httpx.RetryAfter(w.Header(), model.OutageOf(err).RetryAfter())
	}
	if busy, ok := errors.AsType[*model.BusyError](err); ok {
		httpx.RetryAfter(w.Header(), busy.Wait)
	}
	req := &Request{Pages: p, Writer: w, HTTP: r, Viewer: viewer}
	if viewer.Deployment.ID == 0 {
		req.Viewer = p.ownViewer(r)
	}
	if err := req.Show(f.Status, Page{Template: "fault", Title: f.Title, Data: f}); err != nil {
		p.Logger.ErrorContext(r.Context(), "page about a failure failed", "request_id", f.RequestID, "cause", err)
		http.Error(w, f.Title, f.Status)
	}
}

// ownViewer returns the viewer for the error page of a path below /orgs that is missing or not
// accessible. The viewer is placed in a deployment of their own, so that navigation works. It is
// zero without a session and for other paths.
func (p *Pages) ownViewer(r *http.Request) Viewer {
	rest, below := strings.CutPrefix(r.URL.Path, "/orgs/")
	if !below {
		return Viewer{}
	}
	named, _, _ := strings.Cut(rest, "/")
	for _, deployment := range []string{named, "-"} {
		own := r.Clone(r.Context())
		own.SetPathValue("deployment", deployment)
		if viewer, err := p.Viewers.Viewer(own); err == nil {
			return viewer
		}
	}
	return Viewer{}
}
