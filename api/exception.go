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
	State     string       `json:"state" enum:"requested,active,refused,withdrawn,ended" doc:"requested waits for a decision and changes nothing; active ignores what it covers; ended expired, was removed, or had nothing left to ask for."`
	Kind      string       `json:"kind" enum:"target,findings,document" doc:"What it is about: a rule or a vulnerability, findings that it names, or what a VEX document says."`
	Target    string       `json:"target,omitempty" doc:"A rule, by its name, or a vulnerability, by any of its ids; absent of the other kinds." example:"CVE-2021-23337"`
	Paths     []string     `json:"paths" doc:"Of a target: globs as in .gitignore, of which one must fit the path or the lockfile of a finding; none is every path."`
	Projects  []string     `json:"projects" doc:"Globs of which one must fit the name of the project; none is every project, or that of project_id."`
	ProjectID Int          `json:"project_id,omitempty" doc:"Id of the project of the findings that it names, or that the document is for." example:"17"`
	Project   string       `json:"project,omitempty" doc:"Name of that project." example:"acme/payments"`
	IssueIDs  []int64      `json:"issue_ids,omitempty" doc:"Ids of the findings that it names, each on one ref: one where it is open, if it is on any." example:"[1234]"`
	Document  *VEXDocument `json:"document,omitempty" doc:"The VEX document; absent of the other kinds."`

	Reason       string `json:"reason" doc:"Why it is accepted, for people." example:"Build tools only."`
	TriageReason string `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"The reason that the findings show; absent of a document, whose statements say it."`
	Until        *Time  `json:"until" nullable:"true" doc:"First instant without it; null is for ever. While it is requested, the wish of the person who asked."`
	Ignores      int64  `json:"ignores" doc:"Findings that it ignores now, or as a document decided about last, each once whatever its refs." example:"2"`
	CreatedAt    Time   `json:"created_at" doc:"When it was made or asked for."`
	CreatedBy    string `json:"created_by" doc:"Who made it or asked for it." example:"user:ana"`
	DecidedAt    *Time  `json:"decided_at" nullable:"true" doc:"When it got its state; null while it is requested."`
	DecidedBy    string `json:"decided_by,omitempty" doc:"Who decided; absent while it is requested." example:"user:ben"`
	Answer       string `json:"answer,omitempty" doc:"What they said; absent when nothing." example:"Until the upgrade."`
}

// ExceptionsQuery contains the parameters for listing exceptions.
type ExceptionsQuery struct {
	State  string `query:"state" enum:"requested,active,refused,withdrawn,ended" doc:"Only those of this state."`
	Kind   string `query:"kind" enum:"target,findings,document" doc:"Only those of this kind."`
	Mine   bool   `query:"mine" doc:"Only those that the user asked for who made the token. A token that no user made has none."`
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Exceptions in one answer; 0 takes the default."`
}

// ListExceptionsResponse is one page of exceptions.
type ListExceptionsResponse struct {
	Exceptions []Exception `json:"exceptions" doc:"Exceptions, the newest first."`
	Cursor     string      `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// CreateExceptionRequest creates an exception. Unknown members are rejected, so that a misspelled
// one does not widen the exception.
type CreateExceptionRequest struct {
	_            struct{} `additionalProperties:"false"`
	Target       string   `json:"target" minLength:"1" maxLength:"512" doc:"A rule, by its name, or a vulnerability, by any of its ids." example:"CVE-2021-23337"`
	Paths        []string `json:"paths,omitempty" doc:"Globs as in .gitignore; none is every path."`
	Projects     []string `json:"projects,omitempty" doc:"Globs of project names; none is every project. A token that is bound to projects must name some of its own."`
	Reason       string   `json:"reason" minLength:"1" maxLength:"3000" doc:"Why it is accepted, for people." example:"Build tools only."`
	TriageReason string   `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"The reason that the findings show; acceptable_risk when absent."`
	Until        string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2}))?)?$" patternDescription:"a day or an instant, as 2027-01-31 or 2027-01-31T12:00:00Z" maxLength:"64" doc:"Last day of it in UTC, or the instant that it ends at (RFC 3339); in the future. It or forever is needed, and not both." example:"2027-01-31"`
	Forever      bool     `json:"forever,omitempty" doc:"Without an end; true in place of until."`
	DryRun       bool     `json:"dry_run,omitempty" doc:"Change nothing: answer the exception as it would be, with id 0, and what it would change."`
	Selection    string   `json:"selection,omitempty" pattern:"^([0-9a-f]{64})?$" patternDescription:"the selection of a dry run" doc:"The selection of a dry run of the same request: where other findings would change, or something was decided about them since, it is a conflict and no exception is made."`
}

// ExceptionQuery contains the parameters for reading one exception.
type ExceptionQuery struct {
	Ending bool   `query:"ending" doc:"Tell what would change if the exception were deleted now."`
	Cursor string `query:"cursor" doc:"Of a document: cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Of a document: statements in one answer; 0 takes the default."`
}

// ExceptionResponse contains one exception.
type ExceptionResponse struct {
	Exception Exception        `json:"exception" doc:"The exception."`
	Ending    *ExceptionEffect `json:"ending,omitempty" doc:"What would change if it were deleted now; only where that was asked for."`

	Statements []VEXStatement `json:"statements,omitempty" doc:"What a document says, in its own order, in pages."`
	Cursor     string         `json:"cursor,omitempty" doc:"Pass it to get the next page of statements; absent on the last one."`
}

// ExceptionEffect counts the findings that an exception, or its end, would change.
type ExceptionEffect struct {
	Changed       int64   `json:"changed" doc:"Findings whose triage would change, each once whatever its refs." example:"2"`
	Selection     string  `json:"selection" doc:"Names these findings and what was decided about them: sent with the request itself, it does this or nothing."`
	FirstFindings []int64 `json:"first_findings" doc:"Ids of the first ten of them, ascending, each on the ref that had it first." example:"[17,18]"`
}

// DeleteExceptionQuery contains the parameters for deleting an exception.
type DeleteExceptionQuery struct {
	Selection string `query:"selection" pattern:"^([0-9a-f]{64})?$" doc:"The selection that getException told with ending: where other findings would change by now, or something was decided about them since, it is a conflict and nothing is deleted."`
}

// ExceptionChangeResponse contains an exception that was created, decided or deleted.
type ExceptionChangeResponse struct {
	Exception Exception `json:"exception" doc:"The exception, as it is or was."`
	Changed   int64     `json:"changed" doc:"Findings whose triage changed with it, each once whatever its refs." example:"2"`
	Selection string    `json:"selection,omitempty" doc:"Names these findings and what was decided about them; only of a dry run."`

	FirstFindings []int64 `json:"first_findings,omitempty" doc:"Ids of the first ten of them, ascending; only of a dry run." example:"[17,18]"`

	Refused int64 `json:"refused,omitempty" doc:"Statements of a document that were refused, which uploads of the project do not propose again." example:"2"`
	Waits   bool  `json:"waits,omitempty" doc:"Whether other statements of the document are still to be decided."`
}

// ImportDocumentsQuery contains the parameters for uploading VEX documents.
type ImportDocumentsQuery struct {
	Projects []string `query:"projects,explode" doc:"Globs of project names, of which one must fit; none is every project."`
	Filename string   `query:"filename" maxLength:"1024" doc:"Name of a raw body."`
}

// ImportDocumentsResponse contains the results of an upload of VEX documents.
type ImportDocumentsResponse struct {
	Documents []ImportVEX   `json:"documents" doc:"The documents, in the order of the files."`
	Refused   []RefusedItem `json:"refused" doc:"Statements that were not understood, the first of each document."`
	MoreCount int           `json:"refused_more" doc:"Further statements that were not understood."`
}

// RequestExceptionRequest requests an exception.
type RequestExceptionRequest struct {
	_            struct{} `additionalProperties:"false"`
	IssueIDs     []Int    `json:"issue_ids" minItems:"1" maxItems:"100" doc:"Ids of findings of one project that are open." example:"[1234]"`
	Reason       string   `json:"reason" minLength:"1" maxLength:"3000" doc:"Why they should be ignored, for people." example:"Only our tests call it."`
	TriageReason string   `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"The reason that the findings would show; acceptable_risk when absent."`
	Until        string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$" patternDescription:"a day, as 2027-01-31" doc:"Last day that is wished, in UTC, as 2027-01-31. Absent: no end is." example:"2027-01-31"`
}

// ApproveExceptionRequest approves a requested exception.
type ApproveExceptionRequest struct {
	_       struct{} `additionalProperties:"false"`
	Until   string   `json:"until,omitempty" pattern:"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$" patternDescription:"a day, as 2027-01-31" doc:"Last day of it, in UTC, as 2027-01-31; without it and forever, the day that is wished." example:"2027-01-31"`
	Forever bool     `json:"forever,omitempty" doc:"Without an end; in place of until. A request that wishes no end is approved with one of the two."`
	Answer  string   `json:"answer,omitempty" maxLength:"3000" doc:"What to say; it becomes the comment on the findings. Absent: the reason of who asked does." example:"Until the upgrade."`

	Statements []string `json:"statements,omitempty" maxItems:"500" doc:"Of a document, which has no until, and for which forever and answer are not used: ids of the statements to approve; the whole document when absent or empty."`
}

// RefuseExceptionRequest refuses a requested exception.
type RefuseExceptionRequest struct {
	_          struct{} `additionalProperties:"false"`
	Answer     string   `json:"answer,omitempty" maxLength:"3000" doc:"Why, for the person who asked; needed but for a document." example:"Upgrade: 4.17.21 fixes it."`
	Statements []string `json:"statements,omitempty" maxItems:"500" doc:"Of a document: ids of the statements to refuse; the whole document when absent or empty."`
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
