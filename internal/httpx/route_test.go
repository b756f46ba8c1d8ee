package httpx_test

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web"
)

// TestRouteTablesAreComplete checks the route tables of all packages.
func TestRouteTablesAreComplete(t *testing.T) {
	tables := map[string][]httpx.Route{"pages": web.Routes()}
	for _, r := range apihttp.Routes() {
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
			route := r.Method + " " + r.Pattern
			if before, twice := seen[route]; twice && route != "GET /login" { // pages serve it, except for scanners
				t.Errorf("%s is in %s and in %s", route, before, table)
			}
			seen[route] = table
		}
	}
}

// TestRouteFaultsAreDetected checks that Faults detects each kind of fault.
func TestRouteFaultsAreDetected(t *testing.T) {
	viewer, triager := model.RoleViewer, model.RoleTriager
	for _, c := range []struct {
		fault string
		row   httpx.Route
	}{
		{"no method", httpx.Row("TRACE", "/x", httpx.Person, viewer, httpx.Reads, httpx.Unbound)},
		{"no pattern", httpx.Row("GET", "", httpx.WebAPI, viewer, httpx.Reads, httpx.Filtered)},
		{"has no scope", httpx.Row("GET", "/x", "", viewer, httpx.Reads, httpx.Unbound)},
		{"has no minimum role", httpx.Row("GET", "/x", httpx.WebAPI, model.RoleNone, httpx.Reads, httpx.Filtered)},
		{"requires a role, and is for anyone", httpx.Row("GET", "/x", httpx.Anyone, viewer, httpx.Reads, httpx.Unbound)},
		{"has no rule for tokens bound to projects", httpx.Row("GET", "/x", httpx.WebAPI, viewer, httpx.Reads, "")},
		{"is a write, and open to viewers", httpx.Row("POST", "/x", httpx.WebAPI, viewer, httpx.Writes, httpx.ByName)},
		{"requests something, and writes nothing", httpx.Row("GET", "/x", httpx.WebAPI, viewer, httpx.Reads, httpx.ByName).AsRequest()},
		{"has a method that writes, and is marked as a read", httpx.Row("DELETE", "/x", httpx.WebAPI, triager, httpx.Reads, httpx.ByName)},
		{"names a project, and does not check it for bound tokens", httpx.Row("GET", "/x/{projectName}", httpx.WebAPI, viewer, httpx.Reads, httpx.Unbound)},
		{"has a rule for bound tokens, and requires no token", httpx.Row("GET", "/x", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.ByName)},
	} {
		if faults := c.row.Faults(); len(faults) != 1 || !strings.HasSuffix(faults[0], ": "+c.fault) {
			t.Errorf("a row that %s has the faults %q", c.fault, faults)
		}
	}
	if faults := (httpx.Route{}).Faults(); len(faults) != 6 {
		t.Errorf("nothing has the faults %q", faults)
	}
	if faults := httpx.Row("GET", "/x", httpx.WebAPI, viewer, httpx.Reads, httpx.Filtered).Faults(); len(faults) != 0 {
		t.Errorf("a whole row: %v", faults)
	}
}
