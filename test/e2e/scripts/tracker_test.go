package scripts

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// tracker is an in-memory Jira Data Center with the operations that tickets need.
type tracker struct {
	mu     sync.Mutex
	down   bool
	issues []map[string]any // fields
}

// trackerScript starts a tracker at $TRACKER, or sets whether it responds.
func trackerScript(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 1 {
		t, _ := ts.Value("tracker").(*tracker)
		t.mu.Lock()
		t.down = args[0] == "down"
		t.mu.Unlock()
		return
	}
	t, _ := ts.Value("tracker").(*tracker)
	s := httptest.NewServer(t)
	ts.Defer(s.Close)
	ts.Setenv("TRACKER", s.URL)
}

// ServeHTTP responds in the documented formats.
func (t *tracker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var sent struct {
		Fields map[string]any
		JQL    string
	}
	_ = json.NewDecoder(r.Body).Decode(&sent) // requests may have no body
	switch key, isIssue := strings.CutPrefix(r.URL.Path, "/rest/api/2/issue/SEC-"); {
	case r.Header.Get("Authorization") != "Bearer jira-t0ken":
		w.WriteHeader(http.StatusUnauthorized)
	case t.down:
		w.WriteHeader(http.StatusBadGateway)
	case r.URL.Path == "/rest/api/2/myself":
		fmt.Fprint(w, `{"key":"bot","displayName":"Bot"}`)
	case r.URL.Path == "/rest/api/2/serverInfo":
		fmt.Fprint(w, `{"deploymentType":"Server"}`)
	case r.URL.Path == "/rest/api/2/search":
		fmt.Fprint(w, `{"issues":[`+t.search(sent.JQL)+`]}`)
	case r.URL.Path == "/rest/api/2/issue":
		t.issues = append(t.issues, sent.Fields)
		fmt.Fprintf(w, `{"key":"SEC-%d"}`, len(t.issues))
	case isIssue:
		fmt.Fprintf(w, `{"key":"SEC-%s","fields":{"status":{"statusCategory":{"key":"new"}}}}`, key)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// search returns the issue with a label in the query.
func (t *tracker) search(jql string) string {
	for i, fields := range t.issues {
		labels, _ := fields["labels"].([]any)
		for _, l := range labels {
			if strings.Contains(jql, fmt.Sprintf("labels = %q", l)) {
				return fmt.Sprintf(`{"key":"SEC-%d","fields":{"status":{"statusCategory":{"key":"new"}}}}`, i+1)
			}
		}
	}
	return ""
}

// madeScript waits until no ticket is requested.
func madeScript(ts *testscript.TestScript, _ bool, _ []string) {
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		status, text, err := sendRequest(ts, "GET", "/deployments/"+ts.Getenv("ID")+"/tickets", "")
		ts.Check(err)
		if status == http.StatusOK && !strings.Contains(text, `"state":"requested"`) {
			return
		}
	}
	ts.Fatalf("a ticket is still requested after %v", programtest.WaitAtMost)
}

// gitHostScript starts a Git host without authentication.
func gitHostScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: git-host FOLDER")
	}
	from, root := ts.MkAbs(args[0]), ts.MkAbs("host")
	backend, err := programtest.GitBackend(root)
	ts.Check(err)
	for _, words := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "-A"},
		{"-c", "user.name=ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "first"},
		{"clone", "-q", "--bare", from, filepath.Join(root, "acme", "payments.git")},
	} {
		ts.Check(ts.Exec("git", append([]string{"-C", from}, words...)...))
	}
	host := httptest.NewServer(backend)
	ts.Defer(host.Close)
	ts.Setenv("HOST", host.URL)
}
