package agent

import (
	"fmt"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
)

// deploymentInfo is a deployment as `semgrep login` wants it.
type deploymentInfo struct {
	ID             int64  `json:"id"`
	Name           string `json:"name"`
	Slug           string `json:"slug"`
	DisplayName    string `json:"display_name"`
	OrganizationID int64  `json:"organization_id"`
}

// deployment answers which deployment the token is of.
func (a *Agent) deployment(w http.ResponseWriter, _ *http.Request, caller auth.Caller) error {
	d := caller.Deployment
	return answer(w, struct {
		Deployment deploymentInfo `json:"deployment"`
	}{deploymentInfo{ID: d.ID, Name: d.Slug, Slug: d.Slug, DisplayName: d.Name, OrganizationID: d.ID}})
}

// identity answers who the token is, for people: the scanner prints it.
func (a *Agent) identity(w http.ResponseWriter, _ *http.Request, caller auth.Caller) error {
	t := caller.Token
	return write(w, "text/plain; charset=utf-8", fmt.Appendf(nil, "token %s (%s) of deployment %s\n", t.Name, t.PublicID, caller.Deployment.Slug))
}
