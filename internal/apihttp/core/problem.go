package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// ProblemError is an error response, with details for the log.
type ProblemError struct {
	api.Problem
	Cause error         `json:"-"` // for the log only
	Wait  time.Duration `json:"-"` // Retry-After; 0 for none
}

// Error returns the text for people.
func (p *ProblemError) Error() string { return p.Detail }

// GetStatus returns the HTTP status.
func (p *ProblemError) GetStatus() int { return p.Status }

// ContentType returns the media type of problems.
func (p *ProblemError) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

// statusOf maps codes to statuses as defined in docs/reference/errors.md.
var statusOf = map[string]int{
	api.CodeInvalidArgument:      http.StatusBadRequest,
	api.CodeUnauthenticated:      http.StatusUnauthorized,
	api.CodePermissionDenied:     http.StatusForbidden,
	api.CodeNotFound:             http.StatusNotFound,
	api.CodeMethodNotAllowed:     http.StatusMethodNotAllowed,
	api.CodeConflict:             http.StatusConflict,
	api.CodeTooLarge:             http.StatusRequestEntityTooLarge,
	api.CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	api.CodeRateLimited:          http.StatusTooManyRequests,
	api.CodeUnavailable:          http.StatusServiceUnavailable,
	api.CodeInternal:             http.StatusInternalServerError,
}

// notFound is the text for missing objects and for those of other tenants
// (docs/reference/addressing.md).
const notFound = "Not found, or not visible to this token. Check the address and the deployment " +
	"of the token."

// NewProblem returns a problem with a code and a text for people.
func NewProblem(code, detail string, cause error) *ProblemError {
	status := statusOf[code]
	return &ProblemError{Cause: cause, Problem: api.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status,
		Code: code, Detail: detail, Errors: []api.FieldError{},
	}}
}

// ProblemOf converts an error to a problem. Unknown errors are internal: their text is only logged.
func ProblemOf(err error) *ProblemError {
	var (
		ready     *ProblemError
		invalid   *model.InvalidError
		busy      *httpx.BusyError
		forbidden *httpx.ForbiddenError
		oversize  *http.MaxBytesError
		badReport *report.FileError
	)
	switch {
	case errors.As(err, &ready):
		return ready
	case errors.As(err, &busy):
		p := NewProblem(api.CodeRateLimited, busy.Text, err)
		p.Wait = busy.Wait
		return p
	case errors.As(err, &forbidden):
		return NewProblem(api.CodePermissionDenied, forbidden.Text, err)
	case errors.As(err, &oversize):
		return NewProblem(api.CodeTooLarge, "The body exceeds the limit of "+strconv.FormatInt(oversize.Limit, 10)+
			" bytes. Send less at once.", err)
	case errors.As(err, &invalid):
		return invalidProblem(invalid.Fields)
	case errors.Is(err, model.ErrTooLarge):
		return NewProblem(api.CodeTooLarge, err.Error(), err)
	case errors.Is(err, model.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		outage := model.OutageOf(err)
		p := NewProblem(api.CodeUnavailable, outage.Text(), err)
		p.Wait = outage.RetryAfter()
		return p
	case errors.As(err, &badReport):
		return invalidProblem([]model.FieldError{{Location: cmp.Or(badReport.Name, "body"), Message: badReport.Reason()}})
	case errors.Is(err, model.ErrNotFound):
		return NewProblem(api.CodeNotFound, notFound, err)
	case errors.Is(err, auth.ErrUnauthenticated):
		return NewProblem(api.CodeUnauthenticated,
			"The API token is missing, unknown, expired or revoked. Send one as Authorization: Bearer TOKEN.", err)
	case errors.Is(err, model.ErrConflict):
		return NewProblem(api.CodeConflict, err.Error(), err)
	}
	return NewProblem(
		api.CodeInternal, "Internal server error. The server log contains the cause under this request id.", err,
	)
}

// maxFaults limits the errors in a response: a body of 2 MiB may contain half a million.
const maxFaults = 1000

// invalidProblem returns a problem with all invalid members of a request, up to maxFaults.
func invalidProblem(fields []model.FieldError) *ProblemError {
	if len(fields) > maxFaults {
		fields = append(fields[:maxFaults:maxFaults], model.FieldError{
			Location: "body",
			Message:  fmt.Sprintf("has more than these %d errors", maxFaults),
		})
	}
	p := NewProblem(api.CodeInvalidArgument, (&model.InvalidError{Fields: fields}).Error(), nil)
	for _, f := range fields {
		p.Errors = append(p.Errors, api.FieldError{Location: f.Location, Message: f.Message, Value: shown(f.Value)})
	}
	return p
}

// maxShown limits the bytes of an invalid value that is sent back.
const maxShown = 200

// shown returns an invalid value for the response if it is a short scalar, or else nil.
func shown(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > maxShown {
			return nil
		}
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	case bool, json.Number, int, int64, uint64:
		return v
	}
	return nil
}

// init configures huma to report errors as problems of this server, and to format bounds without an
// exponent. The library offers only variables for this, and no other package imports it.
func init() {
	huma.ErrorFormatter = func(format string, args ...any) string { //nolint:reassign // as above
		for i, arg := range args {
			if n, ok := arg.(float64); ok {
				args[i] = strconv.FormatFloat(n, 'f', -1, 64)
			}
		}
		return fmt.Sprintf(format, args...)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, detail string, faults ...error) huma.StatusError {
		c := CallOf(ctx.Context())
		p := c.Server.spec.humaProblem(ctx.Operation(), status, detail, faults, c.nulls)
		c.complete(p)
		return p
	}
}

// humaProblem converts errors of huma. It decodes and validates, so its errors are the client's,
// except for those with a status of 500 or more. Each location is reported once, with errors of the
// schema before those of handlers.
func (s *Spec) humaProblem(
	op *huma.Operation, status int, detail string, faults []error, nulls []model.FieldError,
) *ProblemError {
	if status >= http.StatusInternalServerError {
		return NewProblem(api.CodeInternal, ProblemOf(errors.New(detail)).Detail,
			errors.Join(append(faults, errors.New(detail))...))
	}
	fields := nulls
	for _, fault := range faults[:min(len(faults), maxFaults+1)] {
		if d, ok := errors.AsType[*huma.ErrorDetail](fault); ok {
			fields = append(fields, s.fieldError(op, d))
		}
	}
	if len(fields) == 0 {
		fields = []model.FieldError{{Location: "body", Message: detail}}
	}
	named := map[string]bool{}
	return invalidProblem(slices.DeleteFunc(fields, func(f model.FieldError) bool {
		duplicate := named[f.Location]
		named[f.Location] = true
		return duplicate
	}))
}

// writeProblem responds to a request that failed outside of huma.
func writeProblem(w http.ResponseWriter, r *http.Request, p *ProblemError) {
	CallOf(r.Context()).complete(p)
	w.Header().Set("Content-Type", problemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p.Problem) //nolint:errchkjson // plain members; errors mean that the client is gone
}

// complete adds the details of the request to a problem, sets its headers, and stores its cause for
// the log.
func (c *Call) complete(p *ProblemError) {
	p.Instance = instance(c.path)
	p.RequestID = c.requestID
	p.Message = p.Detail
	if p.Cause != nil {
		c.cause = p.Cause
	}
	if p.Code == api.CodeUnauthenticated {
		challenge := cmp.Or(c.challenge, `Bearer realm="redoubt"`)
		if httpx.Bearer(c.R) != "" {
			challenge += `, error="invalid_token"`
		}
		c.W.Header().Set("WWW-Authenticate", challenge)
	}
	if p.Wait > 0 {
		httpx.RetryAfter(c.W.Header(), p.Wait)
	}
}

// instance returns the path of the request as a URI reference.
func instance(path string) string { return (&url.URL{Path: path}).EscapedPath() }
