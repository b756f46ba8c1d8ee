package api

// CreateTicketsRequest creates tickets for findings. Unknown members are rejected, so that a
// misspelled filter does not widen the selection.
type CreateTicketsRequest struct {
	_              struct{} `additionalProperties:"false"`
	DeploymentSlug ID       `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	IssueType      string   `json:"issue_type,omitempty" enum:"sast,sca,secrets" doc:"Type of the findings; required with a filter." example:"sast"`
	IssueIDs       []Int    `json:"issue_ids,omitempty" maxItems:"3000" doc:"Ids of findings; unknown ones are returned as skipped." example:"[1234]"`
	GroupIssues    *bool    `json:"group_issues,omitempty" default:"true" doc:"true: one ticket for all findings of a rule in a project; false: one per finding."`
	JiraProjectID  ID       `json:"jira_project_id,omitempty" doc:"Key of the Jira project, as SEC; default: the deployment's setting."`
	Limit          int64    `json:"limit,omitempty" minimum:"1" maximum:"20" default:"20" doc:"Maximum number of findings, newest first; those with a ticket do not count."`

	Connection string `json:"connection,omitempty" maxLength:"100" doc:"Name of the connection; default: the deployment's setting, else the connection of each project's repository (Redoubt extension)." example:"jira"`
	Project    string `json:"tracker_project,omitempty" maxLength:"500" doc:"Name of a project's repository or key of a Jira project; default: the deployment's setting, else each project's repository (Redoubt extension)." example:"acme/payments"`

	TriageFilter
}

// CreateTicketsResponse contains the result for each finding.
type CreateTicketsResponse struct {
	Succeeded []TicketMade    `json:"succeeded" doc:"Created tickets."`
	Skipped   []TicketSkipped `json:"skipped" doc:"Findings that need no ticket or do not exist."`
	Failed    []TicketFailed  `json:"failed" doc:"Findings whose ticket could not be created."`
	Pending   []TicketPending `json:"pending" doc:"Tickets that are not created yet. They are created when the tracker responds, also after a restart (Redoubt extension)."`
}

// TicketMade is a ticket that was created.
type TicketMade struct {
	IssueIDs     []int64 `json:"issue_ids" doc:"Ids of the linked findings, ascending." example:"[1234]"`
	TicketID     int64   `json:"ticket_id" doc:"Id of the ticket in Redoubt." example:"7"`
	TicketURL    string  `json:"ticket_url" doc:"URL of the ticket." example:"https://tracker.example.com/browse/SEC-123"`
	ExternalSlug string  `json:"external_slug" doc:"Name of the ticket in its tracker." example:"SEC-123"`
}

// TicketSkipped lists findings that need no ticket.
type TicketSkipped struct {
	IssueIDs []int64 `json:"issue_ids" doc:"Ids of the findings." example:"[1234]"`
	Reason   string  `json:"reason" doc:"Reason, as text." example:"Already linked to SEC-123."`
}

// TicketFailed lists findings for which no ticket could be created.
type TicketFailed struct {
	IssueIDs []int64 `json:"issue_ids" doc:"Ids of the findings." example:"[1234]"`
	Error    string  `json:"error" doc:"Reason, as text." example:"Connection \"jira\" does not exist."`
}

// TicketPending is a ticket that is queued for creation.
type TicketPending struct {
	IssueIDs []int64 `json:"issue_ids" doc:"Ids of the linked findings, ascending." example:"[1234]"`
	TicketID int64   `json:"ticket_id" doc:"Id of the ticket in Redoubt. getTicket returns its state." example:"7"`
}

// LinkTicketRequest links findings to an existing ticket.
type LinkTicketRequest struct {
	_              struct{} `additionalProperties:"false"`
	DeploymentSlug ID       `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	TicketURL      string   `json:"ticket_url" minLength:"1" maxLength:"2048" doc:"URL of the ticket, http or https." example:"https://tracker.example.com/browse/SEC-123"`
	IssueIDs       []Int    `json:"issue_ids" minItems:"1" maxItems:"100" doc:"Ids of findings; all must exist." example:"[1234]"`
}

// LinkTicketResponse contains the linked findings.
type LinkTicketResponse struct {
	TicketID         int64   `json:"ticket_id" doc:"Id of the ticket in Redoubt." example:"7"`
	ExternalSlug     string  `json:"external_slug" doc:"Name of the ticket in its tracker, derived from the URL." example:"SEC-123"`
	TicketURL        string  `json:"ticket_url" doc:"URL of the ticket." example:"https://tracker.example.com/browse/SEC-123"`
	LinkedIssueIDs   []int64 `json:"linked_issue_ids" doc:"Ids of the requested findings that are now linked, ascending." example:"[1234]"`
	ReplacedIssueIDs []int64 `json:"replaced_issue_ids" doc:"Ids of the findings whose previous ticket was replaced." example:"[]"`
}

// UnlinkTicketRequest removes the ticket links of findings.
type UnlinkTicketRequest struct {
	_              struct{} `additionalProperties:"false"`
	DeploymentSlug ID       `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	IssueIDs       []Int    `json:"issue_ids" minItems:"1" maxItems:"100" doc:"Ids of findings; all must exist." example:"[1234]"`
}

// UnlinkTicketResponse lists the findings that were linked before.
type UnlinkTicketResponse struct {
	UnlinkedIssueIDs []int64 `json:"unlinked_issue_ids" doc:"Ids of the findings that were linked, ascending." example:"[1234]"`
}

// DeleteTicketResponse lists the findings of the deleted ticket.
type DeleteTicketResponse struct {
	IssueIDs []int64 `json:"issueIds" doc:"Ids of the previously linked findings, ascending." example:"[1234]"`
}

// TicketsQuery contains the parameters for listing tickets.
type TicketsQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"200" default:"100" doc:"Tickets per page; 0 means the default."`
}

// ListTicketsResponse is one page of tickets.
type ListTicketsResponse struct {
	Tickets []Ticket `json:"tickets" doc:"Tickets, by id."`
	Cursor  string   `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// TicketResponse contains one ticket.
type TicketResponse struct {
	Ticket Ticket `json:"ticket" doc:"The ticket."`
}

// Ticket is an issue in an external tracker that findings are linked to.
type Ticket struct {
	ID           int64   `json:"id" doc:"Id of the ticket in Redoubt." example:"7"`
	State        string  `json:"state" enum:"unknown,requested,open,closed,failed" doc:"State as last reported by the tracker: unknown without a connection, requested until created, failed if creation failed." example:"open"`
	URL          string  `json:"url" doc:"URL; empty until the ticket is created." example:"https://tracker.example.com/browse/SEC-123"`
	ExternalSlug string  `json:"external_slug" doc:"Name in its tracker; empty until the ticket is created." example:"SEC-123"`
	IssueIDs     []int64 `json:"issue_ids" doc:"Ids of the linked findings that are visible to the token, ascending." example:"[1234]"`
	Problem      string  `json:"problem" doc:"Error of the creation or of the last state check; empty: no error."`
	CreatedAt    Time    `json:"created_at" doc:"Time of the link or request."`
	CreatedBy    string  `json:"created_by" doc:"User who linked or requested it." example:"ada"`
	CheckedAt    *Time   `json:"checked_at" nullable:"true" doc:"Time of the last request to the tracker; null: never."`
}

// TicketSettings define where tickets are created.
type TicketSettings struct {
	ConnectionID int64    `json:"connection_id" minimum:"0" doc:"Id of the connection that creates tickets; 0: the connection of each project's repository." example:"2"`
	Project      string   `json:"project" maxLength:"500" doc:"Full name of a repository or key of a Jira project; empty: the repository of each finding's project." example:"SEC"`
	IssueType    string   `json:"issue_type" maxLength:"100" doc:"Issue type in Jira; empty: Task." example:"Bug"`
	Labels       []string `json:"labels" maxItems:"20" doc:"Labels of tickets." example:"[\"security\"]"`
	Public       bool     `json:"public" doc:"Whether tickets are also created in public repositories."`
}

// SetTicketSettingsRequest replaces the ticket settings. Absent members are set to their default.
type SetTicketSettingsRequest struct {
	_            struct{} `additionalProperties:"false"`
	ConnectionID int64    `json:"connection_id,omitempty" minimum:"0" doc:"Id of the connection that creates tickets; 0: the connection of each project's repository." example:"2"`
	Project      string   `json:"project,omitempty" maxLength:"500" doc:"Full name of a repository or key of a Jira project (required for Jira); empty: the repository of each finding's project." example:"SEC"`
	IssueType    string   `json:"issue_type,omitempty" maxLength:"100" doc:"Issue type in Jira; empty: Task." example:"Bug"`
	Labels       []string `json:"labels,omitempty" maxItems:"20" doc:"Labels of tickets, without spaces or commas." example:"[\"security\"]"`
	Public       bool     `json:"public,omitempty" doc:"Whether tickets are also created in public repositories."`
}

// TicketSettingsResponse contains the ticket settings, with their connection.
type TicketSettingsResponse struct {
	Settings   TicketSettings `json:"settings" doc:"The settings, after the change if there was one."`
	Connection string         `json:"connection" doc:"Name of the connection; empty if there is none or it was deleted." example:"jira"`
	Kind       string         `json:"kind" doc:"Kind of the connection's host; empty if there is none." example:"jira"`
}
