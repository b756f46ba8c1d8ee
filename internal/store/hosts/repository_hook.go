package hosts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// SetRepositoryHook stores the host's id and the target address of a repository's webhook. An empty
// id means that it has none.
func (tx *Tx) SetRepositoryHook(ctx context.Context, repositoryID int64, hook, address string) error {
	return tx.Write(ctx, `UPDATE repository SET hook_id = $3, hook_address = $5, hooked_at = $4, heard_at = NULL, `+
		`missed_at = NULL, missed = '', hook_lacks = '' WHERE deployment_id = $1 AND id = $2`,
		repositoryID, hook, tx.Now(), address)
}

// HooksDueForCheck returns at most limit scannable repositories with a project and a webhook, least
// recently checked first.
func (tx *Tx) HooksDueForCheck(ctx context.Context, connectionID int64, limit int) ([]model.Repository, error) {
	return sqldb.Many(ctx, tx, scanRepository, `SELECT `+repositoryColumns+` FROM repository
		WHERE deployment_id = $1 AND connection_id = $2 AND hook_id <> '' AND project_id <> 0 AND archived = 0
		AND gone_at IS NULL AND clone_url <> ''
		ORDER BY COALESCE(hook_looked_at, 0), id LIMIT $3`, connectionID, limit)
}

// RecordHookCheck stores the problem found with a repository's webhook; empty for none. It has no
// effect if the repository has another webhook now.
func (tx *Tx) RecordHookCheck(ctx context.Context, repositoryID int64, hook, lacks string) error {
	return tx.Write(ctx, `UPDATE repository SET hook_looked_at = $5, hook_lacks = $4 WHERE deployment_id = $1 AND id = `+
		`$2 AND hook_id = $3`, repositoryID, hook, lacks, tx.Now())
}

// recordWebhookEvent stores that a webhook reported a push or change request of a repository, by the host's
// id. It is no longer considered silent.
func (tx *Tx) recordWebhookEvent(ctx context.Context, connectionID int64, hostID string) error {
	return tx.Write(ctx, `UPDATE repository SET heard_at = $4, missed_at = NULL, missed = '' WHERE deployment_id = $1 `+
		`AND connection_id = $2 AND host_id = $3`, connectionID, hostID, tx.Now())
}

// NoteMissed stores that polling found a commit which the webhook of a repository did not report.
// It has no effect if the webhook reported the commit or anything else within model.HookPatience.
// It also has none if the webhook was created after the previous poll, because it could not report
// the commit.
func (tx *Tx) NoteMissed(ctx context.Context, r model.Repository, commit, what string) error {
	if r.PolledAt.IsZero() {
		return nil
	}
	return tx.Write(ctx,
		`UPDATE repository SET missed_at = COALESCE(missed_at, $3), missed = $4 WHERE deployment_id = $1 AND id = $2
		AND hook_id <> '' AND COALESCE(hooked_at, 0) <= $5 AND COALESCE(heard_at, 0) <= $6
		AND NOT EXISTS (SELECT 1 FROM webhook_delivery w WHERE w.deployment_id = $1
		AND w.connection_id = repository.connection_id AND w.repository = repository.host_id AND w.head_commit = $7)`,
		r.ID, tx.Now(), what, r.PolledAt, tx.Now().Add(-model.HookPatience), commit)
}

// RepositoryCount contains counts of a connection's repositories.
type RepositoryCount struct {
	Seen, Followed int
	WithEvents     int      // projects with a working webhook that has reported something
	Silent         int      // projects whose webhook missed a push that polling found, or that lacks events
	HookProblem    string   // of the first silent one, for display
	HookAddresses  []string // target addresses of projects' webhooks, sorted
}

// Elsewhere returns the first webhook address that does not belong to the server with the given
// public address. It is empty if there is none, or if own is empty.
func (n RepositoryCount) Elsewhere(own string) string {
	i := slices.IndexFunc(n.HookAddresses, func(address string) bool {
		return !strings.HasPrefix(address, strings.TrimSuffix(own, "/")+"/")
	})
	if own == "" || i < 0 {
		return ""
	}
	return n.HookAddresses[i]
}

// EventSource returns how a connection learns of pushes and change requests: "webhook" or "polling".
func (n RepositoryCount) EventSource() string {
	if n.WithEvents > 0 {
		return "webhook"
	}
	return "polling"
}

// CountRepositories returns the counts of each connection, by id.
func (tx *Tx) CountRepositories(ctx context.Context) (map[int64]RepositoryCount, error) {
	counts := map[int64]RepositoryCount{}
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var n RepositoryCount
		err := r.Scan(&id, &n.Seen, &n.Followed, &n.WithEvents)
		counts[id] = n
		return err
	}, `SELECT connection_id, COUNT(*), SUM(CASE WHEN project_id <> 0 THEN 1 ELSE 0 END),
		SUM(CASE WHEN project_id <> 0 AND heard_at IS NOT NULL AND hook_lacks = '' AND (missed_at IS NULL
		OR missed_at > $2) THEN 1 ELSE 0 END) FROM repository WHERE deployment_id = $1 GROUP BY connection_id`,
		tx.Now().Add(-model.HookPatience))
	if err != nil {
		return nil, err
	}
	silent, err := sqldb.Many(ctx, tx, scanRepository, `SELECT `+repositoryColumns+
		` FROM repository WHERE deployment_id = $1 AND (missed_at <= $2 OR hook_lacks <> '') AND project_id <> 0
			AND hook_id <> '' AND archived = 0 AND gone_at IS NULL
		ORDER BY full_name`+tx.ByBytes()+`, id`, tx.Now().Add(-model.HookPatience))
	for _, r := range silent {
		n := counts[r.ConnectionID]
		if n.Silent++; n.HookProblem == "" {
			n.HookProblem = r.FullName + ": " + r.HookProblem(tx.Now())
		}
		counts[r.ConnectionID] = n
	}
	return counts, errors.Join(err, tx.readHookAddresses(ctx, counts))
}

func (tx *Tx) readHookAddresses(ctx context.Context, counts map[int64]RepositoryCount) error {
	return sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var address string
		err := r.Scan(&id, &address)
		n := counts[id]
		n.HookAddresses = append(n.HookAddresses, address)
		counts[id] = n
		return err
	},
		`SELECT DISTINCT connection_id, hook_address FROM repository WHERE deployment_id = $1 AND hook_id <> ''
			AND hook_address <> '' AND project_id <> 0
		ORDER BY connection_id, hook_address`)
}
