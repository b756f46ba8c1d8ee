package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// clients is the folder with other people's clients that setup installs.
func clients(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("REDOUBT_TEST_CLIENTS")
	if folder == "" {
		t.Skip("REDOUBT_TEST_CLIENTS names no folder with other people's clients: run make setup, which installs them into .cache/clients, and make test")
	}
	return folder
}

// script is a program of testdata that runs a client. It is opened here too, so that
// a result that the go command kept is not taken for one of a changed program.
func script(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("testdata", "clients", name)
	if _, err := os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// hostedToken is a token for clients of the hosted service.
func (w *world) hostedToken(t *testing.T) string {
	return w.newToken(t, model.Token{Name: "hosted", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}, Dialect: model.DialectHosted})
}

// same compares what a client read with what there is, by what both are in JSON.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	there, read := inJSON(t, want), inJSON(t, got)
	if list, ok := there.([]any); !ok || len(list) == 0 {
		t.Errorf("%s: there is nothing to read", what)
	}
	if diff := cmp.Diff(there, read); diff != "" {
		t.Errorf("%s: what is there, and what was read (-there +read):\n%.4000s", what, diff)
	}
}

// inJSON is a value as JSON has it.
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
