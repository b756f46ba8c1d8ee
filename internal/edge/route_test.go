package edge_test

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/edge"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/server"
	"github.com/redoubt/redoubt/internal/web"
)

// TestEveryRouteSaysItsFacts walks the tables of all rooms.
func TestEveryRouteSaysItsFacts(t *testing.T) {
	tables := map[string][]edge.Route{"pages": web.Routes()}
	for _, r := range server.Routes() {
		tables["Web API"] = append(tables["Web API"], r.Route)
	}
	for _, r := range agent.New(agent.Config{}).Routes() {
		tables["scanners"] = append(tables["scanners"], r.Route)
	}
	seen := map[string]string{}
	for table, rows := range tables {
		if len(rows) < 10 {
			t.Errorf("%s: only %d rows", table, len(rows))
		}
		for _, r := range rows {
			for _, fault := range r.Faults() {
				t.Errorf("%s: %s", table, fault)
			}
			place := r.Method + " " + r.Pattern
			if before, twice := seen[place]; twice && place != "GET /login" { // which the agent leaves to the pages but for scanners
				t.Errorf("%s is in %s and in %s", place, before, table)
			}
			seen[place] = table
		}
	}
}

// TestRowsWithoutTheirFacts is what the walk would find.
func TestRowsWithoutTheirFacts(t *testing.T) {
	viewer, triager := model.RoleViewer, model.RoleTriager
	for _, c := range []struct {
		fault string
		row   edge.Route
	}{
		{"no method", edge.Row("TRACE", "/x", edge.Person, viewer, edge.Reads, edge.Unbound)},
		{"no pattern", edge.Row("GET", "", edge.WebAPI, viewer, edge.Reads, edge.Filtered)},
		{"does not say who may use it", edge.Row("GET", "/x", "", viewer, edge.Reads, edge.Unbound)},
		{"does not say the least role", edge.Row("GET", "/x", edge.WebAPI, model.RoleNone, edge.Reads, edge.Filtered)},
		{"asks for a role, and is for anyone", edge.Row("GET", "/x", edge.Anyone, viewer, edge.Reads, edge.Unbound)},
		{"does not say how a bound token is held to its projects", edge.Row("GET", "/x", edge.WebAPI, viewer, edge.Reads, "")},
		{"is a write, and open to those who may only look", edge.Row("POST", "/x", edge.WebAPI, viewer, edge.Writes, edge.ByName)},
		{"asks, and writes nothing", edge.Row("GET", "/x", edge.WebAPI, viewer, edge.Reads, edge.ByName).Asking()},
		{"changes something by its method, and is said to read", edge.Row("DELETE", "/x", edge.WebAPI, triager, edge.Reads, edge.ByName)},
		{"names a project, and does not hold a bound token to the name", edge.Row("GET", "/x/{projectName}", edge.WebAPI, viewer, edge.Reads, edge.Unbound)},
		{"holds a token to its projects, and asks for none", edge.Row("GET", "/x", edge.Anyone, model.RoleNone, edge.Reads, edge.ByName)},
	} {
		if faults := c.row.Faults(); len(faults) != 1 || !strings.HasSuffix(faults[0], ": "+c.fault) {
			t.Errorf("a row that %s has the faults %q", c.fault, faults)
		}
	}
	if faults := (edge.Route{}).Faults(); len(faults) != 6 {
		t.Errorf("nothing has the faults %q", faults)
	}
	if faults := edge.Row("GET", "/x", edge.WebAPI, viewer, edge.Reads, edge.Filtered).Faults(); len(faults) != 0 {
		t.Errorf("a whole row: %v", faults)
	}
}
