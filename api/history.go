package api

import (
	"context"
	"net/http"
	"strconv"
)

// FindingHistoryResponse contains the events of a finding and its other refs.
type FindingHistoryResponse struct {
	Events []FindingEvent `json:"events" doc:"What happened to it, oldest first: what scans told of it on its ref, and what was decided about it on all its refs."`
	Others []Elsewhere    `json:"others" doc:"The same finding on other refs."`

	MergedInto int64 `json:"merged_into,omitempty" doc:"The finding that this one is part of now, and that has its decisions; absent where it is part of none, and while it is listed itself." example:"1241"`
}

// FindingEvent is one event of a finding. Members that do not apply to its kind are absent.
type FindingEvent struct {
	At        Time            `json:"at" doc:"When."`
	Kind      string          `json:"kind" enum:"found,fixed,returned,removed,moved,muted,unmuted,precedent,copied,merged,triaged,exception_asked,exception_approved,exception_refused,exception_withdrawn,exception_ended,commented,comment_withdrawn" doc:"What: found first, no longer seen, seen again, out of scope, at another place, suppressed in the code or no longer so, here in place of another that was decided, a copy of another, part of it is another from now on, triaged, assigned or noted, an exception was asked for, and what became of that, or somebody commented, or withdrew a comment." example:"triaged"`
	ScanID    int64           `json:"scan_id,omitempty" doc:"Scan that told it; absent where none did." example:"42"`
	By        *Person         `json:"by,omitempty" doc:"Who did it; absent where a scan did."`
	Before    *TriageDecision `json:"before,omitempty" doc:"Triaged: what was so until then."`
	After     *TriageDecision `json:"after,omitempty" doc:"Triaged: what was so from then on."`
	From      *EventPlace     `json:"from,omitempty" doc:"Moved: where it was."`
	To        *EventPlace     `json:"to,omitempty" doc:"Moved: where it is since."`
	FindingID int64           `json:"finding_id,omitempty" doc:"Precedent, copied and merged: the other finding; absent where it was of a project that was merged, which note names." example:"1240"`
	CommentID int64           `json:"comment_id,omitempty" doc:"Commented and comment_withdrawn: the comment." example:"12"`
	Note      string          `json:"note,omitempty" doc:"What was said of it, or why it was removed." example:"only in tests"`
}

// Person is the author of an event: a user, a token, an exception, a VEX statement, or the server
// itself.
type Person struct {
	Kind string `json:"kind" enum:"user,token,collaborator,cli,scan,system,exception,vex" doc:"What kind of one; a collaborator replied at a code host. What an exception or VEX statement decides is told as theirs." example:"user"`
	Name string `json:"name" doc:"Its name; empty where it has none." example:"ada"`
}

// TriageDecision is the triage state of a finding at one time.
type TriageDecision struct {
	TriageState  string `json:"triage_state" enum:"untriaged,ignored,reviewing,fixing,reopened" doc:"What people decided." example:"ignored"`
	TriageReason string `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Why it is ignored; absent otherwise."`
	TriageUntil  string `json:"triage_until,omitempty" format:"date" doc:"Last day of the decision, in UTC; absent when it has no end." example:"2027-01-31"`
	Assignee     string `json:"assignee,omitempty" doc:"Name of the user whom it is assigned to; absent when nobody." example:"ada"`
}

// EventPlace is the location of a finding.
type EventPlace struct {
	Path string `json:"path" doc:"Its file." example:"src/app.py"`
	Line int    `json:"line" doc:"Its line, from 1; 0 is not known." example:"10"`
}

// GetFindingHistory returns the events of a finding.
func (c *Client) GetFindingHistory(ctx context.Context, deployment string, id int64) (*FindingHistoryResponse, error) {
	return answer[FindingHistoryResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "findings", strconv.FormatInt(id, 10), "history")},
	)
}
