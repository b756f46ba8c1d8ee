package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestScannerHomeIsHidden checks that a scanner can read its installation, but not the home
// directory that contains its link or file.
func TestScannerHomeIsHidden(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		t.Helper()
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	link := func(name, to string) {
		t.Helper()
		name = filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(home, to), name); err != nil {
			t.Fatal(err)
		}
	}
	write(".ssh/id_ed25519")
	write("bin/semgrep")
	write(".local/lib/python3.11/site-packages/semgrep/main.py")
	write("venvs/semgrep/pyvenv.cfg")
	write("venvs/semgrep/bin/semgrep")
	link("venvs/semgrep/bin/python3", "pythons/3.11/bin/python3")
	write("pythons/3.11/bin/python3")
	write("pythons/3.11/bin/semgrep")
	write("pythons/3.11/lib/python3.11/os.py")
	link(".local/bin/semgrep", "venvs/semgrep/bin/semgrep")
	for program, want := range map[string]string{
		"bin/semgrep":               "bin/semgrep",
		".local/bin/semgrep":        ".local/bin/semgrep pythons/3.11 venvs/semgrep venvs/semgrep/bin/semgrep",
		"venvs/semgrep/bin/semgrep": "pythons/3.11 venvs/semgrep venvs/semgrep/bin/semgrep",
		"pythons/3.11/bin/semgrep":  "pythons/3.11 pythons/3.11/bin/semgrep",
	} {
		var got []string
		for _, part := range scannerParts(filepath.Join(home, program)) {
			got = append(got, strings.TrimPrefix(part, home+"/"))
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s is shown %v, want %s", program, got, want)
		}
	}
}
