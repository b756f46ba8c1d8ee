package api

import (
	"fmt"
	"time"
)

// Problem is the body of every error (RFC 9457).
type Problem struct {
	Type      string       `json:"type" doc:"Kind of problem, as a URI reference." example:"about:blank"`
	Title     string       `json:"title" doc:"The status in words." example:"Bad Request"`
	Status    int          `json:"status" minimum:"400" maximum:"599" doc:"HTTP status." example:"400"`
	Detail    string       `json:"detail" doc:"What failed, why, and what to do." example:"query.page_size: expected number >= 100"`
	Instance  string       `json:"instance" doc:"Path that was asked for." example:"/api/v1/deployments/acme/findings"`
	Code      string       `json:"code" enum:"invalid_argument,unauthenticated,permission_denied,not_found,method_not_allowed,conflict,too_large,unsupported_media_type,rate_limited,unavailable,internal" doc:"Stable name of the kind of problem." example:"invalid_argument"`
	Message   string       `json:"error" doc:"Same as detail, for clients that read it here."`
	Errors    []FieldError `json:"errors" doc:"Every bad member of the request, all at once."`
	RequestID string       `json:"request_id" doc:"Names the request in the server's log; also the header X-Request-Id." example:"mfrggzdfmztwq2lk"`

	// MergedInto is set if the requested finding was merged into another one.
	MergedInto int64 `json:"merged_into,omitempty" minimum:"1" doc:"Id of the finding that the one asked for was merged into; only of a finding that was." example:"7"`

	RetryAfter time.Duration `json:"-"` // delay that the server requested; 0 if absent
}

// FieldError is one invalid member of a request.
type FieldError struct {
	Location string `json:"location" doc:"Where, as query.page_size or body.issue_ids[3]." example:"query.page_size"`
	Message  string `json:"message" doc:"What is wrong with it." example:"expected number >= 100"`
	Value    any    `json:"value,omitempty" doc:"What was sent; absent when nothing was, or when it is not to be shown."`
}

// Codes of problems.
const (
	CodeInvalidArgument      = "invalid_argument"
	CodeUnauthenticated      = "unauthenticated"
	CodePermissionDenied     = "permission_denied"
	CodeNotFound             = "not_found"
	CodeMethodNotAllowed     = "method_not_allowed"
	CodeConflict             = "conflict"
	CodeTooLarge             = "too_large"
	CodeUnsupportedMediaType = "unsupported_media_type"
	CodeRateLimited          = "rate_limited"
	CodeUnavailable          = "unavailable"
	CodeInternal             = "internal"
)

// Error returns the detail, status and code, and the request id for finding the log entry.
func (p *Problem) Error() string {
	return fmt.Sprintf("%s (%d %s, request %s)", p.Detail, p.Status, p.Code, p.RequestID)
}
