package apihttp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestHostedBodiesIgnoreOtherPaging checks that paging members of other APIs are ignored, but only
// in reads of the hosted dialect.
func TestHostedBodiesIgnoreOtherPaging(t *testing.T) {
	h := newHosted(t)
	for _, path := range []string{"dependencies", "dependencies/repositories", "scans/search", "ssc-vulns"} {
		for _, member := range []string{"page", "limit", "offset"} {
			url, body := "/api/v1/deployments/acme/"+path, `{"`+member+`":1}`
			if a := h.send(http.MethodPost, url, body); a.status != http.StatusOK {
				t.Errorf("%s %s: %d %s", path, body, a.status, a.body)
			}
			known := path == "scans/search" && member == "limit" || path == "ssc-vulns" && member == "page"
			if a := h.send(http.MethodPost, url, body, api.DialectHeader, "contract"); (a.status == http.StatusOK) != known {
				t.Errorf("%s %s in the contract: %d", path, body, a.status)
			}
		}
	}
	triage := `{"issue_type":"sast","status":"open","new_note":"x","page":2}`
	if a := h.send(http.MethodPost, "/api/v1/deployments/acme/triage", triage); a.status != http.StatusBadRequest {
		t.Errorf("a page of a write: %d %s", a.status, a.body)
	}
}

// TestHostedValuesAreCaseInsensitive checks that the hosted dialect ignores case and spaces of enumerated values.
func TestHostedValuesAreCaseInsensitive(t *testing.T) {
	h := newHosted(t)
	for folded, plain := range map[string]string{
		"issue_type=sca&exposures=always%20reachable":         "issue_type=sca&exposures=always_reachable",
		"issue_type=sca&exposures=No%20Reachability+Analysis": "issue_type=sca&exposures=unknown",
		"severities=HIGH,Medium":                              "severities=high,medium",
		"status=OPEN":                                         "status=open",
		"issue_type=sca&transitivities=DIRECT":                "issue_type=sca&transitivities=direct",
		"status=Provisionally%20Ignored":                      "status=provisionally_ignored",
		"issue_type=SCA":                                      "issue_type=sca",
		"issue_type=AI%20SAST,Sca":                            "issue_type=ai_sast,sca",
	} {
		got, want := h.send(http.MethodGet, "/api/v1/deployments/acme/findings?"+folded, ""), h.send(http.MethodGet, "/api/v1/deployments/acme/findings?"+plain, "")
		if want.status != http.StatusOK || got.status != http.StatusOK || got.body != want.body {
			t.Errorf("%s: %d %.200s; %s: %d", folded, got.status, got.body, plain, want.status)
		}
		if a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings?"+folded, "", api.DialectHeader, "contract"); a.status != http.StatusBadRequest {
			t.Errorf("%s in the contract: %d", folded, a.status)
		}
	}
	for _, query := range []string{"severities=hi", "issue_type=sca&transitivities=no_reachability_analysis"} {
		if a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings?"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, a.status)
		}
	}
}

// TestLicenseFilterReportsMissingPolicy checks that a header marks an empty list of blocked
// licenses.
func TestLicenseFilterReportsMissingPolicy(t *testing.T) {
	h := newHosted(t)
	for body, want := range map[string]string{
		`{"dependencyFilter":{"licensePolicySettings":["LICENSE_POLICY_SETTING_BLOCK"]}}`: "none", `{}`: "",
	} {
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/dependencies", body)
		if got := a.header.Get("Redoubt-License-Policy"); a.status != http.StatusOK || got != want {
			t.Errorf("%s: %d, header %q, want %q", body, a.status, got, want)
		}
	}
}

// TestIDsHave32Bits checks the limit of ids in bodies and queries, as numbers and as strings.
func TestIDsHave32Bits(t *testing.T) {
	h := newHarness(t)
	for id, want := range map[string]int{
		`4294967295`: http.StatusOK, `"4294967295"`: http.StatusOK, `"0000000000001"`: http.StatusOK,
		`4294967296`: http.StatusBadRequest, `"4294967296"`: http.StatusBadRequest, `999999999999999`: http.StatusBadRequest,
	} {
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/triage", `{"issue_type":"sast","issue_ids":[`+id+`],"new_note":"x"}`)
		if a.status != want {
			t.Errorf("%s: %d %s", id, a.status, a.body)
		}
	}
}

// TestAlternativeInputFormats checks forms that RFC 8259 and ISO 8601 permit.
func TestAlternativeInputFormats(t *testing.T) {
	h := newHarness(t)
	for _, body := range []string{
		"\xef\xbb\xbf{}", "\xef\xbb\xbf", `{"since":"2026-01-01 00:00:00"}`, `{"since":"2026-01-01 00:00:00.5+00:00"}`,
		`{"since":"20260101T000000Z"}`, `{"since":"20260101T000000"}`, `{"since":"20260101"}`,
	} {
		if a := h.send(http.MethodPost, "/api/v1/deployments/acme/scans/search", body); a.status != http.StatusOK {
			t.Errorf("%q: %d %s", body, a.status, a.body)
		}
	}
	for _, body := range []string{"{\xef\xbb\xbf}", `{"since":"20261301"}`, `{"since":"2026-0101"}`, `{"since":"20260101 "}`} {
		if a := h.send(http.MethodPost, "/api/v1/deployments/acme/scans/search", body); a.status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", body, a.status, a.body)
		}
	}
}

// TestProjectsAreNotSubResources checks that a project name cannot collide with the address of a
// project's tags or settings.
func TestProjectsAreNotSubResources(t *testing.T) {
	h := newHarness(t)
	for _, part := range model.ProjectParts {
		part = "/" + part
		for name, want := range map[string]int{"grp/own" + part: http.StatusBadRequest, "grp" + part: http.StatusOK} {
			if a := h.send(http.MethodPost, "/api/v1/deployments/acme/projects", `{"name":"`+name+`"}`); a.status != want {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
	}
}

// TestOpenAPIAtRootPath checks that /openapi.json leads to the document.
func TestOpenAPIAtRootPath(t *testing.T) {
	h := newHarness(t)
	a := h.send(http.MethodGet, "/openapi.json", "", "Authorization", "")
	if a.status == http.StatusOK && strings.Contains(a.body, `"openapi"`) {
		return // the client followed a redirect
	}
	if a.status != http.StatusPermanentRedirect || a.header.Get("Location") != "/api/v1/openapi.json" {
		t.Errorf("%d, to %q", a.status, a.header.Get("Location"))
	}
}

// TestRejectedIDsAreExplained checks that errors contain the limit and not the pattern that checks
// it.
func TestRejectedIDsAreExplained(t *testing.T) {
	h := newHosted(t)
	for _, id := range []string{"4294967296", `"4294967296"`, `"abc"`, "-1", "1.5"} {
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/scans/search", `{"repository_id":`+id+`}`)
		if a.status != http.StatusBadRequest || strings.Contains(a.body, "[0-9]") || !strings.Contains(a.body, "4294967295") {
			t.Errorf("%s: %d %s", id, a.status, a.body)
		}
	}
}
