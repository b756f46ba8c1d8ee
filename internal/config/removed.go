package config

import "errors"

// Removed contains settings of earlier versions. A set one is an error: ignoring it would change
// the requested configuration without notice.
type Removed struct {
	DatabaseReplica Secret `hidden:"" help:"Removed." env:"REDOUBT_DATABASE_REPLICA" placeholder:"URL"`
}

// check returns an error for each removed setting that is set.
func (r Removed) check() (faults []error) {
	if r.DatabaseReplica != "" {
		faults = append(faults, errors.New("--database-replica (REDOUBT_DATABASE_REPLICA) was removed: "+
			"the index is read from the database of --database-url: unset it"))
	}
	return faults
}
