package apihttp

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// member creates a user and a token of that user with every scope.
func (h *harness) member(name string, role model.Role) (u model.User, token string) {
	h.t.Helper()
	err := h.store.Update(h.t.Context(), h.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name}, role)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return u, h.newToken(model.Token{Name: name, UserID: u.ID, Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
}

// TestTokensInheritUserRole checks the table of operations for every role. A missing role
// is rejected before anything is read.
func TestTokensInheritUserRole(t *testing.T) {
	h := newHarness(t)
	managing := map[string]bool{
		"createProject": true, "renameProject": true, "mergeProject": true, "getTicketSettings": true, "setTicketSettings": true, "updateProject": true, "deleteProject": true, "toggleManagedScan": true, "deleteRef": true, "addProjectTags": true, "removeProjectTags": true, "updatePolicy": true,
		"createPolicy": true, "deletePolicy": true, "setPolicySettings": true, "previewPolicy": true, "addPolicyRules": true, "removePolicyRule": true,
		"setDueDays": true, "createPolicyCondition": true, "deletePolicyCondition": true,
		"listConnections": true, "createConnection": true, "getConnection": true, "updateConnection": true, "deleteConnection": true, "testConnection": true, "makeWebhooks": true,
		"listRepositories": true, "followRepositories": true, "unfollowRepositories": true, "listDeliveries": true, "listRunners": true, "revokeRunner": true,
		"listNotificationRules": true, "createNotificationRule": true, "getNotificationRule": true, "updateNotificationRule": true, "deleteNotificationRule": true,
		"testNotificationRule": true, "rotateNotificationSecret": true, "listNotifications": true, "resendNotification": true,
	}
	known := map[string]bool{}
	for _, role := range model.Roles() {
		_, token := h.member("a-"+role.String(), role)
		for _, r := range Routes() {
			known[r.ID] = true
			least := model.RoleViewer
			if r.Writes && !r.IsRequest {
				least = model.RoleTriager
			}
			if managing[r.ID] {
				least = model.RoleAdmin
			}
			path := pathPart.ReplaceAllStringFunc(r.Pattern, func(part string) string {
				switch {
				case strings.HasPrefix(part, "{deployment"):
					return "1"
				case part == "{projectName}":
					return "acme/404"
				}
				return "404"
			})
			path = strings.Replace(path, "/deployments/1/", "/deployments/acme/", 1)
			a := h.send(r.Method, path, "{}", "Authorization", "Bearer "+token, "Content-Type", "application/json")
			if refused := a.status == http.StatusForbidden; refused != (role < least) {
				t.Errorf("%s as %v: %d %s", r.ID, role, a.status, a.problem.Detail)
			}
			if a.status == http.StatusUnauthorized {
				t.Errorf("%s as %v: not known", r.ID, role)
			}
		}
	}
	for id := range managing {
		if !known[id] {
			t.Errorf("%s is managed but not an operation", id)
		}
	}
}

func TestTokenLosesPermissionsOfItsUser(t *testing.T) {
	h := newHarness(t)
	h.member("chief", model.RoleAdmin)
	u, token := h.member("ben", model.RoleAdmin)
	status := func(method, path, body string) int {
		return h.send(method, path, body, "Authorization", "Bearer "+token, "Content-Type", "application/json").status
	}
	create := func() int { return status(http.MethodPost, "/api/v1/deployments/acme/projects", `{"name":"acme/x"}`) }
	if got := create(); got != http.StatusOK {
		t.Fatalf("as admin: %d", got)
	}
	for _, c := range []struct {
		role           model.Role
		project, reads int
	}{{model.RoleTriager, http.StatusForbidden, http.StatusOK}, {model.RoleNone, http.StatusUnauthorized, http.StatusUnauthorized}} {
		err := h.store.Update(t.Context(), h.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.SetRole(ctx, u.ID, c.role)
		})
		if err != nil {
			t.Fatal(err)
		}
		h.clock.Advance(auth.CacheFor)
		if got := create(); got != c.project {
			t.Errorf("as %q: creating a project returns %d", c.role, got)
		}
		if got := status(http.MethodGet, "/api/v1/deployments/acme/projects", ""); got != c.reads {
			t.Errorf("as %q: the list returns %d", c.role, got)
		}
	}
}
