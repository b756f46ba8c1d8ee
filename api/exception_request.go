package api

import (
	"context"
	"net/http"
	"strconv"
)

// ExceptionRequest asks that findings of a project are ignored until a day.
type ExceptionRequest struct {
	ID           int64   `json:"id" doc:"Id of the request." example:"12"`
	State        string  `json:"state" enum:"open,approved,refused,withdrawn,ended" doc:"How far it is: open waits to be decided; ended means that none of its findings was open any more."`
	ProjectID    Int     `json:"project_id" doc:"Id of the project." example:"17"`
	Project      string  `json:"project" doc:"Name of the project." example:"acme/payments"`
	IssueIDs     []int64 `json:"issue_ids" doc:"Ids of its findings, each on one ref: one where it is open, if it is on any." example:"[1234]"`
	Reason       string  `json:"reason" doc:"Why they should be ignored, for people." example:"Only our tests call it."`
	TriageReason string  `json:"triage_reason" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"The reason that the findings would show."`
	Until        *Time   `json:"until" nullable:"true" doc:"The end that is wished; null is none."`
	AskedAt      Time    `json:"asked_at" doc:"When it was asked."`
	AskedBy      string  `json:"asked_by" doc:"Who asked." example:"user:ana"`
	DecidedAt    *Time   `json:"decided_at" nullable:"true" doc:"When it was decided, withdrawn or ended; null while it is open."`
	DecidedBy    string  `json:"decided_by,omitempty" doc:"Who decided; absent while it is open." example:"user:ben"`
	Answer       string  `json:"answer,omitempty" doc:"What they said; absent when nothing." example:"Until the upgrade."`
	GrantedUntil *Time   `json:"granted_until" nullable:"true" doc:"Of an approved one: when its findings are open again; null is never."`
}

// ExceptionRequestsQuery are the parameters of the list of requests.
type ExceptionRequestsQuery struct {
	State  string `query:"state" enum:"open,approved,refused,withdrawn,ended" doc:"Only those of this state."`
	Mine   bool   `query:"mine" doc:"Only those of the user who made the token. A token that no user made has none."`
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Requests in one answer; 0 takes the default."`
}

// ListExceptionRequestsResponse is one page of requests.
type ListExceptionRequestsResponse struct {
	Requests []ExceptionRequest `json:"requests" doc:"Requests, the newest first."`
	Cursor   string             `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// ExceptionRequestResponse is a request alone.
type ExceptionRequestResponse struct {
	Request ExceptionRequest `json:"request" doc:"The request as it is now."`
	Changed int64            `json:"changed,omitempty" doc:"Findings that approving it ignored, each once whatever its refs; absent when none." example:"1"`
}

// AskExceptionRequest asks for an exception.
type AskExceptionRequest struct {
	_            struct{} `additionalProperties:"false"`
	IssueIDs     []Int    `json:"issue_ids" minItems:"1" maxItems:"100" doc:"Ids of findings of one project that are open." example:"[1234]"`
	Reason       string   `json:"reason" minLength:"1" maxLength:"3000" doc:"Why they should be ignored, for people." example:"Only our tests call it."`
	TriageReason string   `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"The reason that the findings would show; acceptable_risk when absent."`
	Until        string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$" patternDescription:"a day, as 2027-01-31" doc:"Last day that is wished, in UTC, as 2027-01-31. Absent: no end is." example:"2027-01-31"`
}

// ApproveExceptionRequest approves a request.
type ApproveExceptionRequest struct {
	_       struct{} `additionalProperties:"false"`
	Until   string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$" patternDescription:"a day, as 2027-01-31" doc:"Last day of it, in UTC, as 2027-01-31; without it and forever, the day that is wished." example:"2027-01-31"`
	Forever bool     `json:"forever,omitempty" doc:"Without an end; in place of until. A request that wishes no end is approved with one of the two."`
	Answer  string   `json:"answer,omitempty" maxLength:"3000" doc:"What to say; it becomes the comment on the findings. Absent: the reason of who asked does." example:"Until the upgrade."`
}

// RefuseExceptionRequest refuses a request.
type RefuseExceptionRequest struct {
	_      struct{} `additionalProperties:"false"`
	Answer string   `json:"answer" minLength:"1" maxLength:"3000" doc:"Why, for who asked." example:"Upgrade: 4.17.21 fixes it."`
}

// ListExceptionRequests answers a page of the requests that the token may see.
func (c *Client) ListExceptionRequests(ctx context.Context, deployment string, q ExceptionRequestsQuery) (*ListExceptionRequestsResponse, error) {
	return answer[ListExceptionRequestsResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "exception-requests"), query: values(q)})
}

// GetExceptionRequest answers one request.
func (c *Client) GetExceptionRequest(ctx context.Context, deployment string, id int64) (*ExceptionRequestResponse, error) {
	return answer[ExceptionRequestResponse](ctx, c, call{method: http.MethodGet, path: path(deployment, "exception-requests", strconv.FormatInt(id, 10))})
}

// AskException asks for an exception.
func (c *Client) AskException(ctx context.Context, deployment string, r AskExceptionRequest, options ...Option) (*ExceptionRequestResponse, error) {
	return answer[ExceptionRequestResponse](ctx, c, call{method: http.MethodPost, path: path(deployment, "exception-requests"), body: r}, options...)
}

// ApproveException ignores what a request is about until a day.
func (c *Client) ApproveException(ctx context.Context, deployment string, id int64, r ApproveExceptionRequest, options ...Option) (*ExceptionRequestResponse, error) {
	return c.decideException(ctx, deployment, id, "approve", r, options...)
}

// RefuseException ends a request with why.
func (c *Client) RefuseException(ctx context.Context, deployment string, id int64, r RefuseExceptionRequest, options ...Option) (*ExceptionRequestResponse, error) {
	return c.decideException(ctx, deployment, id, "refuse", r, options...)
}

// WithdrawException ends a request of the token's maker.
func (c *Client) WithdrawException(ctx context.Context, deployment string, id int64, options ...Option) (*ExceptionRequestResponse, error) {
	return c.decideException(ctx, deployment, id, "withdraw", nil, options...)
}

func (c *Client) decideException(ctx context.Context, deployment string, id int64, verb string, body any, options ...Option) (*ExceptionRequestResponse, error) {
	return answer[ExceptionRequestResponse](ctx, c, call{method: http.MethodPost, path: path(deployment, "exception-requests", strconv.FormatInt(id, 10), verb), body: body}, options...)
}
