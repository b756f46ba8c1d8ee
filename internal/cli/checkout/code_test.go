package checkout

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// TestCodeOutsideCheckoutIsNotRead checks that no path in a report leads to a file outside of the checkout.
func TestCodeOutsideCheckoutIsNotRead(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	file := func(name string, text []byte) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file(filepath.Join(outside, "passwd"), []byte("root:x\n"))
	file(filepath.Join(dir, "a b/ü.py"), []byte("x == x\n"))
	file(filepath.Join(dir, "latin.py"), []byte("# caf\xe9\n"))
	file(filepath.Join(dir, "binary"), []byte("\x7fELF\x00\x01"))
	file(filepath.Join(dir, "large"), make([]byte, maxCodeFile+1))
	file(filepath.Join(dir, ".git/config"), []byte("[remote]\n"))
	file(filepath.Join(dir, "sub/.GIT/config"), []byte("[remote]\n"))
	for name, to := range map[string]string{"out": filepath.Join(outside, "passwd"), "dir": outside, "up": "../" + filepath.Base(outside) + "/passwd", "in": "a b/ü.py", "loop": "loop", "x.js": ".git/config", "folder": "a b"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := Reader{Root: root, Blanker: &secrets.Blanker{}, Left: map[string]string{}}
	for name, want := range map[string]string{"a b/ü.py": "x == x\n", "latin.py": "# caf\uFFFD\n"} {
		if got, err := c.read(name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{
		"", ".", "..", "../" + filepath.Base(outside) + "/passwd", filepath.Join(outside, "passwd"), "out", "dir/passwd", "up", "loop", "in", "x.js", "folder/ü.py", "a b", "a b/../../x", "no.py", "x\x00y",
		".git/config", "sub/.GIT/config", "a b/../.git/config", "binary", "large", "/etc/passwd", `C:\x`,
	} {
		if text, err := c.read(name); err == nil || text != "" {
			t.Errorf("%q was read: %.40q", name, text)
		} else if strings.Contains(err.Error(), outside) {
			t.Errorf("%q: %v", name, err)
		}
	}
	locations := []model.SnippetLocation{{FindingID: 1, Path: "a b/ü.py", Line: 1, EndLine: 1}, {FindingID: 2, Path: "out", Line: 1, EndLine: 1}, {FindingID: 3, Path: "latin.py", Line: 9, EndLine: 9}}
	c.ReadSecrets([]Wanted{{1, locations}})
	got := c.Snippets(locations)
	if len(got) != 1 || got[0].FindingID != 1 || !slices.Equal(got[0].Lines, []string{"x == x"}) {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff(map[string]string{"out": "the path contains a symbolic link", "latin.py": "the file has no line 9"}, c.Left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}
