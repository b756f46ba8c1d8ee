package api

// CreateTicketsRequest creates tickets for findings. Unknown members are rejected, so that a
// misspelled filter does not widen the selection.
type CreateTicketsRequest struct {
	_              struct{} `additionalProperties:"false"`
	DeploymentSlug ID       `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	IssueType      string   `json:"issue_type,omitempty" enum:"sast,sca,secrets" doc:"Type of the findings; needed with a filter, not with issue_ids alone." example:"sast"`
	IssueIDs       []Int    `json:"issue_ids,omitempty" maxItems:"3000" doc:"Findings to make tickets of; unknown ones are told as skipped." example:"[1234]"`
	GroupIssues    *bool    `json:"group_issues,omitempty" default:"true" doc:"One ticket for all findings of a rule in a project; false makes one for each finding."`
	JiraProjectID  ID       `json:"jira_project_id,omitempty" doc:"Key of the project of Jira, as SEC; the deployment's setting when absent."`
	Limit          int64    `json:"limit,omitempty" minimum:"1" maximum:"20" default:"20" doc:"Most findings to make tickets of, newest first; those that have a ticket do not count."`

	Connection string `json:"connection,omitempty" maxLength:"100" doc:"Name of the connection to make them with; the deployment's setting when absent, and then that of each project's repository (an extension)." example:"jira"`
	Project    string `json:"tracker_project,omitempty" maxLength:"500" doc:"Repository to make them in, which is a project here, or key of a project of Jira; the deployment's setting when absent, and then each project's repository (an extension)." example:"acme/payments"`

	TriageFilter
}

// CreateTicketsResponse contains the result for each finding.
type CreateTicketsResponse struct {
	Succeeded []TicketMade    `json:"succeeded" doc:"Tickets that were made."`
	Skipped   []TicketSkipped `json:"skipped" doc:"Findings that need no ticket, or are not there."`
	Failed    []TicketFailed  `json:"failed" doc:"Findings of which no ticket could be made."`
	Pending   []TicketPending `json:"pending" doc:"Tickets that the tracker has not taken yet: they are made as soon as it answers, also after a restart (an extension)."`
}

// TicketMade is a ticket that was created.
type TicketMade struct {
	IssueIDs     []int64 `json:"issue_ids" doc:"Findings that it is about, ascending." example:"[1234]"`
	TicketID     int64   `json:"ticket_id" doc:"Id of the ticket here." example:"7"`
	TicketURL    string  `json:"ticket_url" doc:"Its address." example:"https://tracker.example.com/browse/SEC-123"`
	ExternalSlug string  `json:"external_slug" doc:"What its tracker calls it." example:"SEC-123"`
}

// TicketSkipped lists findings that need no ticket.
type TicketSkipped struct {
	IssueIDs []int64 `json:"issue_ids" doc:"The findings." example:"[1234]"`
	Reason   string  `json:"reason" doc:"Why, for people." example:"It is linked to SEC-123 already."`
}

// TicketFailed lists findings for which no ticket could be created.
type TicketFailed struct {
	IssueIDs []int64 `json:"issue_ids" doc:"The findings." example:"[1234]"`
	Error    string  `json:"error" doc:"Why, for people." example:"There is no connection called \"jira\"."`
}

// TicketPending is a ticket that is queued for creation.
type TicketPending struct {
	IssueIDs []int64 `json:"issue_ids" doc:"Findings that it is about, ascending." example:"[1234]"`
	TicketID int64   `json:"ticket_id" doc:"Id of the ticket here: getTicket tells when it is made." example:"7"`
}

// LinkTicketRequest links findings to an existing ticket.
type LinkTicketRequest struct {
	_              struct{} `additionalProperties:"false"`
	DeploymentSlug ID       `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	TicketURL      string   `json:"ticket_url" minLength:"1" maxLength:"2048" doc:"Address of the ticket, of http or https." example:"https://tracker.example.com/browse/SEC-123"`
	IssueIDs       []Int    `json:"issue_ids" minItems:"1" maxItems:"100" doc:"Findings that it is about; all must be there." example:"[1234]"`
}

// LinkTicketResponse contains the linked findings.
type LinkTicketResponse struct {
	TicketID         int64   `json:"ticket_id" doc:"Id of the ticket here." example:"7"`
	ExternalSlug     string  `json:"external_slug" doc:"What its tracker calls it, by the address." example:"SEC-123"`
	TicketURL        string  `json:"ticket_url" doc:"Its address." example:"https://tracker.example.com/browse/SEC-123"`
	LinkedIssueIDs   []int64 `json:"linked_issue_ids" doc:"Findings that were asked for and are linked now, ascending." example:"[1234]"`
	ReplacedIssueIDs []int64 `json:"replaced_issue_ids" doc:"Those of them that were linked to another ticket before." example:"[]"`
}

// UnlinkTicketRequest removes the ticket links of findings.
type UnlinkTicketRequest struct {
	_              struct{} `additionalProperties:"false"`
	DeploymentSlug ID       `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	IssueIDs       []Int    `json:"issue_ids" minItems:"1" maxItems:"100" doc:"The findings; all must be there." example:"[1234]"`
}

// UnlinkTicketResponse lists the findings that were linked before.
type UnlinkTicketResponse struct {
	UnlinkedIssueIDs []int64 `json:"unlinked_issue_ids" doc:"Those of the findings that were linked, ascending." example:"[1234]"`
}

// DeleteTicketResponse lists the findings of the deleted ticket.
type DeleteTicketResponse struct {
	IssueIDs []int64 `json:"issueIds" doc:"Findings that it was about, ascending." example:"[1234]"`
}

// TicketsQuery contains the parameters for listing tickets.
type TicketsQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"200" default:"100" doc:"Tickets in one answer; 0 takes the default."`
}

// ListTicketsResponse is one page of tickets.
type ListTicketsResponse struct {
	Tickets []Ticket `json:"tickets" doc:"Tickets, by id."`
	Cursor  string   `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// TicketResponse contains one ticket.
type TicketResponse struct {
	Ticket Ticket `json:"ticket" doc:"The ticket."`
}

// Ticket is an issue in an external tracker that findings are linked to.
type Ticket struct {
	ID           int64   `json:"id" doc:"Id of the ticket here." example:"7"`
	State        string  `json:"state" enum:"unknown,requested,open,closed,failed" doc:"As its tracker told last: unknown where no connection reaches it, requested until it is made, failed where it could not be." example:"open"`
	URL          string  `json:"url" doc:"Its address; empty until it is made." example:"https://tracker.example.com/browse/SEC-123"`
	ExternalSlug string  `json:"external_slug" doc:"What its tracker calls it; empty until it is made." example:"SEC-123"`
	IssueIDs     []int64 `json:"issue_ids" doc:"Findings that it is about and the token may see, ascending." example:"[1234]"`
	Problem      string  `json:"problem" doc:"Why it could not be made, or its state not be read; empty: nothing is wrong."`
	CreatedAt    Time    `json:"created_at" doc:"When it was linked or asked for."`
	CreatedBy    string  `json:"created_by" doc:"Who did that." example:"ada"`
	CheckedAt    *Time   `json:"checked_at" nullable:"true" doc:"When its tracker was asked last; null: never."`
}

// TicketSettings define where tickets are created.
type TicketSettings struct {
	ConnectionID int64    `json:"connection_id" minimum:"0" doc:"Connection that creates tickets; 0: that of each project's repository." example:"2"`
	Project      string   `json:"project" maxLength:"500" doc:"A repository's full name or a key of Jira; empty: the repository of each finding's project." example:"SEC"`
	IssueType    string   `json:"issue_type" maxLength:"100" doc:"Type of issues at Jira; empty: Task." example:"Bug"`
	Labels       []string `json:"labels" maxItems:"20" doc:"Labels of tickets." example:"[\"security\"]"`
	Public       bool     `json:"public" doc:"Whether tickets are also created in repositories that everybody can read."`
}

// SetTicketSettingsRequest replaces the ticket settings. Absent members are set to their default.
type SetTicketSettingsRequest struct {
	_            struct{} `additionalProperties:"false"`
	ConnectionID int64    `json:"connection_id,omitempty" minimum:"0" doc:"Connection that creates tickets; 0: that of each project's repository." example:"2"`
	Project      string   `json:"project,omitempty" maxLength:"500" doc:"A repository's full name or a key of Jira, which Jira needs; empty: the repository of each finding's project." example:"SEC"`
	IssueType    string   `json:"issue_type,omitempty" maxLength:"100" doc:"Type of issues at Jira; empty: Task." example:"Bug"`
	Labels       []string `json:"labels,omitempty" maxItems:"20" doc:"Labels of tickets, without spaces or commas." example:"[\"security\"]"`
	Public       bool     `json:"public,omitempty" doc:"Whether tickets are also created in repositories that everybody can read."`
}

// TicketSettingsResponse contains the ticket settings, with their connection.
type TicketSettingsResponse struct {
	Settings   TicketSettings `json:"settings" doc:"The settings as they are now."`
	Connection string         `json:"connection" doc:"Name of the connection; empty without one, and for one that was deleted." example:"jira"`
	Kind       string         `json:"kind" doc:"What the connection's host is; empty without one." example:"jira"`
}
