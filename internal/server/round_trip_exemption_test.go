package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
)

// exempted is a deployment far away whose round trips a test counts.
type exempted struct {
	*harness
	trips func() int // so far
	t     *testing.T
}

// costs bounds the round trips of one of some requests that are alike: the first one of a
// connection prepares statements.
func (e *exempted) costs(what string, most int, requests ...func() answer) {
	e.t.Helper()
	var counts []int
	for _, request := range requests {
		before := e.trips()
		if a := request(); a.status != http.StatusOK {
			e.t.Fatalf("%s: %d %s", what, a.status, a.body)
		}
		counts = append(counts, e.trips()-before)
	}
	e.t.Logf("%s took %d round trips", what, counts)
	if slices.Min(counts) > most {
		e.t.Errorf("%s took %d round trips, at most %d were to be", what, counts, most)
	}
}

// vexOf is an OpenVEX document with n statements.
func vexOf(id string, n int) string {
	statements := make([]string, n)
	for i := range statements {
		statements[i] = fmt.Sprintf(`{"vulnerability":{"name":"CVE-2024-%d"},"products":[{"@id":"pkg:npm/left-pad@1.0.%d"}],"status":"not_affected","justification":"vulnerable_code_not_present"}`, 1000+i, i)
	}
	return `{"@context":"https://openvex.dev/ns/v0.2.0","@id":"` + id + `","author":"Acme","timestamp":"2024-05-01T00:00:00Z","version":1,"statements":[` + strings.Join(statements, ",") + `]}`
}

// TestExemptionsTakeAHandfulOfRoundTrips bounds how often exceptions and VEX documents wait
// for the database, however many there are.
func TestExemptionsTakeAHandfulOfRoundTrips(t *testing.T) {
	h, proxy := farAway(t)
	ci := h.token
	all := h.newToken(redoubt.Token{Name: "all", Scopes: []redoubt.Scope{redoubt.ScopeWebAPI, redoubt.ScopeCI}})
	e := &exempted{h, proxy.RoundTrips, t}
	const acme = "/api/v1/deployments/acme"
	as := func(token, method, target, body string) func() answer {
		return func() answer { h.token = token; return h.send(method, acme+target, body) }
	}
	again := func(request func() answer) []func() answer { return []func() answer{request, request, request} }
	upload := func(token, project, document string, n int) func() answer {
		return as(token, http.MethodPost, "/imports?project="+project+"&filename=a.openvex.json", vexOf(document, n))
	}
	first := func(a answer, list string) string {
		var got map[string]json.RawMessage
		var items []struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || json.Unmarshal(got[list], &items) != nil || len(items) == 0 {
			t.Fatalf("%s: %v", a.body, err)
		}
		return strings.Trim(string(items[0].ID), `"`)
	}
	if a := as(all, http.MethodPost, "/imports?project=acme/found", resultsOf("a", 200))(); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}

	exception := func(i int) func() answer {
		return as(all, http.MethodPost, "/exceptions", fmt.Sprintf(`{"target":"eqeq","paths":["src/f%d*"],"reason":"b","triage_reason":"acceptable_risk","forever":true}`, i))
	}
	list, end := as(all, http.MethodGet, "/exceptions", ""), func() answer {
		return as(all, http.MethodDelete, "/exceptions/"+first(as(all, http.MethodGet, "/exceptions", "")(), "exceptions"), "")()
	}
	e.costs("an exception", 14, exception(1), exception(2), exception(3))
	for i := range 20 {
		exception(i)()
	}
	e.costs("an exception beside 23", 14, exception(1), exception(2), exception(3))
	e.costs("a list of exceptions", 8, again(list)...)
	e.costs("a list of exceptions, and the end of one", 20, end, end, end)

	for _, n := range []int{1, 200} {
		kept := func(round int) func() answer { return upload(all, "acme/kept", fmt.Sprintf("urn:%d-%d", n, round), n) }
		e.costs(fmt.Sprintf("a VEX document of %d statements", n), 14, kept(1), kept(2), kept(3))
		e.costs(fmt.Sprintf("the same of %d statements", n), 14, kept(1), kept(2), kept(3))
		proposed := func(round int) func() answer {
			return upload(ci, "acme/proposed", fmt.Sprintf("urn:%d-%d", n, round), n)
		}
		e.costs(fmt.Sprintf("a proposed one of %d statements", n), 14, proposed(1), proposed(2), proposed(3))
	}
	for i := range 20 {
		upload(all, "acme/kept", fmt.Sprint("urn:more-", i), 2)()
	}
	e.costs("a list of VEX documents that count", 8, again(as(all, http.MethodGet, "/vex?status=held", ""))...)
	for i := range 20 {
		upload(ci, "acme/proposed", fmt.Sprint("urn:more-", i), 2)()
	}
	e.costs("a list of 22 proposed VEX documents", 10, again(as(all, http.MethodGet, "/vex?status=proposed", ""))...)
	e.costs("the list, and the end of one", 28, func() answer {
		return as(all, http.MethodDelete, "/vex/"+first(as(all, http.MethodGet, "/vex?status=held", "")(), "documents"), "")()
	})
	e.costs("the end of a project with 25 documents", 28, as(all, http.MethodDelete, "/projects/acme%2Fkept", ""))
}
