package sqldb

import (
	"fmt"
	"slices"
	"strings"
)

// SharedTables have rows of tenants that are read without a known tenant, or for several tenants at
// once. They stay on the coordinator, as do the tables without a tenant. No statement joins them
// with a distributed table.
var SharedTables = []string{
	"user_role", "user_invitation", "login_request", "failed_attempt", "advisory_match", "job_due",
}

// Distribution returns the statements that distribute tenants over the nodes of PostgreSQL with the
// Citus extension. Run them once on the coordinator, in a database created by this version. All
// rows of a tenant are placed on one node. Shared tables stay on the coordinator, which needs a
// standby server.
func Distribution() string {
	var b strings.Builder
	b.WriteString("BEGIN;\nSELECT create_distributed_table('deployment', 'id');\n")
	var tables []string
	for _, table := range append(slices.Clone(TenantTables), "audit_event") {
		if !slices.Contains(SharedTables, table) {
			tables = append(tables, table)
		}
	}
	slices.Sort(tables)
	for _, table := range tables {
		fmt.Fprintf(&b, "SELECT create_distributed_table('%s', 'deployment_id', colocate_with => 'deployment');\n", table)
	}
	b.WriteString("COMMIT;\n")
	return b.String()
}
