package mcp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/mcp"
)

// posted sends a body and returns the response. It fails after 20 seconds, because no request may
// stay open.
func (w *world) posted(body, version, method string) (status int, text string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+mcp.Path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+w.token)
	if version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	if method != "" {
		r.Header.Set("Mcp-Method", method)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.Fatalf("%.100s: %v", body, err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatalf("%.100s: the answer stays open: %v, after %s", body, err, all)
	}
	return resp.StatusCode, string(all)
}

// TestBatchesAreRefused checks that batches are rejected: one would count as one request for rate
// limits.
func TestBatchesAreRefused(t *testing.T) {
	w := newWorld(t, "")
	one := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25"} {
		for _, body := range []string{"[" + one + "]", " \r\n\t[" + one + strings.Repeat(","+one, 5000) + "]", "[]", "[" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "]", "[1"} {
			status, text := w.posted(body, version, "")
			var answer struct {
				JSONRPC string
				ID      any
				Error   struct {
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil || status != http.StatusBadRequest || answer.JSONRPC != "2.0" || answer.ID != nil ||
				answer.Error.Code != -32600 || !strings.Contains(answer.Error.Message, "batches") {
				t.Errorf("%q %.40q: %d %.300s, %v", version, body, status, text, err)
			}
		}
		if status, text := w.posted("\n "+one, version, ""); status != http.StatusOK || !strings.Contains(text, "search_findings") {
			t.Errorf("%q, a message alone: %d %.300s", version, status, text)
		}
	}
	if status, _ := w.posted(strings.Repeat(" ", 1<<20)+one, "", ""); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of 1 MiB and more: %d", status)
	}
}

// TestEveryRequestIsCompleted checks that every request is completed, and that subscriptions are not
// supported.
func TestEveryRequestIsCompleted(t *testing.T) {
	w := newWorld(t, "")
	const (
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		want = `"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["redoubt://me"]}`
	)
	for _, c := range []struct{ version, method, params, contains string }{
		{"2026-07-28", "subscriptions/listen", meta + "," + want, "result"},
		{"", "subscriptions/listen", want, "result"},
		{"2025-11-25", "subscriptions/listen", want, "result"},
		{"2026-07-28", "server/discover", meta, "capabilities"},
		{"2025-11-25", "initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}`, `"tools":{}`},
		{"2025-11-25", "resources/subscribe", `"uri":"redoubt://me"`, "error"},
		{"2025-11-25", "notifications/initialized", "", ""},
		{"2025-11-25", "nonsense", "", ""},
		{"2025-11-25", "ping", "", "result"},
		{"2025-11-25", "logging/setLevel", `"level":"debug"`, ""},
	} {
		status, text := w.posted(`{"jsonrpc":"2.0","id":7,"method":"`+c.method+`","params":{`+c.params+`}}`, c.version, c.method)
		if !strings.Contains(text, c.contains) || strings.Contains(text, `"listChanged":true`) || strings.Contains(text, `"toolsListChanged":true`) {
			t.Errorf("%s %s: %d %s", c.version, c.method, status, text)
		}
	}
}
