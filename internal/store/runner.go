package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
)

const runnerColumns = `id, token_id, name, labels_json, version, isolation, first_at, seen_at`

func scanRunner(r row) (u redoubt.Runner, err error) {
	return u, r.Scan(&u.ID, &u.TokenID, &u.Name, decoded(&u.Labels), &u.Version, &u.Isolation, instant(&u.FirstAt), instant(&u.SeenAt))
}

// SeeRunner notes that a runner asked for work, and returns it with its id. It is known by
// its token and name; the one that was silent longest makes room.
func (tx *Tx) SeeRunner(ctx context.Context, r redoubt.Runner) (redoubt.Runner, error) {
	r = r.Normal()
	known, err := many(ctx, tx, scanRunner, `SELECT `+runnerColumns+` FROM runner WHERE deployment_id = $1 AND token_id = $2 AND name = $3`, r.TokenID, r.Name)
	if err != nil {
		return r, err
	}
	r.SeenAt, r.FirstAt = tx.now, tx.now
	if len(known) > 0 {
		r.ID, r.FirstAt = known[0].ID, known[0].FirstAt
		return r, tx.write(ctx, `UPDATE runner SET labels_json = $3, version = $4, isolation = $5, seen_at = $6 WHERE deployment_id = $1 AND id = $2`,
			r.ID, encoded(r.Labels), r.Version, r.Isolation, r.SeenAt)
	}
	if r.ID, err = tx.newID(ctx, seqRunner); err != nil {
		return r, err
	}
	err = tx.insert(ctx, `runner (deployment_id, `+runnerColumns+`)`, [][]any{{r.ID, r.TokenID, r.Name, encoded(r.Labels), r.Version, r.Isolation, r.FirstAt, r.SeenAt}}, "")
	if err != nil {
		return r, err
	}
	return r, tx.write(ctx, fmt.Sprintf(`DELETE FROM runner WHERE deployment_id = $1 AND id IN
		(SELECT id FROM runner WHERE deployment_id = $1 ORDER BY seen_at DESC, id DESC LIMIT 1000 OFFSET %d)`, redoubt.MaxRunners))
}

// Runners lists the deployment's runners, the one heard of last first.
func (tx *Tx) Runners(ctx context.Context) ([]redoubt.Runner, error) {
	return many(ctx, tx, scanRunner, `SELECT `+runnerColumns+` FROM runner WHERE deployment_id = $1 ORDER BY seen_at DESC, id DESC`)
}

// runnersOf lists the runners that may take runs of a project: their token is in force and
// not bound to others.
func (tx *Tx) runnersOf(ctx context.Context, p redoubt.Project) ([]redoubt.Runner, error) {
	all, err := tx.Runners(ctx)
	if err != nil || len(all) == 0 {
		return all, err
	}
	ids := make([]int64, len(all))
	for i, r := range all {
		ids[i] = r.TokenID
	}
	in, list := tx.in("id", 2, ids)
	tokens, err := many(ctx, tx, scanToken, `SELECT `+tokenColumns+` FROM token WHERE deployment_id = $1 AND `+in, list)
	may := map[int64]bool{}
	for _, t := range tokens {
		may[t.ID] = t.Active(tx.now) && t.Has(redoubt.ScopeRunner) && redoubt.ProjectGlobs(t.ProjectGlobs).Allows(p.Name)
	}
	return slices.DeleteFunc(all, func(r redoubt.Runner) bool { return !may[r.TokenID] }), err
}
