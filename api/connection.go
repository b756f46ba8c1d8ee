package api

// Connection is an account on a code host. Its credential is never returned.
type Connection struct {
	ID                int64        `json:"id" doc:"Id of the connection." example:"3"`
	Kind              string       `json:"kind" enum:"gitea,github,gitlab,git,jira" doc:"What the host is; gitea is Forgejo too, git any remote that has no API, and jira keeps tickets alone."`
	Name              string       `json:"name" doc:"What people call it." example:"ours"`
	BaseURL           string       `json:"base_url" doc:"Address of the host; of git, of the repository." example:"https://git.example.com"`
	Account           string       `json:"account" doc:"Who the connection is there; empty where nobody is asked." example:"redoubt-bot"`
	Follow            []string     `json:"follow" doc:"Globs of names: repositories that one fits become projects by themselves, but for those that one with ! in front fits." example:"[\"acme/*\",\"!acme/old\"]"`
	Replies           string       `json:"replies" enum:"linked,collaborators,off" doc:"Whose replies to comments at change requests decide about findings, of those who may write to the repository: people linked to a user who may triage, all others too, or nobody's."`
	People            []HostPerson `json:"people" doc:"Users by their names at the host."`
	HearsBy           string       `json:"hears_by" enum:"webhook,polling" doc:"How it hears of pushes and change requests: by webhook where one told of some and is not silent."`
	SilentWebhooks    int64        `json:"silent_webhooks" doc:"Repositories that are projects and whose webhook did not tell of a push or a change request that polling found, tells only a part or another address than it was made for, or is switched off or gone at the host. They are polled every five minutes meanwhile." example:"0"`
	WebhookProblem    string       `json:"webhook_problem" doc:"What the first of these did not tell, or what is wrong with it at the host; empty: nothing." example:""`
	WebhooksElsewhere string       `json:"webhooks_elsewhere" doc:"An address that webhooks of the connection tell and that is not this server's. They stay as they are until somebody has webhooks made. Empty: they all tell this server, or it was not told its own address." example:""`
	Problem           string       `json:"problem" doc:"What went wrong when the host was asked last; empty: it works." example:""`
	Repositories      int64        `json:"repositories" doc:"Repositories that it sees." example:"12"`
	Followed          int64        `json:"followed" doc:"Those of them that are projects." example:"4"`
	CreatedAt         Time         `json:"created_at" doc:"When it was made."`
	CheckedAt         *Time        `json:"checked_at" nullable:"true" doc:"When the host was asked last; null is never."`
	HeardAt           *Time        `json:"heard_at" nullable:"true" doc:"When the host told something last by a webhook; null is never."`
}

// HostPerson maps a login at a code host to a user.
type HostPerson struct {
	_     struct{} `additionalProperties:"false"`
	Login string   `json:"login" minLength:"1" maxLength:"255" doc:"Their name at the host, which is asked who that is when they are linked: later renames there change nothing." example:"octocat"`
	User  string   `json:"user" minLength:"1" maxLength:"100" doc:"Name of the user here, who has a role in the deployment." example:"ada"`
}

// ListConnectionsResponse contains all connections.
type ListConnectionsResponse struct {
	Connections []Connection `json:"connections" doc:"Connections, by id."`
}

// ConnectionResponse contains one connection.
type ConnectionResponse struct {
	Connection Connection `json:"connection" doc:"The connection as it is now, or was."`
}

// ConnectionCredential is the credential for a code host. It is write-only.
type ConnectionCredential struct {
	_              struct{} `additionalProperties:"false"`
	Kind           string   `json:"kind" enum:"token,password,ssh_key,app" doc:"A token of the host's API; a password or a private key of a remote of git, or the address and the token of Jira Cloud as username and password; the private key of a GitHub App."`
	Secret         string   `json:"secret" minLength:"1" maxLength:"16384" doc:"The token, password or private key."`
	Username       string   `json:"username,omitempty" maxLength:"256" doc:"Whose password it is."`
	KnownHosts     string   `json:"known_hosts,omitempty" maxLength:"16384" doc:"The host's keys, as ssh-keyscan prints them; with a private key."`
	AppID          int64    `json:"app_id,omitempty" minimum:"0" doc:"Id of the GitHub App."`
	InstallationID int64    `json:"installation_id,omitempty" minimum:"0" doc:"Id of its installation."`
}

// CreateConnectionRequest creates a connection. The credential is verified at the host before the
// connection is stored.
type CreateConnectionRequest struct {
	_          struct{}              `additionalProperties:"false"`
	Kind       string                `json:"kind" enum:"gitea,github,gitlab,git,jira" doc:"What the host is; gitea is Forgejo too, jira keeps tickets alone."`
	Name       string                `json:"name" minLength:"1" maxLength:"100" doc:"What people are to call it." example:"ours"`
	BaseURL    string                `json:"base_url" minLength:"1" maxLength:"1000" doc:"Address of the host; of git, of the repository." example:"https://git.example.com"`
	Credential *ConnectionCredential `json:"credential,omitempty" doc:"What is shown to the host. Only a public remote of git needs none."`
	Follow     []string              `json:"follow,omitempty" maxItems:"100" doc:"Globs of names: repositories that one fits become projects, now and when they are new, but for those that one with ! in front fits."`
	Replies    string                `json:"replies,omitempty" enum:"linked,collaborators,off" doc:"Whose replies decide about findings; linked when absent."`
	People     []HostPerson          `json:"people,omitempty" maxItems:"1000" doc:"Users by their names at the host."`
}

// UpdateConnectionRequest changes a connection. Absent members are left unchanged. Kind and address
// cannot be changed: the credential would be sent to another host.
type UpdateConnectionRequest struct {
	_          struct{}              `additionalProperties:"false"`
	Name       *string               `json:"name,omitempty" minLength:"1" maxLength:"100" doc:"What people are to call it." example:"ours"`
	Credential *ConnectionCredential `json:"credential,omitempty" doc:"Takes the place of the one before, once the host has taken it."`
	Follow     *[]string             `json:"follow,omitempty" maxItems:"100" doc:"Globs in the place of those before."`
	Replies    *string               `json:"replies,omitempty" enum:"linked,collaborators,off" doc:"Whose replies decide about findings."`
	People     *[]HostPerson         `json:"people,omitempty" maxItems:"1000" doc:"Users by their names at the host, in the place of those before."`
}

// MakeWebhooksResponse counts the repositories that have a webhook.
type MakeWebhooksResponse struct {
	Repositories int64  `json:"repositories" doc:"Repositories that are projects and have a webhook by now." example:"12"`
	Problem      string `json:"problem" doc:"What the host refused, of the others; empty: nothing." example:""`
}

// HostRepository is a repository at a code host.
type HostRepository struct {
	Name           string  `json:"name" doc:"Full name at the host." example:"acme/payments"`
	HostID         string  `json:"host_id" doc:"Id at the host, which stays when it is renamed." example:"42"`
	DefaultBranch  string  `json:"default_branch" doc:"Name of the default branch; empty: the host did not say." example:"main"`
	State          string  `json:"state" enum:"present,archived,gone" doc:"How it is at the host; what is gone stays listed as long as it is a project."`
	Private        bool    `json:"private" doc:"Whether not everybody may read it."`
	URL            string  `json:"url" doc:"Its page at the host; empty: none." example:"https://git.example.com/acme/payments"`
	Webhook        bool    `json:"webhook" doc:"Whether the host tells of its pushes and change requests by a webhook that was made from here."`
	HeardAt        *Time   `json:"heard_at" nullable:"true" doc:"When a webhook told of a push or a change request last; null is never."`
	WebhookAddress string  `json:"webhook_address" doc:"What its webhook was made to tell; empty: it has none, or nobody has looked yet at one from before this was kept." example:"https://redoubt.example.com/api/webhooks/1/3"`
	WebhookProblem string  `json:"webhook_problem" doc:"The push that polling found and its webhook did not tell of in five minutes, or what is wrong with the webhook at the host; empty: nothing." example:""`
	Project        *string `json:"project" nullable:"true" doc:"Name of the project that it is; null: none." example:"acme/payments"`
}

// RepositoriesQuery contains the parameters for listing a connection's repositories.
type RepositoriesQuery struct {
	Followed string `query:"followed" enum:"true,false" doc:"Only those that are projects, or only those that are none."`
	Cursor   string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit    int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Repositories in one answer; 0 takes the default."`
}

// ListRepositoriesResponse is one page of repositories.
type ListRepositoriesResponse struct {
	Repositories []HostRepository `json:"repositories" doc:"Repositories, by name."`
	Cursor       string           `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// ChooseRepositoriesRequest names repositories of a connection.
type ChooseRepositoriesRequest struct {
	_     struct{} `additionalProperties:"false"`
	Names []string `json:"names" minItems:"1" maxItems:"100" doc:"Full names, or globs: * for anything but /, ** for anything." example:"[\"acme/payments\",\"tools/**\"]"`
}

// FollowRepositoriesResponse lists the new projects.
type FollowRepositoriesResponse struct {
	Projects []string `json:"projects" doc:"Names of the projects that repositories became just now; what was one, is archived or gone is not among them." example:"[\"acme/payments\"]"`
}

// UnfollowRepositoriesResponse lists the repositories that were detached from their projects.
type UnfollowRepositoriesResponse struct {
	Repositories []string `json:"repositories" doc:"Names of the repositories that were parted from their projects just now. The projects stay." example:"[\"acme/payments\"]"`
}

// Delivery is a received webhook.
type Delivery struct {
	ID         int64  `json:"id" doc:"Id of the delivery." example:"9"`
	Event      string `json:"event" doc:"What the host calls it." example:"push"`
	HostID     string `json:"host_id" doc:"The host's id of the repository that it is about; empty: none." example:"42"`
	Outcome    string `json:"outcome" doc:"What came of it, for people; empty until it was worked off." example:"a push to main"`
	ReceivedAt Time   `json:"received_at" doc:"When it came."`
}

// DeliveriesQuery contains the parameters for listing webhook deliveries.
type DeliveriesQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Deliveries in one answer; 0 takes the default."`
}

// ListDeliveriesResponse is one page of deliveries.
type ListDeliveriesResponse struct {
	Deliveries []Delivery `json:"deliveries" doc:"Deliveries, the newest first; the last thousand are kept."`
	Cursor     string     `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}
