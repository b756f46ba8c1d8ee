package e2e

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

// TestClientSemgrep runs the scanner's commands that use a server, and records them in the table of
// clients.
func TestClientSemgrep(t *testing.T) {
	w := newCIWorld(t, "sqlite")
	version := clienttest.Pinned(t, "semgrep")
	for _, command := range []struct {
		name, verdict string
		run           func(*ciWorld)
	}{
		{"semgrep ci", "prints the stored results", firstScan},
		{"semgrep login", "receives a token after approval, and scans with it", login},
		{"semgrep show", "`identity` and `deployment` print correct data", show},
	} {
		t.Run(command.name, func(step *testing.T) {
			before := len(w.requests())
			w.T = step
			defer func() { w.T = t }()
			command.run(w)
			clienttest.CheckRow(step, clienttest.Client{Name: command.name, Version: version, Requests: w.requests()[before:], Verdict: command.verdict})
		})
	}
}

// show runs the scanner's command that prints its identity and server.
func show(w *ciWorld) {
	printed := func(what string) string {
		cmd := exec.CommandContext(w.Context(), w.semgrep, "show", what)
		cmd.Env = w.env("main")
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.Fatalf("semgrep show %s: %v\n%s", what, err, out)
		}
		return string(out)
	}
	me, err := w.client().Me(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if output := printed("identity"); !strings.Contains(output, me.Token.Name) || !strings.Contains(output, me.Token.ID) || !strings.Contains(output, "deployment "+me.Deployment.Slug) {
		w.Errorf("the identity of %+v: %s", me, output)
	}
	output := printed("deployment")
	var got struct {
		ID          int64
		Name, Slug  string
		DisplayName string `json:"display_name"`
	}
	if err := json.Unmarshal([]byte(output[strings.IndexByte(output+"{", '{'):]), &got); err != nil {
		w.Fatalf("%v: %s", err, output)
	}
	d := me.Deployment
	if diff := cmp.Diff([]any{d.ID, d.Slug, d.Slug, d.Name}, []any{got.ID, got.Name, got.Slug, got.DisplayName}); diff != "" {
		w.Errorf("the deployment (-there +shown):\n%s", diff)
	}
}
