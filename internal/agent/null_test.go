package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// memberNames are members of scanners' requests, and unknown ones.
var memberNames = []string{
	"project_metadata", "scan_metadata", "project_config", "meta", "repository", "repo_display_name", "repo_url", "branch", "commit", "is_full_scan",
	"scan_environment", "unique_id", "requested_products", "dry_run", "partial_scan_rule_ids", "tags", "findings", "ignores", "searched_paths",
	"renamed_paths", "skipped_paths", "rule_ids", "dependencies", "exit_code", "stats", "total_time", "supply_chain_stats", "subprojects_stats",
	"final_attempt", "error", "request_id", "token_request_key", "check_id", "path", "line", "metadata", "severity", "x",
}

// anyJSON draws values that a hostile or future client may send.
func anyJSON(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int().AsAny(), rapid.String().AsAny(),
		rapid.SampledFrom([]any{"acme/demo", "run-1", "main", "git", "sast", 1.5, -1, "\x00", "0b1f4c3e-6f5a-4d6e-9c1b-0a7d5e2f9b11"}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := anyJSON(depth - 1)
	return rapid.OneOf(append(scalars, rapid.SliceOfN(inner, 0, 3).AsAny(), rapid.MapOfN(rapid.SampledFrom(memberNames), inner, 0, 6).AsAny())...)
}

// TestResponsesContainNoNull sends random requests to every route; world.send checks the responses. No
// request may cause a server error.
func TestResponsesContainNoNull(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.rules(model.ModeBlock)
	scan := strings.Trim(strings.TrimPrefix(w.results(), "/api/agent/scans"), "/")
	parameters := strings.NewReplacer("{uniqueId}", "307e5059-799d-47ee-9776-4d7e93de5352", "{scanId}", scan, "{policy}", "code", "{rule}", "eqeq",
		"{deployment}", "acme", "{platform}", "manylinux")
	var requests []string
	for _, r := range w.agent.Routes() {
		requests = append(requests, r.Method+" "+parameters.Replace(r.Pattern))
	}
	documents := []func(*rapid.T) any{
		func(t *rapid.T) any { return anyJSON(4).Draw(t, "anything") },
		func(t *rapid.T) any {
			var base map[string]any
			w.decode(w.recorded(rapid.SampledFrom([]string{"full/1-scans.json", "full/3-results.json", "full/4-complete.json", "error/3-error.json", "error/4-failure.json"}).Draw(t, "recorded")), &base)
			names := make([]string, 0, len(base))
			for name := range base {
				names = append(names, name)
			}
			slices.Sort(names)
			base[rapid.SampledFrom(names).Draw(t, "member")] = anyJSON(3).Draw(t, "value")
			return base
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		method, path, _ := strings.Cut(rapid.SampledFrom(requests).Draw(t, "request"), " ")
		body, err := json.Marshal(documents[rapid.IntRange(0, len(documents)-1).Draw(t, "kind")](t))
		if err != nil {
			t.Fatal(err)
		}
		token := rapid.SampledFrom([]string{w.token, w.token, w.token, "", "nonsense"}).Draw(t, "token")
		if status, text := w.send(method, path, token, body); status >= 500 || w.Failed() {
			t.Fatalf("%s %s with %s is answered %d %s", method, path, body, status, text)
		}
	})
}
