package bench

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestWorld checks that the generated data includes nonempty lists with a second page, decisions,
// other refs and fixed findings.
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

// TestReadyBytes checks that the baseline returns the same bytes as the page.
func TestReadyBytes(t *testing.T) {
	w := newWorld(t)
	w.project("acme/payments", 150, false)
	page := w.client.body(w.request("GET", w.target(nil, false, 100), nil))
	if ready := w.client.body(w.fromMemory("/ready", page)); string(ready) != string(page) || len(page) < 100_000 {
		t.Errorf("%d bytes ready, the page has %d", len(ready), len(page))
	}
}

// TestIntake checks that a report with replaced results closes as many findings as it opens.
func TestIntake(t *testing.T) {
	w := newWorld(t)
	in := &intake{w: w}
	in.setResults(w.made.results(2 * replaced))
	send := func(commit string) api.Import {
		return w.importUpload(w.upload("acme/payments", "main", "semgrep.json", in.file, "commit", commit))
	}
	if got := send("1"); got.New != 2*replaced {
		t.Errorf("%d new", got.New)
	}
	if got := send("1"); got.Outcome != "repeat" {
		t.Errorf("the same again is %q", got.Outcome)
	}
	in.file = append(in.file, ' ')
	if got := send("2"); got.Outcome != "applied" || got.Unchanged != 2*replaced {
		t.Errorf("the same with other bytes is %q, %d unchanged", got.Outcome, got.Unchanged)
	}
	in.newer()
	// A new result may be an edited old one: of one rule, in one file and of one length.
	if got := send("3"); got.New+got.Changed != replaced || got.Closed+got.Changed != replaced || got.Unchanged != replaced || got.Changed > replaced/50 {
		t.Errorf("%d new, %d closed, %d changed, %d unchanged", got.New, got.Closed, got.Changed, got.Unchanged)
	}
}
