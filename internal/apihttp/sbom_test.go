package apihttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestSBOMExportFromJobToDownload(t *testing.T) {
	notified := 0
	h := newHarness(t)
	h.store.OnQueued(func() { notified++ })
	ctx := t.Context()
	started, err := h.client.CreateSBOMExport(ctx, "acme", api.CreateSBOMExportRequest{FormatVersion: &api.FormatVersion{CycloneDXVersion: "SBOM_CYCLONE_DX_VERSION_V1_6"}})
	if err != nil || notified != 1 {
		t.Fatalf("started: %+v, %v, told %d times", started, err, notified)
	}
	status, err := h.client.GetSBOMExport(ctx, "acme", started.TaskToken)
	if err != nil || status.Status != "SBOM_EXPORT_STATUS_IN_PROGRESS" || status.DownloadURL != "" {
		t.Errorf("status: %+v, %v", status, err)
	}
	h.clock.Advance(time.Second)
	job, err := storetest.Claim(ctx, h.store, time.Minute, dependencies.SBOMJob)
	if err != nil || job == nil {
		t.Fatalf("claim: %+v, %v", job, err)
	}
	var requested model.SBOMRequest
	if err := json.Unmarshal(job.Input, &requested); err != nil || requested.Version != "1.6" || requested.ComponentType != "application" || requested.XML {
		t.Errorf("requested %+v, %v", requested, err)
	}
	if err := h.store.FinishJob(ctx, *job, []byte("<bom/>"), "application/vnd.cyclonedx+xml; version=1.6"); err != nil {
		t.Fatal(err)
	}
	status, err = h.client.GetSBOMExport(ctx, "acme", started.TaskToken)
	if err != nil || status.Status != "SBOM_EXPORT_STATUS_COMPLETED" {
		t.Fatalf("status: %+v, %v", status, err)
	}
	document, media, err := (&api.Client{}).DownloadSBOM(ctx, status.DownloadURL)
	if err != nil || string(document) != "<bom/>" || !strings.HasPrefix(media, "application/vnd.cyclonedx+xml") {
		t.Errorf("downloaded %q as %q, %v", document, media, err)
	}
	address := strings.TrimPrefix(status.DownloadURL, h.url)
	for _, altered := range []string{strings.Replace(address, "expires=1", "expires=2", 1), address + "x", strings.Replace(address, "/task_", "/task_a", 1), strings.Replace(address, "/deployments/", "/deployments/0", 1)} {
		h.wantProblem(h.send(http.MethodGet, altered, "", "Authorization", ""), api.CodePermissionDenied)
	}
	h.clock.Advance(dependencies.DownloadFor + time.Second)
	h.wantProblem(h.send(http.MethodGet, address, "", "Authorization", ""), api.CodePermissionDenied)
}

func TestSBOMRequests(t *testing.T) {
	h := newHarness(t)
	h.importFindings()
	const target = "/api/v1/deployments/acme/sbom/export"
	for _, body := range []string{
		``, `{"repositoryId":1,"ref":"main"}`, `{"formatVersion":{"format":"SBOM_FORMAT_SPDX"}}`, `{"formatVersion":{"version":1.4},"sbomOutputFormat":"SBOM_OUTPUT_FORMAT_CYCLONEDX"}`,
		`{"metadataSupplier":{"name":"Acme","url":"https://acme.example.com","contact":{"email":"a@example.com"}},"metadata_component_type":"SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_MACHINE_LEARNING_MODEL"}`,
	} {
		body = strings.ReplaceAll(body, `"repositoryId":1`, `"repositoryId":`+h.projectID())
		if a := h.send(http.MethodPost, target, body); a.status != http.StatusOK || !contains(a.body, `"taskToken":"task_`) {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	for body, code := range map[string]string{
		`{"formatVersion":{"version":"2.0"}}`:                                                               api.CodeInvalidArgument,
		`{"formatVersion":{"version":"1.5","cyclonedxVersion":"SBOM_CYCLONE_DX_VERSION_V1_4"}}`:             api.CodeInvalidArgument,
		`{"formatVersion":{"format":"SBOM_FORMAT_SPDX"},"sbomOutputFormat":"SBOM_OUTPUT_FORMAT_CYCLONEDX"}`: api.CodeInvalidArgument,
		`{"metadataComponentType":"APPLICATION"}`:                                                           api.CodeInvalidArgument,
		`{"repositoryId":"x"}`:      api.CodeInvalidArgument,
		`{"repositoryId":"999999"}`: api.CodeNotFound,
	} {
		h.wantProblem(h.send(http.MethodPost, target, body), code)
	}
}

// projectID returns the id of the imported project.
func (h *harness) projectID() string {
	h.t.Helper()
	p, err := h.client.GetProject(h.t.Context(), "acme", "acme/payments")
	if err != nil {
		h.t.Fatal(err)
	}
	return core.Decimal(p.Project.ID)
}

// TestSBOMExportsOfOneTokenAreBounded checks that exports over the limit return 429 with a retry
// delay, and that a repeated request returns the same job.
func TestSBOMExportsOfOneTokenAreBounded(t *testing.T) {
	h := newHarness(t)
	h.token = h.newToken(model.Token{Name: "reader", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}})
	const target = "/api/v1/deployments/acme/sbom/export"
	first := h.send(http.MethodPost, target, `{}`)
	if repeated := h.send(http.MethodPost, target, `{}`); repeated.status != http.StatusOK || repeated.body != first.body {
		t.Errorf("repeated: %d %s, want %s", repeated.status, repeated.body, first.body)
	}
	for i := range 19 {
		if a := h.send(http.MethodPost, target, fmt.Sprintf(`{"ref":"r%d"}`, i)); a.status != http.StatusOK {
			t.Fatalf("export %d: %d %s", i, a.status, a.body)
		}
	}
	refused := h.send(http.MethodPost, target, `{"ref":"one-more"}`)
	h.wantProblem(refused, api.CodeRateLimited)
	if refused.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
}
