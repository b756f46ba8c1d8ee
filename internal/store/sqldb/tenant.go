package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Tenant is a deployment with its internal columns.
type Tenant struct {
	model.Deployment
	committedAt time.Time // time of the newest commit
	notified    model.NotificationEvents
}

// DeploymentColumns are the columns of table deployment that ScanDeployment reads.
const DeploymentColumns = `id, slug, name, created_at, open_rules, keeps_code, second_factor, version, committed_at, ` +
	`notified, open_requests`

func scanTenant(r Row) (t Tenant, err error) {
	return t, r.Scan(&t.ID, &t.Slug, &t.Name, Instant(&t.CreatedAt), &t.OpenRules, &t.StoresCode, &t.SecondFactor,
		&t.Version, Instant(&t.committedAt), &t.notified, &t.OpenRequests)
}

// ScanDeployment reads a deployment from a row of DeploymentColumns.
func ScanDeployment(r Row) (model.Deployment, error) {
	t, err := scanTenant(r)
	return t.Deployment, err
}

// ReadTenant reads a deployment's row. lock is the engine's clause for locking it, or empty.
func ReadTenant(ctx context.Context, q *Session, id int64, lock string) (Tenant, error) {
	t, err := One(ctx, q, scanTenant, `SELECT `+DeploymentColumns+` FROM deployment WHERE id = $1`+lock, id)
	if err != nil {
		return Tenant{}, fmt.Errorf("deployment %d: %w", id, err)
	}
	return t, nil
}

// ListedColumns are the columns of a list of tenants, whose table has the alias d.
const ListedColumns = `d.deployment_id, d.slug, d.name, d.created_at, d.second_factor`

// ListedFields returns the fields of a deployment that a row of ListedColumns fills.
func ListedFields(d *model.Deployment) []any {
	return []any{&d.ID, &d.Slug, &d.Name, Instant(&d.CreatedAt), &d.SecondFactor}
}

// TenantTables are the tables with tenants' rows, in an order in which they can be deleted despite
// foreign keys. The audit trail is not included, because it outlives its tenant.
var TenantTables = []string{
	"finding_comment_mention", "finding_comment", "exception_finding",
	"notification", "notification_rule", "saved_view_default", "saved_view",
	"index_checkpoint", "user_role", "user_invitation", "managed_run_log", "managed_run", "managed_plan", "runner",
	"failed_attempt", "login_request", "oauth_grant", "job_due", "job", "kept_answer", "agent_scan", "scan_account",
	"rule_version", "dependency", "package_version", "package", "inventory_graph", "inventory_content", "inventory",
	"advisory_match", "exception_mark", "triage_event", "change", "finding_event",
	"finding_subject", "finding_snippet", "finding_body", "finding",
	"lineage_identity", "lineage", "exception_refusal",
	"exception_name", "exception_statement", "exception", "policy_rule",
	"policy", "secret_rule", "rule", "scan", "project_tag", "project_alias", "ticket_finding", "ticket", "ticket_setting",
	"webhook_delivery", "change_reply", "change_comment", "change_request", "repository", "connection", "project", "token",
}
