// Package exceptions stores exceptions and VEX documents, and which findings they cover. It queues
// notifications about decisions.
package exceptions

import (
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	advisoriesTx
	findingsTx
	notificationsTx
	projectsTx
}

type (
	advisoriesTx    = advisories.Tx
	findingsTx      = findings.Tx
	notificationsTx = notifications.Tx
	projectsTx      = projects.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:              tx,
		advisoriesTx:    advisories.From(tx),
		findingsTx:      findings.From(tx),
		notificationsTx: notifications.From(tx),
		projectsTx:      projects.From(tx),
	}
}
