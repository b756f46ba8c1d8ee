package apihttp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// TestHostedInputIsLenient checks that requests of the hosted service's clients are accepted in its
// dialect only. The field items is the number of items in the response; -1 means at least one.
func TestHostedInputIsLenient(t *testing.T) {
	h := newHosted(t)
	h.importSample("acme/payments/main-1/requirements.txt", "requirements.txt")
	project, err := h.client.GetProject(t.Context(), "acme", "acme/payments")
	if err != nil {
		t.Fatal(err)
	}
	lockfiles := "dependencies/repositories/" + core.Decimal(project.Project.ID) + "/lockfiles"
	for _, c := range []struct {
		method, path, body, list string
		items                    int
	}{
		{http.MethodPost, "dependencies", `{"pageSize":0}`, "dependencies", -1},
		{http.MethodPost, "dependencies", `{"pageSize":-1}`, "dependencies", -1},
		{http.MethodPost, "dependencies", `{"page_size":20000}`, "dependencies", -1},
		{http.MethodPost, "dependencies", `{"pageSize":" 2 "}`, "dependencies", 2},
		{http.MethodPost, "dependencies", `{"pageSize":99999999999999999999}`, "dependencies", -1},
		{http.MethodPost, "dependencies", `{"dependencyFilter":{"includeArchived":false,"licensePolicySettings":["LICENSE_POLICY_SETTING_ALLOW","LICENSE_POLICY_SETTING_BLOCK"]}}`, "dependencies", -1},
		{http.MethodPost, "dependencies", `{"dependencyFilter":{"include_archived":true}}`, "dependencies", 0},
		{http.MethodPost, "dependencies", `{"dependencyFilter":{"licensePolicySettings":["LICENSE_POLICY_SETTING_BLOCK"]}}`, "dependencies", 0},
		{http.MethodPost, "dependencies/repositories", `{"pageSize":1000}`, "repositorySummaries", -1},
		{http.MethodPost, "dependencies/repositories", `{"pageSize":"1000","dependencyFilter":{"includeArchived":true}}`, "repositorySummaries", 0},
		{http.MethodPost, lockfiles, `{"pageSize":1000}`, "lockfileSummaries", -1},
		{http.MethodPost, "scans/search", `{"limit":100000}`, "scans", -1},
		{http.MethodPost, "scans/search", `{"limit":-1,"statuses":["SCAN_STATUS_PENDING","SCAN_STATUS_COMPLETED"]}`, "scans", -1},
		{http.MethodPost, "scans/search", `{"statuses":"SCAN_STATUS_PENDING"}`, "scans", 0},
		{http.MethodPost, "ssc-vulns", `{"pageSize":100000}`, "vulns", -1},
		{http.MethodGet, "secrets?limit=99999", "", "findings", 0},
		{http.MethodGet, "secrets?limit=-1&status=FINDING_STATUS_REMOVED,FINDING_STATUS_UNKNOWN", "", "findings", 0},
		{http.MethodGet, "policies/" + h.policyOf("PRODUCT_TYPE_SAST") + "?limit=99999", "", "rules", -1},
		{http.MethodGet, "projects?page_size=99999999999999999999&page=-1", "", "projects", -1},
		{http.MethodGet, "findings?page_size=99999999999999999999", "", "findings", -1},
		{http.MethodGet, "findings?page=99999999999999999999", "", "findings", 0},
		{http.MethodGet, "findings?page_size=%205%20&ref=%20main%20&dedup=%20true", "", "findings", 5},
	} {
		a := h.send(c.method, "/api/v1/deployments/acme/"+c.path, c.body)
		var answer map[string]json.RawMessage
		var items []json.RawMessage
		if a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &answer) != nil || json.Unmarshal(answer[c.list], &items) != nil {
			t.Errorf("%s %s: %d %.300s", c.path, c.body, a.status, a.body)
			continue
		}
		if len(items) != c.items && (c.items >= 0 || len(items) == 0) {
			t.Errorf("%s %s: %d items, want %d", c.path, c.body, len(items), c.items)
		}
		contract := h.send(c.method, "/api/v1/deployments/acme/"+c.path, c.body, api.DialectHeader, "contract")
		if contract.status != http.StatusBadRequest && !strings.Contains(c.body, `"pageSize":0`) {
			t.Errorf("%s %s: the contract's dialect accepts it: %d", c.path, c.body, contract.status)
		}
	}
	for path, body := range map[string]string{
		"dependencies": `{"pageSize":"many"}`, "scans/search": `{"statuses":["SCAN_STATUS_LOST"]}`, "dependencies/repositories": `{"dependencyFilter":{"nothing":1}}`,
	} {
		h.wantProblem(h.send(http.MethodPost, "/api/v1/deployments/acme/"+path, body), api.CodeInvalidArgument)
	}
}

// TestResponsesHaveDialectHeader checks that every response of the API has the dialect header, also
// errors.
func TestResponsesHaveDialectHeader(t *testing.T) {
	h := newHosted(t)
	hosted := h.token
	for _, c := range []struct {
		method, path, token, sent, want string
		status                          int
	}{
		{http.MethodGet, "/api/v1/deployments/acme/findings", "", "", "contract", http.StatusUnauthorized},
		{http.MethodGet, "/api/v1/deployments/acme/findings", "", "hosted", "hosted", http.StatusUnauthorized},
		{http.MethodGet, "/api/v1/nothing", hosted, "", "contract", http.StatusNotFound},
		{http.MethodDelete, "/api/v1/deployments/acme/findings", hosted, "", "contract", http.StatusMethodNotAllowed},
		{http.MethodGet, "/api/v1/deployments/acme/findings?status=x", hosted, "", "hosted", http.StatusBadRequest},
		{http.MethodGet, "/api/v1/deployments/acme/findings", hosted, "klingon", "contract", http.StatusBadRequest},
		{http.MethodGet, "/api/v1/ping", "", "", "contract", http.StatusOK},
		{http.MethodGet, "/api/v1/deployments/acme/findings/changes", hosted, "hosted", "contract", http.StatusOK},
		{http.MethodGet, "/api/v1/deployments/acme/findings/export?format=jsonl", hosted, "", "contract", http.StatusOK},
		{http.MethodGet, "/api/v1/deployments/acme/findings/1", hosted, "", "hosted", http.StatusOK},
	} {
		h.token = c.token
		var headers []string
		if c.sent != "" {
			headers = []string{api.DialectHeader, c.sent}
		}
		a := h.send(c.method, c.path, "", headers...)
		if a.status != c.status || a.header.Get(api.DialectHeader) != c.want || !strings.Contains(strings.Join(a.header.Values("Vary"), ","), api.DialectHeader) {
			t.Errorf("%s %s as %q: %d in %q, %v", c.method, c.path, c.sent, a.status, a.header.Get(api.DialectHeader), a.header.Values("Vary"))
		}
	}
}

// TestFindingsHeader checks that each list of findings has a header with their number.
func TestFindingsHeader(t *testing.T) {
	h := newHosted(t)
	for _, c := range []struct{ method, path, body, at string }{
		{http.MethodGet, "/api/v1/deployments/acme/findings", "", "findings"},
		{http.MethodGet, "/api/v1/deployments/acme/findings/changes", "", "changed"},
		{http.MethodGet, "/api/v1/deployments/acme/secrets", "", "findings"},
		{http.MethodPost, "/api/v1/deployments/acme/ssc-vulns", "{}", "vulns"},
		{http.MethodPost, "/api/agent/deployments/acme/issues/v2", "{}", "issues"},
	} {
		a := h.send(c.method, c.path, c.body)
		var answer map[string]json.RawMessage
		var items []json.RawMessage
		if err := json.Unmarshal([]byte(a.body), &answer); err != nil || json.Unmarshal(answer[c.at], &items) != nil {
			t.Errorf("%s: %d %.200s", c.path, a.status, a.body)
			continue
		}
		if want := "count=" + core.Decimal(int64(len(items))) + `, at="` + c.at + `"`; a.header.Get(api.FindingsHeader) != want {
			t.Errorf("%s: %q, want %q", c.path, a.header.Get(api.FindingsHeader), want)
		}
	}
}

// TestSingleObjectsReturn304 checks that findings and projects return 304 to a client that has the
// same response. If-Match compares only the editable part.
func TestSingleObjectsReturn304(t *testing.T) {
	h := newHosted(t)
	tags := map[string]string{}
	for _, c := range []struct{ path, dialect string }{
		{"findings/1", "contract"}, {"findings/1", "hosted"}, {"projects/acme/payments", "contract"},
	} {
		path := "/api/v1/deployments/acme/" + c.path
		tag := h.send(http.MethodGet, path, "", api.DialectHeader, c.dialect).header.Get("ETag")
		tags[c.path+c.dialect] = tag
		if a := h.send(http.MethodGet, path, "", api.DialectHeader, c.dialect, "If-None-Match", tag); a.status != http.StatusNotModified || a.body != "" || a.header.Get("ETag") != tag {
			t.Errorf("%s in %s: %d %q", c.path, c.dialect, a.status, a.body)
		}
	}
	if tags["findings/1contract"] == tags["findings/1hosted"] {
		t.Error("two dialects have one tag")
	}
	for _, dialect := range []string{"hosted", "contract"} {
		if a := h.send(http.MethodPatch, "/api/v1/deployments/acme/findings/1", `{}`, "If-Match", tags["findings/1"+dialect]); a.status == http.StatusConflict {
			t.Errorf("%s", a.body)
		}
	}
	if _, err := h.client.TriageFindings(t.Context(), "acme", api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{1}, NewTriageState: "reviewing"}); err != nil {
		t.Fatal(err)
	}
	if a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings/1", "", api.DialectHeader, "contract", "If-None-Match", tags["findings/1contract"]); a.status != http.StatusOK {
		t.Errorf("the ETag is unchanged after a triage: %d", a.status)
	}
}

// TestHostedSupplyChainPolicyIsNotFound checks that a policy that the hosted list omits is not found.
func TestHostedSupplyChainPolicyIsNotFound(t *testing.T) {
	h := newHosted(t)
	path := "/api/v1/deployments/acme/policies/" + h.policyOf("PRODUCT_TYPE_SCA")
	h.wantProblem(h.send(http.MethodGet, path, ""), api.CodeNotFound)
	if a := h.send(http.MethodGet, path, "", api.DialectHeader, string(model.DialectContract)); a.status != http.StatusOK || !strings.Contains(a.body, "PRODUCT_TYPE_SCA") {
		t.Errorf("%d %.200s", a.status, a.body)
	}
}

// policyOf returns the id of the policy of a product.
func (h *harness) policyOf(product string) string {
	h.t.Helper()
	list, err := h.client.ListPolicies(h.t.Context(), "acme")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range list.Policies {
		if p.ProductType == product {
			return p.ID
		}
	}
	h.t.Fatalf("no policy of %s", product)
	return ""
}

// TestUnknownFiltersAreRejected checks that counts, exports and changes reject unknown parameters,
// which clients could mistake for effective filters.
func TestUnknownFiltersAreRejected(t *testing.T) {
	h := newHosted(t)
	for _, dialect := range []string{"hosted", "contract"} {
		for _, path := range []string{"counts?severity=high", "export?tags=x", "changes?issue_type=sast", "changes?updatedSince=2026-01-01T00:00:00Z", "changes?since=2026-01-01T00:00:00Z", "changes?updated_since=bogus"} {
			h.wantProblem(h.send(http.MethodGet, "/api/v1/deployments/acme/findings/"+path, "", api.DialectHeader, dialect), api.CodeInvalidArgument)
		}
		for _, path := range []string{"counts?severities[]=high", "export?issue_type[0]=sast", "changes?limit=", "changes?updated_since=2026-01-01T00:00:00Z", "?tags=x"} {
			if a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings/"+path, "", api.DialectHeader, dialect); a.status != http.StatusOK {
				t.Errorf("%s: %d %s", path, a.status, a.body)
			}
		}
	}
}
