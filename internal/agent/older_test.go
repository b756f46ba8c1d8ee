package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestOlderScanner replays a run in the format of scanners up to 2024. The start is one request,
// with its metadata under meta and its name in the header. The dependencies are sent with the
// results.
func TestOlderScanner(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeMonitor)
		var start map[string]json.RawMessage
		w.decode(w.recorded("full/1-scans.json"), &start)
		older := fmt.Appendf(nil, `{"meta":%s,"scan_metadata":{"cli_version":"1.45.0","dry_run":false}}`, start["project_metadata"])
		for range 2 {
			if status := w.sendAs("older-run", "POST", "/api/cli/scans", w.token, older); status != 200 {
				w.Fatalf("the start is answered %d", status)
			}
		}
		scans := w.scans()
		w.same("scans", 1, len(scans))
		w.same("its ref", "refs/heads/main", scans[0].Branch)
		path := fmt.Sprintf("/api/agent/scans/%s/", scans[0].ID)

		var results, done map[string]json.RawMessage
		w.decode(w.recorded("full/3-results.json"), &results)
		w.decode(w.recorded("full/4-complete.json"), &done)
		results["dependencies"] = done["dependencies"]
		delete(done, "dependencies")
		w.ok("POST", path+"results", w.encode(results))
		w.same("the answer", `{"success":true}`, w.ok("POST", path+"complete", w.encode(done)))
		w.same("dependencies", 6, w.countDependencies())
		list, _ := w.code("main")
		w.same("findings", 4, len(list))
	})
}

func (w *world) decode(text []byte, v any) {
	w.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		w.Fatal(err)
	}
}

func (w *world) encode(v any) []byte {
	w.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

// TestOtherScannerRequests checks the responses to other requests of scanners. Errors of unsupported
// requests must contain the alternative.
func TestOtherScannerRequests(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.rules(model.ModeMonitor)
	for request, want := range map[string]string{
		"GET /api/agent/deployments/deepbinary/manylinux?version=1.180.0": `403 run the scanner with --oss-only`,
		"POST /api/cli/tr_cache/lookup":                                   `200 {"cached":[]}`,
		"POST /api/cli/tr_cache":                                          `200 {}`,
		"GET /api/agent/deployments/scans/config?repo_name=acme/demo":     `200 "rule_config":"{\"rules\":[`,
		"GET /api/agent/deployments/scans/config?sca=true":                `200 "deployment_name":"acme"`,
		"GET /api/agent/deployments/scans/config?repo_name=x":             `400 repo_name`,
		"POST /api/registry/rules":                                        `403 redoubt policies add-rules FILE`,
		"GET /api/agent/identity":                                         `200 of deployment acme`,
	} {
		method, path, _ := strings.Cut(request, " ")
		status, text := w.send(method, path, w.token, []byte(`{}`))
		code, needle, _ := strings.Cut(want, " ")
		if fmt.Sprint(status) != code || !strings.Contains(text, needle) {
			t.Errorf("%s: %d %.300s, want %s", request, status, text, want)
		}
		if status, _ := w.send(method, path, "", []byte(`{}`)); status != 401 {
			t.Errorf("%s without a token: %d", request, status)
		}
	}
	own, _ := w.attempts()
	if len(own) != 1 || own[0].Step != model.FailedScope || !strings.Contains(own[0].Cause, "--oss-only") {
		t.Errorf("a scan that wants another engine is kept as %+v", own)
	}
	var config struct {
		Text string `json:"rule_config"`
	}
	w.decode([]byte(w.ok("GET", "/api/agent/deployments/scans/config", nil)), &config)
	var document struct{ Rules []struct{ ID string } }
	w.decode([]byte(config.Text), &document)
	if len(document.Rules) == 0 || strings.Contains(config.Text, "redoubt.lockfiles") {
		t.Errorf("an editor gets the rules %+v", document.Rules)
	}
}

// TestScanOfEmptyRepository uploads a scan of a repository without commits, in which every list is empty.
func TestScanOfEmptyRepository(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.ok("POST", "/api/cli/v2/scans", []byte(`{"project_metadata":{"repository":"acme/empty","branch":null,"commit":null,"is_full_scan":true,"scan_environment":"git"},
		"scan_metadata":{"unique_id":"empty-1","requested_products":[],"dry_run":false},"project_config":null}`))
	path := fmt.Sprintf("/api/agent/scans/%s/", w.scans()[0].ID)
	w.ok("POST", path+"results", []byte(`{"token":null,"findings":[],"ignores":[],"searched_paths":[],"renamed_paths":[],"skipped_paths":[],"rule_ids":[]}`))
	w.same("the answer", `{"success":true}`, w.ok("POST", path+"complete", []byte(`{"exit_code":0,"stats":{"findings":0,"errors":[],"total_time":0.1,"unsupported_exts":{},"lockfile_scan_info":{},"parse_rate":{}},"dependencies":{}}`)))
	w.same("the scan", "SCAN_STATUS_COMPLETED", w.scans()[0].Status)
}

// TestUnfinishedScanAcceptsLateUpload checks that a scan is shown as never finished after an hour. A late upload must
// still be accepted.
func TestUnfinishedScanAcceptsLateUpload(t *testing.T) {
	each(t, func(w *world) {
		path := w.results()
		w.clock.Advance(model.ScanTimeout + 1e9)
		w.same("after an hour", "SCAN_STATUS_NEVER_FINISHED", w.scans()[0].Status)
		w.same("the answer", `{"success":true}`, w.ok("POST", path+"complete", w.recorded("full/4-complete.json")))
		w.same("the scan", "SCAN_STATUS_COMPLETED", w.scans()[0].Status)
	})
}
