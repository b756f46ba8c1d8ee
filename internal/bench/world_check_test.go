package bench

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// What is measured must be there to be measured: each list holds something, on
// a second page too, and decisions, other refs and fixed findings are among it.
func TestWorld(t *testing.T) {
	w := newWorld(t)
	w.fill(2000)
	if w.findings < 1800 || w.findings > 2000 {
		t.Errorf("%d findings of 2000", w.findings)
	}
	lists := map[string]url.Values{
		"other ref": {"ref": {"release"}}, "fixed": {"status": {"fixed"}}, "ignored": {"status": {"ignored"}},
		"reviewing": {"status": {"reviewing"}}, "fixing": {"status": {"fixing"}},
	}
	for _, page := range pages {
		lists[page.name] = page.query
	}
	for name, query := range lists {
		var answer api.ListFindingsResponse
		w.check(json.Unmarshal(w.client.body(w.request("GET", w.target(query, name == "deep", 100), nil)), &answer))
		if len(answer.SASTFindings.Findings) == 0 {
			t.Errorf("no findings in the list %q", name)
		}
	}
}

// The limits hold the very bytes that they stand beside.
func TestReadyBytes(t *testing.T) {
	w := newWorld(t)
	w.project("acme/payments", 150, false)
	page := w.client.body(w.request("GET", w.target(nil, false, 100), nil))
	if ready := w.client.body(w.fromMemory("/ready", page)); string(ready) != string(page) || len(page) < 100_000 {
		t.Errorf("%d bytes ready, the page has %d", len(ready), len(page))
	}
}

// A report that replaces results closes as many as it brings.
func TestIntake(t *testing.T) {
	w := newWorld(t)
	in := &intake{w: w}
	in.take(w.made.results(2 * replaced))
	hand := func(commit string) api.Import {
		return w.hand(w.upload("acme/payments", "main", "semgrep.json", in.file, "commit", commit))
	}
	if got := hand("1"); got.New != 2*replaced {
		t.Errorf("%d new", got.New)
	}
	if got := hand("1"); got.Outcome != "repeat" {
		t.Errorf("the same again is %q", got.Outcome)
	}
	in.file = append(in.file, ' ')
	if got := hand("2"); got.Outcome != "applied" || got.Unchanged != 2*replaced {
		t.Errorf("the same with other bytes is %q, %d unchanged", got.Outcome, got.Unchanged)
	}
	in.newer()
	// What came may be what went, edited: of one rule, in one file and of one length.
	if got := hand("3"); got.New+got.Changed != replaced || got.Closed+got.Changed != replaced || got.Unchanged != replaced || got.Changed > replaced/50 {
		t.Errorf("%d new, %d closed, %d changed, %d unchanged", got.New, got.Closed, got.Changed, got.Unchanged)
	}
}
