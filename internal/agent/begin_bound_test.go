package agent_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestStartRequestSizeLimit checks the size limit of start requests, which are stored for a
// week, also for dry runs.
func TestStartRequestSizeLimit(t *testing.T) {
	w := newWorld(t, "sqlite")
	begin := func(url string, products, rules []string) int {
		status, _ := w.send(http.MethodPost, "/api/cli/v2/scans", w.token, w.encode(map[string]any{
			"project_metadata": map[string]any{"repository": "acme/demo", "repo_url": url, "branch": "main"},
			"scan_metadata":    map[string]any{"unique_id": "u", "dry_run": true, "requested_products": products, "partial_scan_rule_ids": rules},
		}))
		return status
	}
	const address = "https://h.example/"
	full := address + strings.Repeat("x", 2048-len(address))
	for _, c := range []struct {
		what            string
		url             string
		products, rules []string
		status          int
	}{
		{"a long address", full + "x", nil, nil, http.StatusBadRequest},
		{"many products", address, slices.Repeat([]string{"sast"}, 1001), nil, http.StatusBadRequest},
		{"many rules", address, nil, slices.Repeat([]string{"r"}, 1001), http.StatusBadRequest},
		{"long names of rules", address, nil, slices.Repeat([]string{strings.Repeat("r", 512)}, 1000), http.StatusRequestEntityTooLarge},
		{"as much as is accepted", full, slices.Repeat([]string{"sast"}, 1000), slices.Repeat([]string{strings.Repeat("r", 200)}, 1000), http.StatusOK},
	} {
		if status := begin(c.url, c.products, c.rules); status != c.status {
			t.Errorf("%s: %d, want %d", c.what, status, c.status)
		}
	}
}
