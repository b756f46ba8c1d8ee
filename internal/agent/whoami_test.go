package agent_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// tokenOf returns a token of a new user.
func (w *world) tokenOf(user model.User, scopes ...model.Scope) (string, model.User) {
	w.Helper()
	err := w.store.Update(w.Context(), w.deployment.ID, model.Actor{Kind: "cli"}, func(ctx context.Context, tx *store.Tx) (err error) {
		user, err = tx.CreateUser(ctx, user, model.RoleViewer)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return w.newToken(model.Token{Name: "of " + user.Name, UserID: user.ID, Scopes: scopes}), user
}

// TestTokenUser checks the user of a token with all required members, and the error for a token
// without a user.
func TestTokenUser(t *testing.T) {
	w := newWorld(t, "sqlite")
	token, ada := w.tokenOf(model.User{Name: "ada", DisplayName: "Ada Lovelace"}, model.ScopeWebAPI, model.ScopeReadOnly)
	status, text := w.send(http.MethodGet, "/api/auth/users/current", token, nil)
	var got struct{ User map[string]any }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	w.same("ada", map[string]any{"id": float64(ada.ID), "name": "Ada Lovelace", "email": "", "login": "ada"}, got.User)
	if status, text = w.send(http.MethodGet, "/api/auth/users/current", w.token, nil); status != http.StatusNotFound {
		t.Errorf("of a token that no user made: %d %s", status, text)
	}
	if status, text = w.send(http.MethodGet, "/api/auth/users/current", "", nil); status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", status, text)
	}
}

// identifyUserScript runs the code of semgrep mcp that identifies the user of an OAuth token.
const identifyUserScript = `
import os, sys
from semgrep.mcp.utilities.utils import get_current_user_from_jwt
from semgrep.state import SemgrepState
import click
with click.Context(click.Command("mcp"), obj=SemgrepState()):
    sys.stdout.write(get_current_user_from_jwt(os.environ["TOKEN"]).model_dump_json())
`

// TestAssistantReadsTokenUser checks the response with the assistant's own code.
func TestAssistantReadsTokenUser(t *testing.T) {
	semgrep := os.Getenv("REDOUBT_TEST_SEMGREP")
	if semgrep == "" {
		t.Skip("REDOUBT_TEST_SEMGREP names no semgrep: make setup installs it")
	}
	w := newWorld(t, "sqlite")
	token, _ := w.tokenOf(model.User{Name: "ada"}, model.ScopeWebAPI)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(semgrep), "python"), "-c", identifyUserScript)
	cmd.Env = append(os.Environ(), "SEMGREP_URL="+w.web.URL, "TOKEN="+token, "NO_PROXY=127.0.0.1", "SEMGREP_SETTINGS_FILE="+filepath.Join(t.TempDir(), "settings.yml"))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil || !strings.Contains(string(text), `"name":"ada"`) || !strings.Contains(string(text), `"login":"ada"`) {
		t.Errorf("%s, %v", text, err)
	}
}
