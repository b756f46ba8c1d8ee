package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// clients returns the folder with third-party clients that setup installs.
func clients(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("REDOUBT_TEST_CLIENTS")
	if folder == "" {
		t.Skip("REDOUBT_TEST_CLIENTS names no folder with third-party clients: run make setup, which installs them into .cache/clients, and make test")
	}
	return folder
}

// script returns the path of a program in testdata that runs a client. It opens the file, so that
// the go command does not reuse cached test results after a change of the program.
func script(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("testdata", "clients", name)
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// hostedToken returns a token for clients of the hosted service.
func (w *world) hostedToken(t *testing.T) string {
	return w.newToken(t, model.Token{Name: "hosted", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}, Dialect: model.DialectHosted})
}

// same compares the JSON of the data that a client read with that of the existing data.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	expected, read := inJSON(t, want), inJSON(t, got)
	if list, ok := expected.([]any); !ok || len(list) == 0 {
		t.Errorf("%s: there is nothing to read", what)
	}
	if diff := cmp.Diff(expected, read); diff != "" {
		t.Errorf("%s: the stored rows differ from the response (-stored +response):\n%.4000s", what, diff)
	}
}

// inJSON converts a value to its JSON form.
func inJSON(t *testing.T, v any) (out any) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
