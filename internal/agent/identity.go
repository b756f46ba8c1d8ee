package agent

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// deploymentInfo is a deployment in the format of `semgrep login`.
type deploymentInfo struct {
	ID             int64  `json:"id"`
	Name           string `json:"name"`
	Slug           string `json:"slug"`
	DisplayName    string `json:"display_name"`
	OrganizationID int64  `json:"organization_id"`
}

// deployment returns the deployment of the token.
func (a *Agent) deployment(w http.ResponseWriter, _ *http.Request, caller auth.Caller) error {
	d := caller.Deployment
	return answer(w, struct {
		Deployment deploymentInfo `json:"deployment"`
	}{deploymentInfo{ID: d.ID, Name: d.Slug, Slug: d.Slug, DisplayName: d.Name, OrganizationID: d.ID}})
}

// identity returns the identity of the token, as JSON if requested and otherwise as text that the
// scanner prints. The scanner's assistant searches the roles of the text for "webapi".
func (a *Agent) identity(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	t := caller.Token
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		return answer(w, api.Identity{DeploymentID: caller.Deployment.ID, UserID: t.UserID, Identity: fmt.Sprintf(
			"id=%s deployment_id=%d user_id=%d created_at=%s roles=(%s)",
			t.PublicID, caller.Deployment.ID, t.UserID, t.CreatedAt.UTC().Format(time.RFC3339), strings.Join(rolesOf(t), ", "),
		)})
	}
	return write(w, "text/plain; charset=utf-8", fmt.Appendf(nil, "token %s (%s) of deployment %s\n",
		t.Name, t.PublicID, caller.Deployment.Slug))
}

// userInfo is a user in the format of the scanner's assistant, which requires all fields. No email
// addresses are known here.
type userInfo struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
	Login string `json:"login"`
}

// currentUser returns the user of the token, or model.ErrNotFound for a token without a user.
func (a *Agent) currentUser(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	var me model.Member
	err := a.Store.View(r.Context(), caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		me, err = tx.MemberByID(ctx, caller.Token.UserID)
		return err
	})
	if err != nil {
		return err
	}
	return answer(w, struct {
		User userInfo `json:"user"`
	}{userInfo{ID: me.ID, Name: me.Title(), Login: me.Name}})
}

// rolesOf returns the scopes of a token as role names of the hosted service.
func rolesOf(t model.Token) (roles []string) {
	names := map[model.Scope]string{model.ScopeWebAPI: "webapi", model.ScopeCI: "ci", model.ScopeReadOnly: "read_only"}
	for _, s := range t.Scopes {
		roles = append(roles, names[s])
	}
	return roles
}
