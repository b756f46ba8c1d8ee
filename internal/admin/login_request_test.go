package admin

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestOperatorApprovesScannersOnly checks that an operator can approve scanners, but not
// applications, which act for a user who must decide.
func TestOperatorApprovesScannersOnly(t *testing.T) {
	storage := config.Storage{Data: storetest.Empty(t, "sqlite").Dir}
	var out bytes.Buffer
	a := &command.App{Ctx: t.Context(), Out: &out, Err: &out, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(storage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateDeployment(t.Context(), "acme", "", storetest.Actor); err != nil {
		t.Fatal(err)
	}
	for code, program := range map[string]model.LoginProgram{"SCAN-NERS": {}, "PROG-RAMS": {ClientHash: []byte("client")}} {
		if _, err := st.AddLogin(t.Context(), model.LoginRequest{KeyHash: []byte(code), Code: code, Address: "192.0.2.7", Program: program}); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	var invalid *model.InvalidError
	if err := (tokenApproveCmd{Tenant: command.Tenant{Storage: storage}, Code: "PROG-RAMS"}).Run(a); !errors.As(err, &invalid) {
		t.Errorf("a program: %v", err)
	}
	if err := (tokenApproveCmd{Tenant: command.Tenant{Storage: storage}, Code: " scan ners"}).Run(a); err != nil || !strings.Contains(out.String(), "SCAN-NERS") {
		t.Errorf("a scanner: %v, %s", err, out.String())
	}
	out.Reset()
	if err := (TokenRequestsCmd{storage}).Run(a); err != nil || !strings.Contains(out.String(), "PROG-RAMS") || strings.Contains(out.String(), "SCAN-NERS") {
		t.Errorf("who waits then: %v, %s", err, out.String())
	}
}
