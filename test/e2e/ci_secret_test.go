package e2e

import (
	"bytes"
	"encoding/hex"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// Secrets of the repository. The first exists from the start, the second is added by a branch, and
// the third is reported by another scanner.
const (
	ciSecret     = "tok_0123456789abcdef"
	branchSecret = "tok_fedcba9876543210"
	leakedSecret = "correct-horse-battery"
)

// secrets lists rule and place of each open or fixed secret.
func (w *ciWorld) secrets() (locations []string) {
	w.Helper()
	for _, s := range w.secretRows("") {
		locations = append(locations, s.RuleHashID+" "+s.FindingPath)
	}
	return locations
}

func (w *ciWorld) secretRows(ref string) (list []api.Secret) {
	w.Helper()
	for s, err := range w.client().Secrets(w.Context(), "1", api.SecretsQuery{}) {
		if err != nil {
			w.Fatal(err)
		}
		if ref == "" || s.Ref == ref {
			list = append(list, s)
		}
	}
	return list
}

// blockSecret adds a secret on a branch: a blocking rule fails the build until a bulk triage
// ignores the secret.
func blockSecret(w *ciWorld) {
	w.write("keys.py", `K = "`+branchSecret+"\"\n")
	w.commit("add a key")
	w.want(0, "feature", "--baseline-commit", "main")
	added := w.secretRows("refs/heads/feature")
	if len(added) != 1 || added[0].FindingPath != "keys.py:1" || added[0].Status != "FINDING_STATUS_OPEN" || added[0].Mode != "MODE_MONITOR" || added[0].Type != "Example" {
		w.Fatalf("the branch's secrets are %+v", added)
	}
	w.redoubt("policy", "set-mode", "hardcoded-token", "block")
	r := w.want(1, "feature", "--baseline-commit", "main")
	if !strings.Contains(r.stderr, "hardcoded-token at keys.py:1") {
		w.Errorf("the scanner does not print why it blocks:\n%s", r.stderr)
	}
	if mode := w.secretRows("refs/heads/feature")[0].Mode; mode != "MODE_BLOCK" {
		w.Errorf("the mode is %s", mode)
	}
	answer, err := w.client().TriageFindings(w.Context(), "acme", api.TriageRequest{
		IssueType: "secrets", NewTriageState: "ignored", NewTriageReason: "acceptable_risk", TriageFilter: api.TriageFilter{Ref: "feature"},
	})
	if err != nil || answer.NumTriaged != 1 {
		w.Fatalf("triage of the branch's secrets: %+v, %v", answer, err)
	}
	w.want(0, "feature", "--baseline-commit", "main")
	if status := w.secretRows("refs/heads/feature")[0].Status; status != "FINDING_STATUS_IGNORED" {
		w.Errorf("the secret is %s", status)
	}
	w.redoubt("policy", "set-mode", "hardcoded-token", "monitor")
}

// importSecrets imports the scanner's output of the newest uploaded scan, including secrets, and a
// report of another scanner. During the first import, the server is killed.
func importSecrets(w *ciWorld) {
	r := w.newest
	if !bytes.Contains(r.stdout, []byte(ciSecret)) {
		w.Fatalf("the scanner prints no code:\n%s", r.stdout)
	}
	before := w.secretRows("refs/heads/main")
	w.mu.Lock()
	w.kill["imports"] = true
	w.mu.Unlock()
	if _, err := w.imports(r.stdout); err == nil {
		w.Error("the server responds after it was killed")
	}
	if status, err := w.imports(r.stdout); err != nil || status != http.StatusOK {
		w.Errorf("the import returns %d, %v", status, err)
	}
	format := func(s api.Secret) string { return s.ID + " " + s.FindingPath + " " + s.Status }
	after := w.secretRows("refs/heads/main")
	if diff := cmp.Diff(each(before, format), each(after, format)); diff != "" || len(before) != 1 {
		w.Errorf("the same scan as a report is not the same secrets (-scan +report):\n%s", diff)
	}
	leak := `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"gitleaks"}},"results":[{"ruleId":"generic-api-key","message":{"text":"found ` + leakedSecret + `"},
		"locations":[{"physicalLocation":{"artifactLocation":{"uri":"conf.py"},"region":{"startLine":2,"snippet":{"text":"` + leakedSecret + `"}}}}]}]}]}`
	if status, err := w.imports([]byte(leak)); err != nil || status != http.StatusOK {
		w.Errorf("the other scanner's import returns %d, %v", status, err)
	}
	if got := w.secretRows("refs/heads/main"); len(got) != len(before)+1 {
		w.Errorf("with the other scanner's there are %d secrets, were %d", len(got), len(before))
	}
	w.stop() // without flushing logs
	w.checkNoSecret()
	w.start()
}

func each[T, V any](list []T, of func(T) V) []V {
	out := make([]V, len(list))
	for i := range list {
		out[i] = of(list[i])
	}
	return out
}

func (w *ciWorld) imports(report []byte) (status int, err error) {
	w.Helper()
	query := url.Values{"project": {"acme/shop"}, "ref": {"main"}, "diff": {"true"}}
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.proxy.URL+"/api/v1/deployments/1/imports?"+query.Encode(), bytes.NewReader(report))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.ready.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// noSecret searches for the secrets in all data written since the start.
func noSecret(w *ciWorld) { w.checkNoSecret() }

// checkNoSecret searches the data directory, the server's log and, for PostgreSQL, the files and a
// dump of the database.
func (w *ciWorld) checkNoSecret() {
	w.Helper()
	dirs := []string{w.data, w.log.Name()}
	if w.storage[0] == "--database-url" {
		dirs = append(dirs, strings.TrimSpace(string(w.postgres("psql", "-At", "-c", "SHOW data_directory", w.storage[1]))))
		w.checkFile("the dump", w.postgres("pg_dump", w.storage[1]))
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return ignoreNotExist(err)
			}
			text, err := os.ReadFile(path)
			w.checkFile(path, text)
			return ignoreNotExist(err)
		})
		if err != nil {
			w.Error(err)
		}
	}
}

// ignoreNotExist ignores files that the running database deleted.
func ignoreNotExist(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

func (w *ciWorld) checkFile(name string, text []byte) {
	w.Helper()
	for _, secret := range []string{ciSecret, branchSecret, leakedSecret} {
		for _, spelling := range []string{secret, hex.EncodeToString([]byte(secret))} {
			if bytes.Contains(text, []byte(spelling)) {
				w.Errorf("%s contains the secret %s", name, secret)
			}
		}
	}
}

// postgres runs one of PostgreSQL's programs. If it is not in PATH, it is searched for in the
// directory of the server.
func (w *ciWorld) postgres(program string, args ...string) []byte {
	w.Helper()
	path, err := exec.LookPath(program)
	if installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + program); err != nil && len(installed) > 0 {
		path = slices.Max(installed)
	}
	cmd := exec.Command(path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		w.Fatalf("%s: %v: %s", program, err, stderr.Bytes())
	}
	return out
}
