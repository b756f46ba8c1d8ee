package api

import (
	"context"
	"net/http"
)

// FindingChangesQuery contains the parameters for listing changed findings.
type FindingChangesQuery struct {
	Cursor       string `query:"cursor" maxLength:"200" doc:"From the answer before; without it, and without updated_since, all findings that there are."`
	UpdatedSince string `query:"updated_since" format:"date-time" doc:"Begin with what changed since this time by the server's clock, for who has no cursor yet; beside a cursor it is not looked at. Some of what changed before comes with it. A time that is still to come is an error." example:"2024-05-28T06:38:54Z"`
	Limit        int64  `query:"limit" minimum:"1" maximum:"3000" default:"1000" doc:"Findings of an answer at most, gone ones counted."`
}

// FindingChangesResponse is one page of the changes since a cursor.
type FindingChangesResponse struct {
	Changed []ChangedFinding `json:"changed" doc:"Findings as they are now, by id: new ones, those that changed, and some that may have."`
	Removed []int64          `json:"removed" doc:"Ids of findings that are in no list any more; some were perhaps never told." example:"[1234]"`
	Cursor  string           `json:"cursor" doc:"For the next call." example:"AQIDBA"`
	HasMore bool             `json:"has_more" doc:"Whether there is more by now. Else ask again later."`
}

// ChangedFinding is a finding with its issue type.
type ChangedFinding struct {
	IssueType string `json:"issue_type" enum:"sast,sca,secrets" doc:"What kind of finding it is." example:"sast"`
	Finding
}

// FindingChanges returns the changes since a cursor or a time. A client that starts without either,
// applies all changed findings and deletes all removed ones mirrors the deployment.
func (c *Client) FindingChanges(
	ctx context.Context, deployment string, q FindingChangesQuery,
) (*FindingChangesResponse, error) {
	return answer[FindingChangesResponse](ctx, c, call{
		method: http.MethodGet,
		path:   path(deployment, "findings", "changes"),
		query:  values(q),
	})
}
