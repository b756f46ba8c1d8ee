// Package store stores the rows of all tenants in SQLite or PostgreSQL, by combining the packages
// below it on top of sqldb. All work on a deployment runs within View or Update, whose statements
// get the deployment's id as $1 and fail if they omit it. A row of another tenant is
// model.ErrNotFound (docs/reference/addressing.md).
package store

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/accounts"
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/check"
	"github.com/redoubt/redoubt/internal/store/exceptions"
	"github.com/redoubt/redoubt/internal/store/feed"
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/hosts"
	"github.com/redoubt/redoubt/internal/store/inventory"
	"github.com/redoubt/redoubt/internal/store/lifecycle"
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/policies"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Store is an open database with the methods of all subjects. It is safe for concurrent use, and
// several processes may open the same database.
type Store struct {
	*base
	accountsDB
	advisoriesDB
	checkDB
	feedDB
	findingsDB
	hostsDB
	lifecycleDB
	notificationsDB
	projectsDB
	queueDB
	scansDB
}

// Tx is a transaction of one deployment with the methods of all subjects. It is not safe for
// concurrent use.
type Tx struct {
	*sqldb.Tx
	accountsTx
	advisoriesTx
	checkTx
	exceptionsTx
	feedTx
	findingsTx
	hostsTx
	inventoryTx
	lifecycleTx
	notificationsTx
	policiesTx
	projectsTx
	queueTx
	scansTx
}

type base = sqldb.DB

type (
	accountsDB      = accounts.DB
	advisoriesDB    = advisories.DB
	checkDB         = check.DB
	feedDB          = feed.DB
	findingsDB      = findings.DB
	hostsDB         = hosts.DB
	lifecycleDB     = lifecycle.DB
	notificationsDB = notifications.DB
	projectsDB      = projects.DB
	queueDB         = queue.DB
	scansDB         = scans.DB
)

type (
	accountsTx      = accounts.Tx
	advisoriesTx    = advisories.Tx
	checkTx         = check.Tx
	exceptionsTx    = exceptions.Tx
	feedTx          = feed.Tx
	findingsTx      = findings.Tx
	hostsTx         = hosts.Tx
	inventoryTx     = inventory.Tx
	lifecycleTx     = lifecycle.Tx
	notificationsTx = notifications.Tx
	policiesTx      = policies.Tx
	projectsTx      = projects.Tx
	queueTx         = queue.Tx
	scansTx         = scans.Tx
)

// Open opens or creates the database and migrates its schema. Several processes may call it at
// once.
func Open(ctx context.Context, c Config) (*Store, error) {
	db, err := sqldb.Open(ctx, c, hooks...)
	if err != nil {
		return nil, err
	}
	return on(db), nil
}

// hooks run before each commit of an Update, in this order. Ending exception requests creates
// notifications, so notifications are queued last.
var hooks = []sqldb.Hook{
	{Name: "end requests for exceptions", Run: func(ctx context.Context, tx *sqldb.Tx) error {
		t := exceptions.From(tx)
		return t.EndRequests(ctx)
	}},
	{Name: "write the gates of scans", Run: func(ctx context.Context, tx *sqldb.Tx) error {
		t := scans.From(tx)
		return t.WriteGates(ctx)
	}},
	{Name: "queue notifications", Run: func(ctx context.Context, tx *sqldb.Tx) error {
		t := notifications.From(tx)
		return t.QueueHappened(ctx)
	}},
}

func on(db *sqldb.DB) *Store {
	return &Store{
		base:            db,
		accountsDB:      accounts.On(db),
		advisoriesDB:    advisories.On(db),
		checkDB:         check.On(db),
		feedDB:          feed.On(db),
		findingsDB:      findings.On(db),
		hostsDB:         hosts.On(db),
		lifecycleDB:     lifecycle.On(db),
		notificationsDB: notifications.On(db),
		projectsDB:      projects.On(db),
		queueDB:         queue.On(db),
		scansDB:         scans.On(db),
	}
}

func from(tx *sqldb.Tx) *Tx {
	return &Tx{
		Tx:              tx,
		accountsTx:      accounts.From(tx),
		advisoriesTx:    advisories.From(tx),
		checkTx:         check.From(tx),
		exceptionsTx:    exceptions.From(tx),
		feedTx:          feed.From(tx),
		findingsTx:      findings.From(tx),
		hostsTx:         hosts.From(tx),
		inventoryTx:     inventory.From(tx),
		lifecycleTx:     lifecycle.From(tx),
		notificationsTx: notifications.From(tx),
		policiesTx:      policies.From(tx),
		projectsTx:      projects.From(tx),
		queueTx:         queue.From(tx),
		scansTx:         scans.From(tx),
	}
}

// SaveConnection stores the response of a code host received before the transaction, and returns
// the changed connection.
type SaveConnection = func(ctx context.Context, tx *Tx) (model.Connection, error)

// View runs fn on one snapshot of a deployment. An unknown deployment is model.ErrNotFound.
func (s *Store) View(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.base.View(ctx, deploymentID, func(ctx context.Context, tx *sqldb.Tx) error { return fn(ctx, from(tx)) })
}

// Update runs fn in a transaction of a deployment and rolls it back if fn fails. See
// sqldb.DB.Update.
func (s *Store) Update(
	ctx context.Context, deploymentID int64, by model.Actor, fn func(context.Context, *Tx) error,
) error {
	return s.base.Update(ctx, deploymentID, by, func(ctx context.Context, tx *sqldb.Tx) error { return fn(ctx, from(tx)) })
}

// CreateDeployment creates a tenant. See lifecycle.DB.CreateDeployment.
func (s *Store) CreateDeployment(
	ctx context.Context, slug, name string, by model.Actor, first ...func(context.Context, *Tx) error,
) (model.Deployment, error) {
	steps := make([]func(context.Context, *sqldb.Tx) error, len(first))
	for i, fn := range first {
		steps[i] = func(ctx context.Context, tx *sqldb.Tx) error { return fn(ctx, from(tx)) }
	}
	return s.lifecycleDB.CreateDeployment(ctx, slug, name, by, steps...)
}

// Long marks the writes of a context as slow. See sqldb.Long.
func Long(ctx context.Context) context.Context { return sqldb.Long(ctx) }

// Distribution returns the statements that distribute the tables. See sqldb.Distribution.
func Distribution() string { return sqldb.Distribution() }

// HostKey returns the key of jobs that call a code host. See queue.HostKey.
func HostKey(baseURL string) string { return queue.HostKey(baseURL) }

// LastRemoval returns the newest removal of a history. See findings.LastRemoval.
func LastRemoval(history []FindingHistory) Removal { return findings.LastRemoval(history) }
