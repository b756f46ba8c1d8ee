package programtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// Ready is the ready file of a server.
type Ready struct {
	BaseURL        string `json:"base_url"`
	DeploymentID   string `json:"deployment_id"`
	DeploymentSlug string `json:"deployment_slug"`
	Token          string `json:"token"`
	SetupURL       string `json:"setup_url,omitempty"`
	SignInURL      string `json:"sign_in_url,omitempty"`
}

// WaitReady waits for the ready file of a server that has not ended.
func WaitReady(t testing.TB, file string, ended <-chan error) (r Ready) {
	t.Helper()
	for end := time.Now().Add(WaitAtMost); time.Now().Before(end); {
		if text, err := os.ReadFile(file); err == nil {
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			return r
		}
		select {
		case err := <-ended:
			t.Fatalf("the server stopped before it was ready: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("no server was ready within %v", WaitAtMost)
	return r
}

// Output collects the output of a process. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the output until now.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Wait waits until the output contains a text.
func (o *Output) Wait(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(WaitAtMost); !strings.Contains(o.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the output does not contain %q:\n%s", text, o)
		}
	}
}

// Results returns a semgrep report with n findings in separate files.
func Results(n int, path string) string {
	results := make([]reporttest.Result, n)
	for i := range results {
		results[i] = reporttest.Result{
			Rule: "eqeq", Path: fmt.Sprintf("%s%d.py", path, i), EndColumn: 5, Message: "no", Code: fmt.Sprintf("x == %d", i),
			Fingerprint: fmt.Sprintf("%s-%d", path, i),
		}
	}
	return string(reporttest.SemgrepOf([]string{path + "0.py"}, results...))
}
