package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/testutil/doctest"
)

// TestExitCodesOfImport checks that each exit code in exit-codes.md occurs as documented.
func TestExitCodesOfImport(t *testing.T) {
	codes := doctest.ExitCodes(t, "../../docs/reference/exit-codes.md", "| exit code | result of `redoubt import` |")
	if diff := cmp.Diff([]string{"0", "1", "2", "3"}, codes); diff != "" {
		t.Fatalf("docs/reference/exit-codes.md (-here +there):\n%s", diff)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"whole/go.mod":   "module a.example/b\n",
		"partly/go.mod":  "module a.example/b\n",
		"partly/uv.lock": "[[[",
		"broken/uv.lock": "[[[",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	data := t.TempDir()
	if out, err := exec.Command("redoubt", "deployment", "create", "--data", data, "acme").CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, test := range []struct {
		code int
		args []string
	}{
		{0, []string{"whole"}},
		{1, []string{"broken"}},
		{1, []string{"nowhere"}},
		{1, []string{"--strict", "partly"}},
		{2, []string{"--no-such-flag", "whole"}},
		{3, []string{"partly"}},
	} {
		cmd := exec.Command("redoubt", append([]string{"import", "--data", data, "--project", "acme/app"}, test.args...)...)
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != test.code {
			t.Errorf("%q ends with %d, want %d (%v):\n%s", test.args, got, test.code, err, out)
		}
	}
}
