package sqldb

import (
	"fmt"
	"slices"
	"strings"
)

// SharedTables have rows of tenants that are looked for without knowing whose they are, or
// of several at once. They stay on the node that is asked, with all that belongs to no
// tenant: no statement is about one of them and about what is a tenant's alone.
var SharedTables = []string{
	"user_role", "user_invitation", "login_request", "failed_attempt", "advisory_match", "job_due",
}

// Distribution is what has a PostgreSQL with the extension Citus spread the tenants over
// its nodes: statements to run once, on its coordinator, in a database that a server of
// this version has made. All of a tenant comes to lie on one node. What all share stays on the
// coordinator, which lets the nodes' tables be written beside it and needs a standby of its own.
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
