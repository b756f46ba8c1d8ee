package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// hostile must not reach a terminal unchanged: it clears the screen, contains 8-bit control
// sequences, reverses text, and forges a row.
const hostile = "x\x1b[2Jy\u009b2Jz\u202eu\nforged row"

// seedHostile stores the text in all fields that accept it.
func seedHostile(t *testing.T, st *store.Store) {
	ctx := t.Context()
	d, err := st.CreateDeployment(ctx, "acme", hostile, storetest.Actor)
	if err != nil {
		t.Fatal(err)
	}
	err = st.Update(ctx, d.ID, model.Actor{Kind: "cli", Name: hostile}, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.CreateProject(ctx, model.Project{Name: "acme/app", Tags: []string{hostile}}); err != nil {
			return err
		}
		if _, err := tx.CreateToken(ctx, model.Token{PublicID: "public", Name: hostile, Scopes: []model.Scope{model.ScopeCI}}, []byte("hash")); err != nil {
			return err
		}
		if _, err := tx.AddException(ctx, model.Exception{State: model.ExceptionActive, Target: hostile, Reason: hostile, Paths: []string{hostile}, TriageReason: model.AcceptableRisk}); err != nil {
			return err
		}
		_, err := tx.SaveVEX(ctx, model.VEXDocument{Name: hostile, Author: hostile, IssuedAt: tx.Now(), ReceivedAt: tx.Now()}, model.VEXDocument{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = st.AddFailedAttempt(ctx, model.FailedAttempt{DeploymentID: d.ID, Name: "run", Step: model.FailedStorage, Repository: hostile, Ref: hostile, Cause: hostile, Agent: hostile})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.AddLogin(ctx, model.LoginRequest{KeyHash: []byte("k"), Code: "ABCD-2345", Address: hostile, Agent: hostile}); err != nil {
		t.Fatal(err)
	}
}

// TestListsEscapeStoredText runs every command that lists names from users, scanners and
// reports, as main does.
func TestListsEscapeStoredText(t *testing.T) {
	storage := config.Storage{Data: storetest.Empty(t, "sqlite").Dir}
	var out bytes.Buffer
	a := &command.App{Ctx: t.Context(), Out: &command.Printable{To: &out}, Err: &command.Printable{To: &out}, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ, OpenInProcess: openInProcess}
	st, err := a.Create(storage)
	if err != nil {
		t.Fatal(err)
	}
	seedHostile(t, st)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	all := command.Tenant{Storage: storage}
	for name, list := range map[string]interface{ Run(*command.App) error }{
		"deployment list": admin.DeploymentListCmd{Storage: storage}, "project list": cli.ProjectsListCmd{Flags: webapi.Flags{Reach: webapi.Reach{Storage: storage}, Output: "table"}}, "token list": admin.TokenListCmd{Tenant: all},
		"token requests": admin.TokenRequestsCmd{Storage: storage}, "exceptions list": cli.ExceptionsListCmd{Flags: webapi.Flags{Reach: webapi.Reach{Storage: storage}, Output: "table"}},
		"scan failures": cli.ScansFailuresCmd{Tenant: all, Limit: 10}, "audit": admin.AuditCmd{Tenant: all, Limit: 100},
	} {
		out.Reset()
		if err := list.Run(a); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := a.End(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out.String(), `\u001b[2J`) && name != "project list" { // the store rejects such a tag
			t.Errorf("%s does not show what is there:\n%q", name, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if model.HasControls(strings.TrimRight(line, "\n")) || strings.HasPrefix(line, "forged") {
				t.Errorf("%s prints %q", name, line)
			}
		}
	}
}
