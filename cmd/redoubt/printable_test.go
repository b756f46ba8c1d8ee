package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// hostile is what no terminal may get: it clears the screen, begins a sequence
// in 8 bits, turns text around, and makes a row of its own.
const hostile = "x\x1b[2Jy\u009b2Jz\u202eu\nforged row"

// seedHostile stores it wherever the store takes it, however it got there.
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

// TestListsObeyNothingThatIsStored runs every command that lists what people,
// scanners and reports named, as main does.
func TestListsObeyNothingThatIsStored(t *testing.T) {
	storage := config.Storage{Data: storetest.Empty(t, "sqlite").Dir}
	var out bytes.Buffer
	a := &app{ctx: t.Context(), out: &printable{to: &out}, err: &printable{to: &out}, clock: time.Now, log: slog.New(slog.DiscardHandler), getenv: os.Getenv, environ: os.Environ, openBeside: openBeside}
	st, err := a.create(storage)
	if err != nil {
		t.Fatal(err)
	}
	seedHostile(t, st)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	all := tenant{Storage: storage}
	for name, list := range map[string]interface{ Run(*app) error }{
		"deployment list": deploymentListCmd{storage}, "project list": projectsListCmd{webAPI: webAPI{reach{Storage: storage}, "table"}}, "token list": tokenListCmd{all},
		"token requests": tokenRequestsCmd{storage}, "exceptions list": exceptionsListCmd{webAPI: webAPI{reach{Storage: storage}, "table"}},
		"scan failures": scansFailuresCmd{tenant: all, Limit: 10}, "audit": auditCmd{tenant: all, Limit: 100},
	} {
		out.Reset()
		if err := list.Run(a); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := a.end(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(out.String(), `\u001b[2J`) && name != "project list" { // the store takes no such tag
			t.Errorf("%s does not show what is there:\n%q", name, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if model.HasControls(strings.TrimRight(line, "\n")) || strings.HasPrefix(line, "forged") {
				t.Errorf("%s prints %q", name, line)
			}
		}
	}
}
