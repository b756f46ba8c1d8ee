// Package lifecycle implements operations that span several subjects: creating and deleting
// deployments, projects and refs, and merging projects.
package lifecycle

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/exceptions"
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/hosts"
	"github.com/redoubt/redoubt/internal/store/inventory"
	"github.com/redoubt/redoubt/internal/store/policies"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	exceptionsTx
	findingsTx
	hostsTx
	inventoryTx
	policiesTx
	projectsTx
	scansTx
}

type (
	exceptionsTx = exceptions.Tx
	findingsTx   = findings.Tx
	hostsTx      = hosts.Tx
	inventoryTx  = inventory.Tx
	policiesTx   = policies.Tx
	projectsTx   = projects.Tx
	scansTx      = scans.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:           tx,
		exceptionsTx: exceptions.From(tx),
		findingsTx:   findings.From(tx),
		hostsTx:      hosts.From(tx),
		inventoryTx:  inventory.From(tx),
		policiesTx:   policies.From(tx),
		projectsTx:   projects.From(tx),
		scansTx:      scans.From(tx),
	}
}

// DB is the database with the methods of this package that open their own transaction.
type DB struct {
	*sqldb.DB
}

// On returns the DB of this package for a database.
func On(db *sqldb.DB) DB {
	return DB{DB: db}
}

func (s *DB) update(ctx context.Context, id int64, by model.Actor, fn func(context.Context, *Tx) error) error {
	return s.Update(ctx, id, by, func(ctx context.Context, base *sqldb.Tx) error {
		tx := From(base)
		return fn(ctx, &tx)
	})
}
