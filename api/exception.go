package api

import (
	"context"
	"net/http"
	"strconv"
)

// Exception accepts findings until a date. It covers a rule or a vulnerability in some projects and
// paths, selected findings of one project, or the statements of a VEX document.
type Exception struct {
	ID        int64        `json:"id" doc:"Id of the exception." example:"7"`
	State     string       `json:"state" enum:"requested,active,refused,withdrawn,ended" doc:"requested: awaits a decision and has no effect. active: in effect. refused: by a user with the triager role. withdrawn: by the requester. ended: expired or deleted, or none of its requested findings was open any more."`
	Kind      string       `json:"kind" enum:"target,findings,document" doc:"Scope: a rule or a vulnerability, selected findings, or the statements of a VEX document."`
	Target    string       `json:"target,omitempty" doc:"Name of a rule, or any id of a vulnerability; absent for the other kinds." example:"CVE-2021-23337"`
	Paths     []string     `json:"paths" doc:"For a target: globs as in .gitignore, of which one must match the path or lockfile of a finding; empty: all paths."`
	Projects  []string     `json:"projects" doc:"Globs of project names, of which one must match; empty: all projects, or that of project_id."`
	ProjectID Int          `json:"project_id,omitempty" doc:"Id of the project of the selected findings or of the document." example:"17"`
	Project   string       `json:"project,omitempty" doc:"Name of that project." example:"acme/payments"`
	IssueIDs  []int64      `json:"issue_ids,omitempty" doc:"One id for each selected finding: on a ref on which it is open, if there is one." example:"[1234]"`
	Document  *VEXDocument `json:"document,omitempty" doc:"The VEX document; absent for the other kinds."`

	Reason       string `json:"reason" doc:"Justification." example:"Build tools only."`
	TriageReason string `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Triage reason of the findings; absent for a document, whose statements define it."`
	Until        *Time  `json:"until" nullable:"true" doc:"Time of expiry; null: never. For a request: the requested expiry."`
	Ignores      int64  `json:"ignores" doc:"Number of findings that it ignores; for a document, of findings whose current triage it set. Each counts once for all its refs." example:"2"`
	CreatedAt    Time   `json:"created_at" doc:"Time of creation or request."`
	CreatedBy    string `json:"created_by" doc:"Creator or requester." example:"user:ana"`
	DecidedAt    *Time  `json:"decided_at" nullable:"true" doc:"Time of the last change of state; null while the exception is requested."`
	DecidedBy    string `json:"decided_by,omitempty" doc:"Author of the last change of state, such as a user, a token, or the system on expiry; absent while the exception is requested." example:"user:ben"`
	Answer       string `json:"answer,omitempty" doc:"Comment on the decision, or the reason why a request ended; absent if there is none." example:"Until the upgrade."`
}

// ExceptionsQuery contains the parameters for listing exceptions.
type ExceptionsQuery struct {
	State  string `query:"state" enum:"requested,active,refused,withdrawn,ended" doc:"Only exceptions in this state."`
	Kind   string `query:"kind" enum:"target,findings,document" doc:"Only exceptions of this kind."`
	Mine   bool   `query:"mine" doc:"Only requests of the user who created the token. The list is empty for a token without a user."`
	Cursor string `query:"cursor" doc:"Cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Exceptions per page; 0 means the default."`
}

// ListExceptionsResponse is one page of exceptions.
type ListExceptionsResponse struct {
	Exceptions []Exception `json:"exceptions" doc:"Exceptions, newest first."`
	Cursor     string      `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// CreateExceptionRequest creates an exception. Unknown members are rejected, so that a misspelled
// one does not widen the exception.
type CreateExceptionRequest struct {
	_            struct{} `additionalProperties:"false"`
	Target       string   `json:"target" minLength:"1" maxLength:"512" doc:"Name of a rule, or any id of a vulnerability." example:"CVE-2021-23337"`
	Paths        []string `json:"paths,omitempty" doc:"Globs as in .gitignore; empty: all paths."`
	Projects     []string `json:"projects,omitempty" doc:"Globs of project names; empty: all projects. A token restricted to projects must name some of its own."`
	Reason       string   `json:"reason" minLength:"1" maxLength:"3000" doc:"Justification." example:"Build tools only."`
	TriageReason string   `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Triage reason of the findings; default: acceptable_risk."`
	Until        string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?)?$" patternDescription:"a date or time, as YYYY-MM-DD or 2027-01-31T12:00:00Z" maxLength:"64" doc:"Last day (UTC) or time of expiry (RFC 3339), in the future. Set either until or forever." example:"2027-01-31"`
	Forever      bool     `json:"forever,omitempty" doc:"true: no expiry; instead of until."`
	DryRun       bool     `json:"dry_run,omitempty" doc:"Change nothing: return the resulting exception, with id 0, and its effect."`
	Selection    string   `json:"selection,omitempty" pattern:"^([0-9a-f]{64})?$" patternDescription:"the selection of a dry run" doc:"Value of selection from a dry run of the same request. If the affected findings or decisions about them have changed since, the request fails with 409 Conflict."`
}

// ExceptionQuery contains the parameters for reading one exception.
type ExceptionQuery struct {
	Ending bool   `query:"ending" doc:"Include the effect of a deletion at this time."`
	Cursor string `query:"cursor" doc:"For a document: cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"For a document: statements per page; 0 means the default."`
}

// ExceptionResponse contains one exception.
type ExceptionResponse struct {
	Exception Exception        `json:"exception" doc:"The exception."`
	Ending    *ExceptionEffect `json:"ending,omitempty" doc:"Effect of a deletion at this time; only if requested."`

	Statements []VEXStatement `json:"statements,omitempty" doc:"Statements of a document, in its order, in pages."`
	Cursor     string         `json:"cursor,omitempty" doc:"Cursor of the next page of statements; absent on the last page."`
}

// ExceptionEffect counts the findings that an exception, or its end, would change.
type ExceptionEffect struct {
	Changed       int64   `json:"changed" doc:"Findings whose triage would change. Each counts once for all its refs." example:"2"`
	Selection     string  `json:"selection" doc:"SHA-256 hash of these findings and the decisions about them. A request with this selection applies exactly this change or none."`
	FirstFindings []int64 `json:"first_findings" doc:"Ids of the first ten findings, ascending, each on the ref on which it was found first." example:"[17,18]"`
}

// DeleteExceptionQuery contains the parameters for deleting an exception.
type DeleteExceptionQuery struct {
	Selection string `query:"selection" pattern:"^([0-9a-f]{64})?$" doc:"Value of selection from getException with ending. If the affected findings or decisions about them have changed since, the request fails with 409 Conflict."`
}

// ExceptionChangeResponse contains an exception that was created, decided or deleted.
type ExceptionChangeResponse struct {
	Exception Exception `json:"exception" doc:"The exception after the change, or before its deletion."`
	Changed   int64     `json:"changed" doc:"Findings whose triage changed. Each counts once for all its refs." example:"2"`
	Selection string    `json:"selection,omitempty" doc:"SHA-256 hash of these findings and the decisions about them; only for a dry run."`

	FirstFindings []int64 `json:"first_findings,omitempty" doc:"Ids of the first ten findings, ascending; only for a dry run." example:"[17,18]"`

	Refused int64 `json:"refused,omitempty" doc:"Refused statements of a document. Later uploads of the project do not propose them again." example:"2"`
	Waits   bool  `json:"waits,omitempty" doc:"Whether other statements of the document still need a decision."`
}

// ImportDocumentsQuery contains the parameters for uploading VEX documents.
type ImportDocumentsQuery struct {
	Projects []string `query:"projects,explode" doc:"Globs of project names, of which one must match; empty: all projects."`
	Filename string   `query:"filename" maxLength:"1024" doc:"File name of a raw body."`
}

// ImportDocumentsResponse contains the results of an upload of VEX documents.
type ImportDocumentsResponse struct {
	Documents []ImportVEX   `json:"documents" doc:"The documents, in the order of the files."`
	Refused   []RefusedItem `json:"refused" doc:"The first 100 invalid statements of each document."`
	MoreCount int           `json:"refused_more" doc:"Number of further invalid statements."`
}

// RequestExceptionRequest requests an exception.
type RequestExceptionRequest struct {
	_            struct{} `additionalProperties:"false"`
	IssueIDs     []Int    `json:"issue_ids" minItems:"1" maxItems:"100" doc:"Ids of open findings of one project." example:"[1234]"`
	Reason       string   `json:"reason" minLength:"1" maxLength:"3000" doc:"Justification." example:"Only our tests call it."`
	TriageReason string   `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Requested triage reason; default: acceptable_risk."`
	Until        string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$" patternDescription:"a date as YYYY-MM-DD" doc:"Requested last day (UTC), as 2027-01-31; absent: no expiry." example:"2027-01-31"`
}

// ApproveExceptionRequest approves a requested exception.
type ApproveExceptionRequest struct {
	_       struct{} `additionalProperties:"false"`
	Until   string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$" patternDescription:"a date as YYYY-MM-DD" doc:"Last day (UTC), as 2027-01-31. If neither until nor forever is set, the requested day applies." example:"2027-01-31"`
	Forever bool     `json:"forever,omitempty" doc:"true: no expiry; instead of until. One of the two is required if the request has no day."`
	Answer  string   `json:"answer,omitempty" maxLength:"3000" doc:"Comment on the decision, which also becomes the triage comment of the findings. Without it, they get the requester's justification." example:"Until the upgrade."`

	Statements []string `json:"statements,omitempty" maxItems:"500" doc:"For a document: ids of the statements to approve; default: the whole document. For a document, until is an error, and forever and answer are ignored."`
}

// RefuseExceptionRequest refuses a requested exception.
type RefuseExceptionRequest struct {
	_          struct{} `additionalProperties:"false"`
	Answer     string   `json:"answer,omitempty" maxLength:"3000" doc:"Reason for the requester; required except for a document." example:"Upgrade: 4.17.21 fixes it."`
	Statements []string `json:"statements,omitempty" maxItems:"500" doc:"For a document: ids of the statements to refuse; default: the whole document."`
}

// ImportDocuments uploads VEX documents for many projects.
func (c *Client) ImportDocuments(
	ctx context.Context, deployment string, q ImportDocumentsQuery, files []File, options ...Option,
) (*ImportDocumentsResponse, error) {
	body, media, err := packed(files)
	if err != nil {
		return nil, err
	}
	return answer[ImportDocumentsResponse](ctx, c, call{
		method: http.MethodPost, path: path(deployment, "exceptions", "documents"),
		query: values(q), packed: body, media: media,
	}, options...)
}

// RequestException requests an exception for findings.
func (c *Client) RequestException(
	ctx context.Context, deployment string, r RequestExceptionRequest, options ...Option,
) (*ExceptionChangeResponse, error) {
	return answer[ExceptionChangeResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "exceptions", "requests"),
		body:   r,
	}, options...)
}

// ApproveException approves a requested exception.
func (c *Client) ApproveException(
	ctx context.Context, deployment string, id int64, r ApproveExceptionRequest, options ...Option,
) (*ExceptionChangeResponse, error) {
	return c.decideException(ctx, deployment, id, "approve", r, options...)
}

// RefuseException refuses a requested exception and records the reason.
func (c *Client) RefuseException(
	ctx context.Context, deployment string, id int64, r RefuseExceptionRequest, options ...Option,
) (*ExceptionChangeResponse, error) {
	return c.decideException(ctx, deployment, id, "refuse", r, options...)
}

// WithdrawException withdraws a request of the user that created the token.
func (c *Client) WithdrawException(
	ctx context.Context, deployment string, id int64, options ...Option,
) (*ExceptionChangeResponse, error) {
	return c.decideException(ctx, deployment, id, "withdraw", nil, options...)
}

func (c *Client) decideException(
	ctx context.Context, deployment string, id int64, verb string, body any, options ...Option,
) (*ExceptionChangeResponse, error) {
	return answer[ExceptionChangeResponse](ctx, c, call{
		method: http.MethodPost,
		path:   path(deployment, "exceptions", strconv.FormatInt(id, 10), verb),
		body:   body,
	}, options...)
}
