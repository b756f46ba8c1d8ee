package api

import (
	"fmt"
	"time"
)

// Problem is the body of every error (RFC 9457).
type Problem struct {
	Type      string       `json:"type" doc:"Type of the problem, as a URI reference." example:"about:blank"`
	Title     string       `json:"title" doc:"HTTP status text." example:"Bad Request"`
	Status    int          `json:"status" minimum:"400" maximum:"599" doc:"HTTP status." example:"400"`
	Detail    string       `json:"detail" doc:"Description of the error, with its cause and a remedy." example:"query.page_size: expected number >= 100"`
	Instance  string       `json:"instance" doc:"Requested path." example:"/api/v1/deployments/acme/findings"`
	Code      string       `json:"code" enum:"invalid_argument,unauthenticated,permission_denied,not_found,method_not_allowed,conflict,too_large,unsupported_media_type,rate_limited,unavailable,internal" doc:"Stable code of the kind of problem." example:"invalid_argument"`
	Message   string       `json:"error" doc:"Same as detail, for clients that read this member."`
	Errors    []FieldError `json:"errors" doc:"All invalid members of the request."`
	RequestID string       `json:"request_id" doc:"Id of the request in the server's log; also the header X-Request-Id." example:"mfrggzdfmztwq2lk"`

	// MergedInto is set if the requested finding was merged into another one.
	MergedInto int64 `json:"merged_into,omitempty" minimum:"1" doc:"Id of the finding into which the requested one was merged; absent otherwise." example:"7"`

	RetryAfter time.Duration `json:"-"` // delay that the server requested; 0 if absent
}

// FieldError is one invalid member of a request.
type FieldError struct {
	Location string `json:"location" doc:"Location in the request, as query.page_size or body.issue_ids[3]." example:"query.page_size"`
	Message  string `json:"message" doc:"Description of the error." example:"expected number >= 100"`
	Value    any    `json:"value,omitempty" doc:"Value that was sent; absent if there is none or if it is confidential."`
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
