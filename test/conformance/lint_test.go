package conformance

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpenAPIPassesLinter checks openapi.json with the recommended rules of redocly's linter. A
// broken document must fail.
func TestOpenAPIPassesLinter(t *testing.T) {
	tools := os.Getenv("REDOUBT_TEST_GENERATORS")
	if tools == "" {
		t.Skip("REDOUBT_TEST_GENERATORS names no folder with redocly's linter: run make setup, which installs it into .cache/generators, and make test")
	}
	lint := func(document string) string {
		return string(run(t, exec.CommandContext(t.Context(), "node", "testdata/lint/lint.cjs", filepath.Join(tools, "node_modules"), document)))
	}
	const published = "../../api/openapi.json"
	if output := lint(published); output != "" {
		t.Errorf("the linter printed:\n%s", output)
	}
	text, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(t.TempDir(), "openapi.json")
	text = bytes.Replace(text, []byte(`"operationId": "ping"`), []byte(`"operationId": "listFindings"`), 1)
	if err := os.WriteFile(broken, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if output := lint(broken); !strings.Contains(output, "operation-operationId-unique") {
		t.Errorf("for a duplicate operation ID the linter prints %q", output)
	}
}
