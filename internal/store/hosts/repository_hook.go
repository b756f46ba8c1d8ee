package hosts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// SetRepositoryHook keeps the host's id of the webhook of a repository, which tells an address of
// what happens from now on; an empty one, that it has none.
func (tx *Tx) SetRepositoryHook(ctx context.Context, repositoryID int64, hook, address string) error {
	return tx.Write(ctx, `UPDATE repository SET hook_id = $3, hook_address = $5, hooked_at = $4, heard_at = NULL, `+
		`missed_at = NULL, missed = '', hook_lacks = '' WHERE deployment_id = $1 AND id = $2`,
		repositoryID, hook, tx.Now(), address)
}

// HooksDueForCheck lists so many repositories of a connection that have a webhook, are
// projects and can be scanned, those first whose webhook nobody looked at the longest.
func (tx *Tx) HooksDueForCheck(ctx context.Context, connectionID int64, limit int) ([]model.Repository, error) {
	return sqldb.Many(ctx, tx, scanRepository, `SELECT `+repositoryColumns+` FROM repository
		WHERE deployment_id = $1 AND connection_id = $2 AND hook_id <> '' AND project_id <> 0 AND archived = 0
		AND gone_at IS NULL AND clone_url <> ''
		ORDER BY COALESCE(hook_looked_at, 0), id LIMIT $3`, connectionID, limit)
}

// RecordHookCheck keeps what a look at the webhook of a repository found to be wrong with it; empty:
// nothing. Where the repository has another webhook by now, or none, it is nothing of that one's.
func (tx *Tx) RecordHookCheck(ctx context.Context, repositoryID int64, hook, lacks string) error {
	return tx.Write(ctx, `UPDATE repository SET hook_looked_at = $5, hook_lacks = $4 WHERE deployment_id = $1 AND id = `+
		`$2 AND hook_id = $3`, repositoryID, hook, lacks, tx.Now())
}

// noteHeard keeps that a webhook told of a push or a change request of a repository, by the
// host's id: it is silent no more.
func (tx *Tx) noteHeard(ctx context.Context, connectionID int64, hostID string) error {
	return tx.Write(ctx, `UPDATE repository SET heard_at = $4, missed_at = NULL, missed = '' WHERE deployment_id = $1 `+
		`AND connection_id = $2 AND host_id = $3`, connectionID, hostID, tx.Now())
}

// NoteMissed keeps that polling found a push to a repository, as it was read before: a commit,
// and what is said of it. Nothing is kept where a webhook told of that commit, or of anything a
// few minutes ago, and where the webhook was not there when the repository was polled the time
// before: what happened then is nothing that it could tell.
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

// RepositoryCount is how many repositories a connection sees, how many of them are
// projects, and of how many of these webhooks tell.
type RepositoryCount struct {
	Seen, Followed int
	Heard          int      // projects of whose pushes or change requests a webhook told, and that are not silent
	Silent         int      // projects whose webhook told nothing of a push that polling found, or cannot tell of all
	HookProblem    string   // of the first silent one, for people
	HookAddresses  []string // that webhooks of projects were made to tell, in their order
}

// Elsewhere is the first address that webhooks tell and that is not of the server whose public
// address is given; empty: there is none, or the server knows no address of its own.
func (n RepositoryCount) Elsewhere(own string) string {
	i := slices.IndexFunc(n.HookAddresses, func(address string) bool {
		return !strings.HasPrefix(address, strings.TrimSuffix(own, "/")+"/")
	})
	if own == "" || i < 0 {
		return ""
	}
	return n.HookAddresses[i]
}

// HearsBy says in a word how a connection hears of pushes and change requests.
func (n RepositoryCount) HearsBy() string {
	if n.Heard > 0 {
		return "webhook"
	}
	return "polling"
}

// CountRepositories counts the repositories of each connection, by its id.
func (tx *Tx) CountRepositories(ctx context.Context) (map[int64]RepositoryCount, error) {
	counts := map[int64]RepositoryCount{}
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var n RepositoryCount
		err := r.Scan(&id, &n.Seen, &n.Followed, &n.Heard)
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
