package edge_test

import (
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/edge"
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
	viewer, triager := redoubt.RoleViewer, redoubt.RoleTriager
	for name, r := range map[string]edge.Route{
		"nothing":                   {},
		"no method":                 edge.Row("", "/x", edge.WebAPI, viewer, edge.Reads, edge.Filtered),
		"no pattern":                edge.Row("GET", "", edge.WebAPI, viewer, edge.Reads, edge.Filtered),
		"no scope":                  edge.Row("GET", "/x", "", viewer, edge.Reads, edge.Filtered),
		"no role":                   edge.Row("GET", "/x", edge.WebAPI, redoubt.RoleNone, edge.Reads, edge.Filtered),
		"a role of nobody":          edge.Row("GET", "/x", edge.Anyone, viewer, edge.Reads, edge.Unbound),
		"no bound":                  edge.Row("GET", "/x", edge.WebAPI, viewer, edge.Reads, ""),
		"a write for all":           edge.Row("POST", "/x", edge.WebAPI, viewer, edge.Writes, edge.ByName),
		"a deletion that reads":     edge.Row("DELETE", "/x", edge.WebAPI, triager, edge.Reads, edge.ByName),
		"a project that is not one": edge.Row("GET", "/x/{projectName}", edge.WebAPI, viewer, edge.Reads, edge.Unbound),
		"globs of nobody":           edge.Row("GET", "/x", edge.Anyone, redoubt.RoleNone, edge.Reads, edge.ByName),
	} {
		if len(r.Faults()) == 0 {
			t.Errorf("%s: passes", name)
		}
	}
	if faults := edge.Row("GET", "/x", edge.WebAPI, viewer, edge.Reads, edge.Filtered).Faults(); len(faults) != 0 {
		t.Errorf("a whole row: %v", faults)
	}
}
