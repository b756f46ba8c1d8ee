package agent_test

import (
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestNewScannerRuleBlocksImmediately checks that a new rule, such as one from the checkout, can
// block the scan that reports it.
func TestNewScannerRuleBlocksImmediately(t *testing.T) {
	const finding = `{"findings":[{"check_id":"own.no-eval","path":"a.js","line":1,"column":1,"end_line":1,"end_column":8,"message":"eval","severity":2,"index":0,
		"syntactic_id":"s","metadata":{"dev.semgrep.actions":["block"]},"is_blocking":true,"match_based_id":"group_0",
		"hashes":{"start_line_hash":"a","end_line_hash":"a","code_hash":"c","pattern_hash":"p"},"engine_kind":"OSS"}],
		"ignores":[],"token":null,"gitlab_token":null,"searched_paths":["a.js"],"renamed_paths":[],"rule_ids":["own.no-eval"]}`
	each(t, func(w *world) {
		for i, results := range []string{`{"findings":[],"ignores":[],"searched_paths":["a.js"],"renamed_paths":[],"rule_ids":[]}`, finding} {
			w.clock.Advance(1e9)
			status, id, text := w.beginAs(w.token, claim{name: "acme/own"})
			if status != 200 {
				w.Fatalf("begin: %d %s", status, text)
			}
			path := fmt.Sprintf("/api/agent/scans/%d/", id)
			w.ok("POST", path+"results", []byte(results))
			answer := w.ok("POST", path+"complete", w.recorded("after-fix/4-complete.json"))
			var complete struct {
				Override bool     `json:"app_block_override"`
				Blocking []string `json:"app_blocking_match_based_ids"`
			}
			w.decode([]byte(answer), &complete)
			if want := i > 0; complete.Override != want || (len(complete.Blocking) == 1) != want {
				w.Errorf("scan %d is answered %s", i+1, answer)
			}
			var response struct {
				Outcome api.ImportResponse `json:"outcome"`
			}
			w.decode([]byte(w.ok("GET", "/api/agent/scans/outcome?project=acme/own&ref=main", nil)), &response)
			if response.Outcome.Gate.Blocked != (i > 0) {
				w.Errorf("the gate of scan %d: %+v", i+1, response.Outcome.Gate)
			}
		}
	})
}
