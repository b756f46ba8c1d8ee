package api

import (
	"context"
	"net/http"
	"strconv"
)

// FindingHistoryResponse contains the events of a finding and its other refs.
type FindingHistoryResponse struct {
	Events []FindingEvent `json:"events" doc:"Events, oldest first: results of scans on its ref, and decisions on all its refs."`
	Others []Elsewhere    `json:"others" doc:"The same finding on other refs."`

	MergedInto int64 `json:"merged_into,omitempty" doc:"Finding into which this one was merged, and whose decisions apply; absent if it was not merged or is listed itself." example:"1241"`
}

// FindingEvent is one event of a finding. Members that do not apply to its kind are absent.
type FindingEvent struct {
	At        Time            `json:"at" doc:"Time."`
	Kind      string          `json:"kind" enum:"found,fixed,returned,removed,moved,muted,unmuted,precedent,copied,merged,triaged,exception_asked,exception_approved,exception_refused,exception_withdrawn,exception_ended,commented,comment_withdrawn" doc:"Kind of event. Scans: first found, no longer seen, seen again, out of scope, moved, suppressed in the code or no longer. Copies: created in place of a finding with a decision, copied, split. Decisions: triaged, assigned, noted, exception requested or decided. Comments: commented, comment withdrawn." example:"triaged"`
	ScanID    int64           `json:"scan_id,omitempty" doc:"Scan of the event; absent if there is none." example:"42"`
	By        *Person         `json:"by,omitempty" doc:"Author; absent for a scan."`
	Before    *TriageDecision `json:"before,omitempty" doc:"Triaged: triage before the event."`
	After     *TriageDecision `json:"after,omitempty" doc:"Triaged: triage after the event."`
	From      *EventPlace     `json:"from,omitempty" doc:"Moved: previous location."`
	To        *EventPlace     `json:"to,omitempty" doc:"Moved: new location."`
	FindingID int64           `json:"finding_id,omitempty" doc:"Precedent, copied and merged: id of the other finding; absent if its project was merged, which note names." example:"1240"`
	CommentID int64           `json:"comment_id,omitempty" doc:"Commented and comment_withdrawn: id of the comment." example:"12"`
	Note      string          `json:"note,omitempty" doc:"Comment, or the reason of the removal." example:"only in tests"`
}

// Person is the author of an event: a user, a token, an exception, a VEX statement, or the server
// itself.
type Person struct {
	Kind string `json:"kind" enum:"user,token,collaborator,cli,scan,system,exception,vex" doc:"Kind of author; a collaborator replied at a code host. Decisions by exceptions or VEX statements name these as authors." example:"user"`
	Name string `json:"name" doc:"Name; empty if there is none." example:"ada"`
}

// TriageDecision is the triage state of a finding at one time.
type TriageDecision struct {
	TriageState  string `json:"triage_state" enum:"untriaged,ignored,reviewing,fixing,reopened" doc:"Triage state." example:"ignored"`
	TriageReason string `json:"triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Triage reason; absent if not ignored."`
	TriageUntil  string `json:"triage_until,omitempty" format:"date" doc:"Last day of the decision (UTC); absent without an expiry." example:"2027-01-31"`
	Assignee     string `json:"assignee,omitempty" doc:"Name of the assigned user; absent if unassigned." example:"ada"`
}

// EventPlace is the location of a finding.
type EventPlace struct {
	Path string `json:"path" doc:"Path of the file." example:"src/app.py"`
	Line int    `json:"line" doc:"Line, from 1; 0: unknown." example:"10"`
}

// GetFindingHistory returns the events of a finding.
func (c *Client) GetFindingHistory(ctx context.Context, deployment string, id int64) (*FindingHistoryResponse, error) {
	return answer[FindingHistoryResponse](
		ctx, c, call{method: http.MethodGet, path: path(deployment, "findings", strconv.FormatInt(id, 10), "history")},
	)
}
