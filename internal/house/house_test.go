package house

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the module's folder, seen from this package's.
const root = "../.."

func TestHouse(t *testing.T) {
	src, err := readSource(os.DirFS(root), trackedFiles(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, broken := range r.check(src) {
				t.Error(broken)
			}
		})
	}
}

// The SQLite driver is generated against one version of libc; another one compiles and then misbehaves.
func TestLibcPin(t *testing.T) {
	const sqlite, libc = "modernc.org/sqlite", "modernc.org/libc"
	driver := strings.TrimSpace(output(t, "go", "list", "-m", "-f", "{{.GoMod}}", sqlite))
	ours := required(t, filepath.Join(root, "go.mod"), libc)
	theirs := required(t, driver, libc)
	if ours != theirs {
		t.Errorf("go.mod requires %s %s, but the %s it uses was made for %s: run go get %s@%s", libc, ours, sqlite, theirs, libc, theirs)
	}
}

// Who adds a dependency looks at its licence, and writes it down.
func TestThirdParty(t *testing.T) {
	named, err := os.ReadFile(filepath.Join(root, "internal", "about", "THIRD_PARTY.md"))
	if err != nil {
		t.Fatal(err)
	}
	direct := map[string]bool{}
	for _, r := range requirements(t, filepath.Join(root, "go.mod")) {
		direct[r.Path] = !r.Indirect
		if !r.Indirect && !bytes.Contains(named, []byte("\n| "+r.Path+" |")) {
			t.Errorf("THIRD_PARTY.md does not name %s: add its row, with its licence", r.Path)
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (\S+\.\S+/\S+) \|`).FindAllSubmatch(named, -1) {
		if !direct[string(row[1])] {
			t.Errorf("THIRD_PARTY.md names %s, which go.mod does not require (any more): take its row out", row[1])
		}
	}
}

// requirement is a module that a go.mod file requires.
type requirement struct {
	Path, Version string
	Indirect      bool
}

func requirements(t *testing.T, goMod string) []requirement {
	t.Helper()
	var parsed struct{ Require []requirement }
	if err := json.Unmarshal([]byte(output(t, "go", "mod", "edit", "-json", goMod)), &parsed); err != nil {
		t.Fatalf("%s: %v", goMod, err)
	}
	return parsed.Require
}

// required is the version of a module that a go.mod file requires.
func required(t *testing.T, goMod, module string) string {
	t.Helper()
	for _, r := range requirements(t, goMod) {
		if r.Path == module {
			return r.Version
		}
	}
	t.Fatalf("%s does not require %s", goMod, module)
	return ""
}

// trackedFiles lists what is under version control, or everything where there is none (a source archive).
func trackedFiles(t *testing.T) []string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Log("no version control here, so no tracked files to read")
		return nil
	}
	return strings.Split(strings.TrimRight(output(t, "git", "-C", root, "ls-files", "-z"), "\x00"), "\x00")
}

// output runs a command and returns what it prints.
func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	return string(out)
}
