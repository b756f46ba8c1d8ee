package api

// Connection is an account on a code host. Its credential is never returned.
type Connection struct {
	ID                int64        `json:"id" doc:"Id of the connection." example:"3"`
	Kind              string       `json:"kind" enum:"gitea,github,gitlab,git,jira" doc:"Kind of the host. gitea includes Forgejo, git is any remote without an API, and jira only stores tickets."`
	Name              string       `json:"name" doc:"Display name." example:"ours"`
	BaseURL           string       `json:"base_url" doc:"Base URL of the host; for git, URL of the repository." example:"https://git.example.com"`
	Account           string       `json:"account" doc:"Account of the connection at the host; empty if there is none." example:"redoubt-bot"`
	Follow            []string     `json:"follow" doc:"Globs of repository names that become projects automatically. A leading ! excludes." example:"[\"acme/*\",\"!acme/old\"]"`
	Replies           string       `json:"replies" enum:"linked,collaborators,off" doc:"Users with write access to the repository whose replies to comments on change requests decide about findings. linked: those linked to a user who can triage. collaborators: all. off: none."`
	People            []HostPerson `json:"people" doc:"Users by their names at the host."`
	EventSource       string       `json:"hears_by" enum:"webhook,polling" doc:"Source of pushes and change requests: webhook if one has delivered some and none is silent, else polling."`
	SilentWebhooks    int64        `json:"silent_webhooks" doc:"Followed repositories with a webhook problem. They are polled every five minutes. The webhook missed a push or change request, is incomplete, points to another URL, or was disabled or deleted at the host." example:"0"`
	WebhookProblem    string       `json:"webhook_problem" doc:"Event that the first of these webhooks missed, or its error at the host; empty: no problem." example:""`
	WebhooksElsewhere string       `json:"webhooks_elsewhere" doc:"URL of another server to which webhooks of the connection point. They are unchanged until a user requests webhooks. Empty: all point to this server, or its public URL is unset." example:""`
	Problem           string       `json:"problem" doc:"Error of the last request to the host; empty: no error." example:""`
	Repositories      int64        `json:"repositories" doc:"Number of visible repositories." example:"12"`
	Followed          int64        `json:"followed" doc:"Number of visible repositories that are projects." example:"4"`
	CreatedAt         Time         `json:"created_at" doc:"Creation time."`
	CheckedAt         *Time        `json:"checked_at" nullable:"true" doc:"Time of the last request to the host; null: never."`
	HeardAt           *Time        `json:"heard_at" nullable:"true" doc:"Time of the last webhook delivery; null: never."`
}

// HostPerson maps a login at a code host to a user.
type HostPerson struct {
	_     struct{} `additionalProperties:"false"`
	Login string   `json:"login" minLength:"1" maxLength:"255" doc:"Name at the host. It is resolved when the user is linked: later renames at the host have no effect." example:"octocat"`
	User  string   `json:"user" minLength:"1" maxLength:"100" doc:"Name of a user with a role in the deployment." example:"ada"`
}

// ListConnectionsResponse contains all connections.
type ListConnectionsResponse struct {
	Connections []Connection `json:"connections" doc:"Connections, by id."`
}

// ConnectionResponse contains one connection.
type ConnectionResponse struct {
	Connection Connection `json:"connection" doc:"The connection, after a change or before its deletion."`
}

// ConnectionCredential is the credential for a code host. It is write-only.
type ConnectionCredential struct {
	_              struct{} `additionalProperties:"false"`
	Kind           string   `json:"kind" enum:"token,password,ssh_key,app" doc:"token: of the host's API. password: of a git remote, or for Jira Cloud the e-mail address as username with its token. ssh_key: private key for a git remote. app: private key of a GitHub App."`
	Secret         string   `json:"secret" minLength:"1" maxLength:"16384" doc:"Token, password or private key."`
	Username       string   `json:"username,omitempty" maxLength:"256" doc:"User name for the password."`
	KnownHosts     string   `json:"known_hosts,omitempty" maxLength:"16384" doc:"Host keys in the format of ssh-keyscan; with a private key."`
	AppID          int64    `json:"app_id,omitempty" minimum:"0" doc:"Id of the GitHub App."`
	InstallationID int64    `json:"installation_id,omitempty" minimum:"0" doc:"Id of the app's installation."`
}

// CreateConnectionRequest creates a connection. The credential is verified at the host before the
// connection is stored.
type CreateConnectionRequest struct {
	_          struct{}              `additionalProperties:"false"`
	Kind       string                `json:"kind" enum:"gitea,github,gitlab,git,jira" doc:"Kind of the host. gitea includes Forgejo, and jira only stores tickets."`
	Name       string                `json:"name" minLength:"1" maxLength:"100" doc:"Display name." example:"ours"`
	BaseURL    string                `json:"base_url" minLength:"1" maxLength:"1000" doc:"Base URL of the host; for git, URL of the repository." example:"https://git.example.com"`
	Credential *ConnectionCredential `json:"credential,omitempty" doc:"Credential for the host. Optional only for public git remotes."`
	Follow     []string              `json:"follow,omitempty" maxItems:"100" doc:"Globs of names: matching repositories become projects, now and when they are created. A leading ! excludes."`
	Replies    string                `json:"replies,omitempty" enum:"linked,collaborators,off" doc:"Users whose replies decide about findings; default: linked."`
	People     []HostPerson          `json:"people,omitempty" maxItems:"1000" doc:"Users by their names at the host."`
}

// UpdateConnectionRequest changes a connection. Absent members are left unchanged. Kind and address
// cannot be changed: the credential would be sent to another host.
type UpdateConnectionRequest struct {
	_          struct{}              `additionalProperties:"false"`
	Name       *string               `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"Display name." example:"ours"`
	Credential *ConnectionCredential `json:"credential,omitempty" doc:"Replaces the credential after the host accepts the new one."`
	Follow     *[]string             `json:"follow,omitempty" maxItems:"100" doc:"Replaces the globs."`
	Replies    *string               `json:"replies,omitempty" enum:"linked,collaborators,off" doc:"Users whose replies decide about findings."`
	People     *[]HostPerson         `json:"people,omitempty" maxItems:"1000" doc:"Replaces the users by their names at the host."`
}

// MakeWebhooksResponse counts the repositories that have a webhook.
type MakeWebhooksResponse struct {
	Repositories int64  `json:"repositories" doc:"Number of followed repositories with a webhook." example:"12"`
	Problem      string `json:"problem" doc:"Error of the host for the other repositories; empty: no error." example:""`
}

// HostRepository is a repository at a code host.
type HostRepository struct {
	Name           string  `json:"name" doc:"Full name at the host." example:"acme/payments"`
	HostID         string  `json:"host_id" doc:"Id at the host, which is unchanged by renames." example:"42"`
	DefaultBranch  string  `json:"default_branch" doc:"Name of the default branch; empty: unknown." example:"main"`
	State          string  `json:"state" enum:"present,archived,gone" doc:"State at the host. Deleted repositories are listed while they are projects."`
	Private        bool    `json:"private" doc:"Whether read access is restricted."`
	URL            string  `json:"url" doc:"URL of its page at the host; empty: none." example:"https://git.example.com/acme/payments"`
	Webhook        bool    `json:"webhook" doc:"Whether a webhook created by Redoubt reports its pushes and change requests."`
	HeardAt        *Time   `json:"heard_at" nullable:"true" doc:"Time of the last push or change request received by webhook; null: never."`
	WebhookAddress string  `json:"webhook_address" doc:"Target URL of its webhook; empty: no webhook, or not checked yet." example:"https://redoubt.example.com/api/webhooks/1/3"`
	WebhookProblem string  `json:"webhook_problem" doc:"Push that polling found and the webhook did not report within five minutes, or the webhook's error at the host; empty: no problem." example:""`
	Project        *string `json:"project" nullable:"true" doc:"Name of its project; null: none." example:"acme/payments"`
}

// RepositoriesQuery contains the parameters for listing a connection's repositories.
type RepositoriesQuery struct {
	Followed string `query:"followed" enum:"true,false" doc:"true: only followed repositories; false: only others."`
	Cursor   string `query:"cursor" doc:"Cursor of the previous response."`
	Limit    int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Repositories per page; 0 means the default."`
}

// ListRepositoriesResponse is one page of repositories.
type ListRepositoriesResponse struct {
	Repositories []HostRepository `json:"repositories" doc:"Repositories, by name."`
	Cursor       string           `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// ChooseRepositoriesRequest names repositories of a connection.
type ChooseRepositoriesRequest struct {
	_     struct{} `additionalProperties:"false"`
	Names []string `json:"names" minItems:"1" maxItems:"100" doc:"Full names, or globs: * matches anything but /, ** anything." example:"[\"acme/payments\",\"tools/**\"]"`
}

// FollowRepositoriesResponse lists the new projects.
type FollowRepositoriesResponse struct {
	Projects []string `json:"projects" doc:"Names of the created projects. Existing projects and archived or deleted repositories are excluded." example:"[\"acme/payments\"]"`
}

// UnfollowRepositoriesResponse lists the repositories that were detached from their projects.
type UnfollowRepositoriesResponse struct {
	Repositories []string `json:"repositories" doc:"Names of the unfollowed repositories. Their projects remain." example:"[\"acme/payments\"]"`
}

// Delivery is a received webhook.
type Delivery struct {
	ID         int64  `json:"id" doc:"Id of the delivery." example:"9"`
	Event      string `json:"event" doc:"Name of the event at the host." example:"push"`
	HostID     string `json:"host_id" doc:"Id of the repository at the host; empty: none." example:"42"`
	Outcome    string `json:"outcome" doc:"Result, as text; empty until the delivery is processed." example:"a push to main"`
	ReceivedAt Time   `json:"received_at" doc:"Time of receipt."`
}

// DeliveriesQuery contains the parameters for listing webhook deliveries.
type DeliveriesQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Deliveries per page; 0 means the default."`
}

// ListDeliveriesResponse is one page of deliveries.
type ListDeliveriesResponse struct {
	Deliveries []Delivery `json:"deliveries" doc:"Deliveries, newest first; the last thousand are stored."`
	Cursor     string     `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}
