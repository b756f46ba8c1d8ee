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
	ErrForeign   = errors.New("the user has roles where the viewer is no admin")
	ErrLink      = errors.New("the one-time link is used up or too old")

	errNoRole       = errors.New("the user has no role in any deployment")
	errChoose       = errors.New("the viewer has several deployments and has chosen none")
	errSecondFactor = errors.New("the deployment asks for a second factor, and the user has none")
	errCrossOrigin  = errors.New("sent by another site")
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
		return fault{Status: http.StatusTooManyRequests, Title: "Too much at once", Text: busy.Text}
	case errors.As(err, &invalid):
		return fault{
			Status: http.StatusBadRequest, Title: "This cannot be done as asked",
			Text: "Something in the address or in the form is not as it must be:", Fields: AsFilledIn(invalid.Fields),
		}
	case errors.Is(err, model.ErrNotFound):
		return fault{
			Status: http.StatusNotFound, Title: "There is nothing here",
			Text: "The page does not exist, what it showed is gone, or it belongs to a deployment that you may not see.",
		}
	case errors.Is(err, ErrLink):
		return fault{
			Status: http.StatusNotFound, Title: "This link does not work any more",
			Text: "It works once, for a limited time, and a newer one replaces it. Ask for another; on the server: redoubt " +
				"user setup-link, or redoubt user reset --link NAME",
		}
	case errors.Is(err, errCrossOrigin):
		return fault{
			Status: http.StatusForbidden, Title: "Refused, because another site sent this",
			Text: "Nothing was changed. Open the page here and try again. Behind a proxy, the server's --public-url must be " +
				"the address that you use.",
		}
	case errors.Is(err, model.ErrConflict):
		return fault{
			Status: http.StatusConflict, Title: "Something else was changed meanwhile",
			Text: "Nothing was written. Load the page again and look at what it says now.",
		}
	case errors.Is(err, model.ErrUnavailable):
		return fault{
			Status: http.StatusServiceUnavailable, Title: "Not available right now",
			Text: model.OutageOf(err).Text(),
		}
	}
	return fault{
		Status: http.StatusInternalServerError, Title: "Something went wrong here",
		Text: "It is not your fault, and nothing was changed. The server's log has the cause under the number below.",
	}
}

// faultOfViewer is faultOf for missing permissions and for steps that the viewer must complete
// first. Its Status is 0 for other errors.
func faultOfViewer(err error) fault {
	switch {
	case errors.Is(err, ErrForbidden):
		return fault{
			Status: http.StatusForbidden, Title: "Your role does not allow this",
			Text: "Ask an administrator of the deployment for a role that does.",
		}
	case errors.Is(err, errNoRole):
		return fault{
			Status: http.StatusForbidden, Title: "You have no role yet",
			Text: "You are signed in, but no deployment knows you. Ask an administrator for a role, or on the server: redoubt " +
				"user role NAME viewer",
		}
	case errors.Is(err, errChoose):
		return fault{
			Status: http.StatusConflict, Title: "Choose a deployment first",
			Text: "You have a role in several deployments, and the address does not say which one you mean. Open /choose.",
		}
	case errors.Is(err, errSecondFactor):
		return fault{
			Status: http.StatusForbidden, Title: "A second factor is needed",
			Text: "The deployment asks for a second factor, and you have none. Open /second-factor and set one up.",
		}
	case errors.Is(err, ErrForeign):
		return fault{
			Status: http.StatusForbidden, Title: "This user belongs to others too",
			Text: "The user has a role in a deployment where you are no admin. You may change or take away the role here; the " +
				"account itself is changed on the server, with redoubt user.",
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
