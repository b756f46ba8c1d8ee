package api

// ListDeploymentsResponse contains the one deployment that a token belongs to.
type ListDeploymentsResponse struct {
	Deployments []Deployment `json:"deployments" doc:"The token's deployment, and only that."`
}

// DeploymentResponse contains one deployment.
type DeploymentResponse struct {
	Deployment Deployment `json:"deployment" doc:"The deployment, as the list has it."`
}

// Deployment is a tenant: the account of an organization.
type Deployment struct {
	ID       int64              `json:"id" doc:"Id of the deployment, which every path takes." example:"1"`
	Name     string             `json:"name" doc:"Name for people." example:"Acme"`
	Slug     string             `json:"slug" doc:"Short name, which every path takes in place of the id." example:"acme"`
	Findings DeploymentFindings `json:"findings" doc:"Where its findings are."`
}

// DeploymentFindings links to the findings of a deployment.
type DeploymentFindings struct {
	URL string `json:"url" doc:"Address of the listing." example:"https://redoubt.example.com/api/v1/deployments/acme/findings"`
}

// PingResponse is empty.
type PingResponse struct{}

// MeResponse describes a token, its creator and its deployment.
type MeResponse struct {
	Token      TokenInfo  `json:"token" doc:"The token itself, without what is secret of it."`
	User       *UserInfo  `json:"user,omitempty" doc:"Who made the token; absent of one that the operator made."`
	Deployment Deployment `json:"deployment" doc:"The deployment that it belongs to."`
}

// TokenInfo describes a token.
type TokenInfo struct {
	ID        string   `json:"id" doc:"The public part of the token." example:"mfrggzdf"`
	Name      string   `json:"name" doc:"Name of the token." example:"ci"`
	Scopes    []string `json:"scopes" doc:"What it may be used for." example:"[\"web_api\",\"read_only\"]"`
	Projects  []string `json:"projects" doc:"Globs of the projects that it is bound to; none is all projects."`
	Dialect   string   `json:"dialect" enum:"contract,hosted" doc:"How answers to it are written." example:"contract"`
	ExpiresAt *Time    `json:"expires_at" nullable:"true" doc:"When it ends; null for never." example:"2027-05-28T06:38:54.962941Z"`
}

// UserInfo is a user with the role in the deployment.
type UserInfo struct {
	ID   int64  `json:"id" doc:"Id of the user." example:"3"`
	Name string `json:"name" doc:"Name that the user signs in with." example:"ada"`
	Role string `json:"role" enum:"viewer,triager,admin" doc:"What the user may do in the deployment." example:"triager"`
}

// HealthResponse reports that the process is responding.
type HealthResponse struct {
	Status  string `json:"status" doc:"Always ok: that it came is the answer." example:"ok"`
	Healthy bool   `json:"healthy" doc:"Always true."`
}
