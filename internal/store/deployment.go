package store

import (
	"context"
	"time"

	"github.com/redoubt/redoubt"
)

// tenant is a deployment with what only the store knows of it.
type tenant struct {
	redoubt.Deployment
	committedAt time.Time // the clock of its newest commit
}

const deploymentColumns = `id, slug, name, created_at, version, committed_at`

func scanTenant(r row) (t tenant, err error) {
	return t, r.Scan(&t.ID, &t.Slug, &t.Name, instant(&t.CreatedAt), &t.Version, instant(&t.committedAt))
}

// tenant reads a deployment's row, and locks it with the engine's words for it.
func (q *session) tenant(ctx context.Context, id int64, lock string) (tenant, error) {
	return one(ctx, q, scanTenant, `SELECT `+deploymentColumns+` FROM deployment WHERE id = $1`+lock, id)
}
