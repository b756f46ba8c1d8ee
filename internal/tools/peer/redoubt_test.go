package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The program itself takes a whole round as it is meant: what this tool asks of it, and
// what it counts, would otherwise show only beside a DefectDojo.
func TestARoundOnRedoubt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Setenv(databaseVariable, "") // SQLite alone
	home := t.TempDir()
	program := filepath.Join(home, "redoubt")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "../../../cmd/redoubt").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	started, err := serveAll(t.Context(), program, home)
	for _, s := range started {
		defer s.stop()
	}
	if err != nil {
		t.Fatal(err)
	}
	m := newMeter([]server{started[0]}, options{findings: decided, rounds: 1, wait: 5 * time.Minute})
	if err := m.round(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := m.describe(t.Context(), &said, "1"); err != nil || !strings.Contains(said.String(), "Redoubt, SQLite: redoubt ") {
		t.Errorf("%v: %s", err, said.String())
	}
}
