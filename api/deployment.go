package api

// ListDeploymentsResponse holds the one deployment that a token belongs to.
type ListDeploymentsResponse struct {
	Deployments []Deployment `json:"deployments" doc:"The token's deployment, and only that."`
}

// Deployment is the tenant: an organisation's account.
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

// PingResponse is empty: that it came is the answer.
type PingResponse struct{}
