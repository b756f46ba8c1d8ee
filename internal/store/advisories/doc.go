// Package advisories stores advisories, EPSS scores and known exploited vulnerabilities, which all
// deployments share. It also finds the dependencies that an advisory affects.
package advisories

import (
	"context"

	"github.com/redoubt/redoubt/internal/store/inventory"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	inventoryTx
}

type (
	inventoryTx = inventory.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:          tx,
		inventoryTx: inventory.From(tx),
	}
}

// DB is the database with the methods of this package that open their own transaction.
type DB struct {
	*sqldb.DB
	projectsDB
}

type projectsDB = projects.DB

// On returns the DB of this package for a database.
func On(db *sqldb.DB) DB {
	return DB{DB: db, projectsDB: projects.On(db)}
}

func (s *DB) view(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.View(ctx, deploymentID, func(ctx context.Context, base *sqldb.Tx) error {
		tx := From(base)
		return fn(ctx, &tx)
	})
}
