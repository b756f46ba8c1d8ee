package api

import (
	"context"
	"net/http"
)

// FindingChangesQuery contains the parameters for listing changed findings.
type FindingChangesQuery struct {
	Cursor       string `query:"cursor" maxLength:"200" doc:"Cursor of the previous response. Without it and updated_since, all findings are returned."`
	UpdatedSince string `query:"updated_since" format:"date-time" doc:"Start with changes since this time of the server's clock. For clients without a cursor; ignored if cursor is set. Some earlier changes are included. A future time is an error." example:"2024-05-28T06:38:54Z"`
	Limit        int64  `query:"limit" minimum:"1" maximum:"3000" default:"1000" doc:"Maximum number of findings per response, removed ones included."`
}

// FindingChangesResponse is one page of the changes since a cursor.
type FindingChangesResponse struct {
	Changed []ChangedFinding `json:"changed" doc:"Current state of new and changed findings, by id. Some unchanged findings may be included."`
	Removed []int64          `json:"removed" doc:"Ids of findings that no list contains any more. Some may never have been returned." example:"[1234]"`
	Cursor  string           `json:"cursor" doc:"Cursor of the next call." example:"AQIDBA"`
	HasMore bool             `json:"has_more" doc:"Whether more changes are available now. If not, repeat the call later."`
}

// ChangedFinding is a finding with its issue type.
type ChangedFinding struct {
	IssueType string `json:"issue_type" enum:"sast,sca,secrets" doc:"Issue type of the finding." example:"sast"`
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
