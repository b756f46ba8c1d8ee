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

// Results returns a report of semgrep with n findings, each in a file of its own.
func Results(n int, path string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(
			`{"check_id":"eqeq","path":"%s%d.py","start":{"line":1,"col":1,"offset":0},"end":{"line":1,"col":5,"offset":4},`+
				`"extra":{"message":"no","severity":"ERROR","metadata":{},"lines":"x == %d","fingerprint":"%s-%d",`+
				`"engine_kind":"OSS"}}`, path, i, i, path, i))
	}
	return `{"version":"1.180.0","results":[` + strings.Join(list, ",") + `],"errors":[],"paths":{"scanned":["` +
		path + `0.py"]}}`
}
