package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// tenant is a deployment with what only the store knows of it.
type tenant struct {
	model.Deployment
	committedAt time.Time // the clock of its newest commit
	notified    model.NotificationEvents
}

const deploymentColumns = `id, slug, name, created_at, open_rules, keeps_code, second_factor, version, committed_at, notified, open_requests`

func scanTenant(r row) (t tenant, err error) {
	return t, r.Scan(&t.ID, &t.Slug, &t.Name, instant(&t.CreatedAt), &t.OpenRules, &t.KeepsCode, &t.SecondFactor, &t.Version, instant(&t.committedAt), &t.notified, &t.OpenRequests)
}

func scanDeployment(r row) (model.Deployment, error) {
	t, err := scanTenant(r)
	return t.Deployment, err
}

// readTenant reads a deployment's row, and locks it with the engine's words for it.
func readTenant(ctx context.Context, q *session, id int64, lock string) (tenant, error) {
	t, err := one(ctx, q, scanTenant, `SELECT `+deploymentColumns+` FROM deployment WHERE id = $1`+lock, id)
	if err != nil {
		return tenant{}, fmt.Errorf("deployment %d: %w", id, err)
	}
	return t, nil
}

// listedColumns are what the list of tenants tells of one, under the name d.
const listedColumns = `d.deployment_id, d.slug, d.name, d.created_at, d.second_factor`

func listedFields(d *model.Deployment) []any {
	return []any{&d.ID, &d.Slug, &d.Name, instant(&d.CreatedAt), &d.SecondFactor}
}

// tenantTables hold a tenant's rows, those that point at others first. The
// audit trail is not among them: it outlives what it tells of.
var tenantTables = []string{
	"finding_comment_mention", "finding_comment", "exception_finding", "notification", "notification_rule", "saved_view_default", "saved_view",
	"index_checkpoint", "user_role", "user_invitation", "managed_run_log", "managed_run", "managed_plan", "runner",
	"failed_attempt", "login_request", "oauth_grant", "job_due", "job", "kept_answer", "agent_scan", "scan_account", "rule_version", "dependency", "package_version", "package", "inventory_graph", "inventory_content", "inventory",
	"advisory_match", "exception_mark", "triage_event", "change", "finding_event", "finding_subject", "finding_snippet", "finding_body", "finding",
	"lineage_identity", "lineage", "exception_refusal", "exception_name", "exception_statement", "exception", "policy_rule", "policy", "secret_rule", "rule", "scan", "project_tag", "project_alias", "ticket_finding", "ticket", "ticket_setting", "webhook_delivery", "change_reply", "change_comment", "change_request", "repository", "connection", "project", "token",
}
