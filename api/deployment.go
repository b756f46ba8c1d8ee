package api

// ListDeploymentsResponse contains the one deployment that a token belongs to.
type ListDeploymentsResponse struct {
	Deployments []Deployment `json:"deployments" doc:"The token's deployment."`
}

// DeploymentResponse contains one deployment.
type DeploymentResponse struct {
	Deployment Deployment `json:"deployment" doc:"The deployment, as in the list."`
}

// Deployment is a tenant: the account of an organization.
type Deployment struct {
	ID       int64              `json:"id" doc:"Id of the deployment, for all paths." example:"1"`
	Name     string             `json:"name" doc:"Display name." example:"Acme"`
	Slug     string             `json:"slug" doc:"Short name of the deployment, for all paths, as an alternative to the id." example:"acme"`
	Findings DeploymentFindings `json:"findings" doc:"Link to its findings."`
}

// DeploymentFindings links to the findings of a deployment.
type DeploymentFindings struct {
	URL string `json:"url" doc:"URL of the list." example:"https://redoubt.example.com/api/v1/deployments/acme/findings"`
}

// PingResponse is empty.
type PingResponse struct{}

// MeResponse describes a token, its creator and its deployment.
type MeResponse struct {
	Token      TokenInfo  `json:"token" doc:"The token without its secret part."`
	User       *UserInfo  `json:"user,omitempty" doc:"Creator of the token; absent if the operator created it."`
	Deployment Deployment `json:"deployment" doc:"Deployment of the token."`
}

// TokenInfo describes a token.
type TokenInfo struct {
	ID        string   `json:"id" doc:"Public part of the token." example:"mfrggzdf"`
	Name      string   `json:"name" doc:"Name of the token." example:"ci"`
	Scopes    []string `json:"scopes" doc:"Scopes of the token." example:"[\"web_api\",\"read_only\"]"`
	Projects  []string `json:"projects" doc:"Globs of the projects to which the token is restricted; empty: all projects."`
	Dialect   string   `json:"dialect" enum:"contract,hosted" doc:"Response format for this token." example:"contract"`
	ExpiresAt *Time    `json:"expires_at" nullable:"true" doc:"Expiry time; null: never." example:"2027-05-28T06:38:54.962941Z"`
}

// UserInfo is a user with the role in the deployment.
type UserInfo struct {
	ID   int64  `json:"id" doc:"Id of the user." example:"3"`
	Name string `json:"name" doc:"User name." example:"ada"`
	Role string `json:"role" enum:"viewer,triager,admin" doc:"Role of the user in the deployment." example:"triager"`
}

// HealthResponse reports that the process is responding.
type HealthResponse struct {
	Status  string `json:"status" doc:"Always ok." example:"ok"`
	Healthy bool   `json:"healthy" doc:"Always true."`
}
