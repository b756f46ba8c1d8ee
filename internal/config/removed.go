package config

import "errors"

// Removed holds the settings that earlier versions had. One that is set ends the
// start: ignoring it would change what the operator asked for without notice.
type Removed struct {
	DatabaseReplica Secret `hidden:"" help:"Removed." env:"REDOUBT_DATABASE_REPLICA" placeholder:"URL"`
}

// check returns an error for each removed setting that is set.
func (r Removed) check() (faults []error) {
	if r.DatabaseReplica != "" {
		faults = append(faults, errors.New("--database-replica (REDOUBT_DATABASE_REPLICA) was removed: "+
			"the index is read from the database of --database-url; unset it"))
	}
	return faults
}
