package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
)

// exported waits for an export and returns the address of its document.
func (s *site) exported(t testing.TB, body object) string {
	t.Helper()
	task := post[api.CreateSBOMExportResponse](t, s, "sbom/export", body).TaskToken
	s.clock.Advance(time.Second) // a job is due when the clock has caught up with the times of commits
	for range 500 {
		status, err := s.api().GetSBOMExport(t.Context(), s.deployment.Slug, task)
		if err != nil {
			t.Fatal(err)
		}
		switch status.Status {
		case "SBOM_EXPORT_STATUS_COMPLETED":
			if status.DownloadURL == "" || status.ErrorMessage != "" {
				t.Fatalf("completed as %+v", status)
			}
			return status.DownloadURL
		case "SBOM_EXPORT_STATUS_FAILED":
			t.Fatalf("export %v failed: %s", body, status.ErrorMessage)
		}
		if status.DownloadURL != "" {
			t.Fatalf("in progress as %+v", status)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("export %v never ended:\n%s", body, s.log.lines("job"))
	return ""
}

// testSBOM exports every format and version, and reads it without a token.
func testSBOM(t *testing.T, w *world) {
	project := object{"repositoryId": fmt.Sprint(w.projectID("group/tools"))}
	with := func(members ...any) object {
		body := object{"repositoryId": project["repositoryId"]}
		for i := 0; i < len(members); i += 2 {
			body[members[i].(string)] = members[i+1]
		}
		return body
	}
	format := func(name, version string) object { return object{"format": "SBOM_FORMAT_" + name, "version": version} }
	const asXML, cdxJSON, cdxXML, spdx = "SBOM_OUTPUT_FORMAT_CYCLONEDX", "application/vnd.cyclonedx+json", "application/vnd.cyclonedx+xml", "application/spdx+json"
	for name, c := range map[string]struct {
		body        object
		media, mark string
	}{
		"by default":       {with(), cdxJSON, `"specVersion": "1.5"`},
		"1.4":              {with("formatVersion", format("CYCLONEDX", "1.4")), cdxJSON, `"specVersion": "1.4"`},
		"1.5":              {with("formatVersion", format("CYCLONEDX", "1.5")), cdxJSON, `"specVersion": "1.5"`},
		"1.6":              {with("formatVersion", format("CYCLONEDX", "1.6"), "sbomOutputFormat", "SBOM_OUTPUT_FORMAT_JSON"), cdxJSON, `"specVersion": "1.6"`},
		"1.6 otherwise":    {with("formatVersion", object{"cyclonedxVersion": "SBOM_CYCLONE_DX_VERSION_V1_6"}), cdxJSON, `"specVersion": "1.6"`},
		"1.4 xml":          {with("formatVersion", format("CYCLONEDX", "1.4"), "sbomOutputFormat", asXML), cdxXML, `http://cyclonedx.org/schema/bom/1.4`},
		"1.6 xml":          {with("formatVersion", format("CYCLONEDX", "1.6"), "sbomOutputFormat", asXML), cdxXML, `http://cyclonedx.org/schema/bom/1.6`},
		"spdx":             {with("formatVersion", format("SPDX", "2.3")), spdx, `"SPDX-2.3"`},
		"component":        {with("metadataComponentType", "SBOM_METADATA_COMPONENT_TYPE_CYCLONE_DX_V15_FIRMWARE"), cdxJSON, `"firmware"`},
		"supplier":         {with("metadataSupplier", object{"name": "Acme Supplier", "url": "https://acme.example.com", "contact": object{"email": "a@acme.example.com"}}), cdxJSON, `Acme Supplier`},
		"a ref":            {object{"repositoryId": w.projectID("acme/payments"), "ref": "feature/x"}, cdxJSON, `only-on-branch`},
		"all of it":        {object{}, cdxJSON, `pkg:pypi/django@4.2.1`},
		"vulnerabilities":  {with(), cdxJSON, `CVE-2025-`},
		"the id of a copy": {with("deploymentId", w.deployment.ID), cdxJSON, `lodash`},
	} {
		document, media, err := w.api("").DownloadSBOM(t.Context(), w.exported(t, c.body))
		plain := strings.ReplaceAll(string(document), `":"`, `": "`)
		if err != nil || !strings.HasPrefix(media, c.media) || !strings.Contains(plain, c.mark) {
			t.Errorf("%s: %v, %s without %s: %.300s", name, err, media, c.mark, plain)
		}
	}
}

func testSBOMRefusals(t *testing.T, w *world) {
	for _, c := range []struct {
		body object
		bad  []string
	}{
		{object{"formatVersion": object{"format": "SBOM_FORMAT_SWID"}}, []string{"body.formatVersion.format"}},
		{object{"formatVersion": object{"version": "1.9"}}, []string{"body.formatVersion.version"}},
		{object{"formatVersion": object{"format": "SBOM_FORMAT_SPDX", "version": "1.5"}}, []string{"body.formatVersion.version"}},
		{object{"metadataComponentType": "X", "sbomOutputFormat": "Y"}, []string{"body.metadataComponentType", "body.sbomOutputFormat"}},
		{object{"repositoryId": "x"}, []string{"body.repositoryId"}},
		{object{"deploymentId": "1"}, []string{"body.deploymentId"}},
	} {
		t.Run(fmt.Sprint(c.body), func(t *testing.T) {
			invalid(t, w.send(t, request{method: "POST", path: "sbom/export", body: c.body}), c.bad...)
		})
	}
	for _, id := range []any{4000000000, "4000000000"} {
		refused(t, w.send(t, request{method: "POST", path: "sbom/export", body: object{"repositoryId": id}}), 404, api.CodeNotFound)
	}
}

// testSBOMDownloadURL checks that an address serves its document until it expires, and that an altered
// address is rejected.
func testSBOMDownloadURL(t *testing.T, w *world) {
	other := w.exported(t, object{"repositoryId": w.projectID("group/tools")})
	address := w.exported(t, object{})
	if a := w.send(t, request{method: "GET", path: address, token: "-"}); a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	task := func(address string) string { return strings.Split(address, "/")[9] }
	signature := address[strings.Index(address, "signature="):]
	for name, altered := range map[string]string{
		"the signature":      address + "x",
		"no signature":       strings.TrimSuffix(address, signature),
		"an empty one":       strings.TrimSuffix(address, signature) + "signature=",
		"a later end":        strings.Replace(address, "expires=1", "expires=9", 1),
		"another task":       strings.Replace(address, task(address), task(other), 1),
		"another deployment": strings.Replace(address, w.root(), "/api/v1/deployments/"+fmt.Sprint(w.rival.ID), 1),
		"an unknown task":    strings.Replace(address, task(address), "task_none", 1),
	} {
		if a := w.send(t, request{method: "GET", path: altered, token: "-"}); a.status != http.StatusForbidden && a.status != http.StatusBadRequest {
			t.Errorf("%s: status %d: %.200s", name, a.status, a.body)
		}
	}
	w.clock.Advance(time.Hour)
	if a := w.send(t, request{method: "GET", path: address, token: "-"}); a.status != 200 {
		t.Errorf("at its end it returns %d", a.status)
	}
	w.clock.Advance(time.Second)
	refused(t, w.send(t, request{method: "GET", path: address, token: "-"}), 403, api.CodePermissionDenied)
}
