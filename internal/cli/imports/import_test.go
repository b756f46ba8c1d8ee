package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/checkout"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// importer imports files of a directory into a separate database.
type importer struct {
	*testing.T
	storage config.Storage
	at      string // working directory: paths of lockfiles are relative to it
}

func newImporter(t *testing.T, engine string) *importer {
	c := storetest.Empty(t, engine)
	w := &importer{T: t, storage: config.Storage{Data: c.Dir, DatabaseURL: config.Secret(c.DatabaseURL), KeyFile: filepath.Join(t.TempDir(), "key")}, at: t.TempDir()}
	a := &command.App{Ctx: t.Context(), Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
	st, err := a.Create(w.storage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreateDeployment(t.Context(), "acme", "acme", model.Actor{Kind: "cli"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	t.Chdir(w.at)
	return w
}

func (w *importer) write(name, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

// run imports files, and returns the response, the standard error and the exit code.
func (w *importer) run(c Command, files ...string) (out api.ImportResponse, messages string, exit int) {
	w.Helper()
	var stdout, stderr bytes.Buffer
	a := &command.App{Ctx: w.Context(), Out: &stdout, Err: &stderr, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
	c.Storage, c.Project, c.Ref, c.JSON, c.Files = w.storage, "acme/app", "main", true, files
	err := c.Run(a)
	var ended *command.ExitError
	switch {
	case errors.As(err, &ended):
		exit = ended.Code
	case err != nil:
		return out, err.Error(), 1
	}
	if bytes.Contains(stdout.Bytes(), []byte(`"gate"`)) {
		w.Error("the result contains a gate that was not evaluated")
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		w.Fatalf("%v in %s", err, stdout.Bytes())
	}
	return out, stderr.String(), exit
}

func npmLock(name string) string {
	return fmt.Sprintf(`{"name":"a","lockfileVersion":3,"packages":{"":{},"node_modules/%s":{"version":"1.0.0"}}}`, name)
}

// TestImportFolder imports 137 lockfiles, one of which is truncated in the second import. The
// others are imported, and the data of the truncated one stays (docs/reference/uploads.md).
func TestImportFolder(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w := newImporter(t, engine)
			const files = 137
			name := func(i int) string { return fmt.Sprintf("p%03d/package-lock.json", i) }
			for i := range files {
				w.write(name(i), npmLock(fmt.Sprint("dep-", i)))
			}
			out, messages, exit := w.run(Command{Full: true}, ".")
			if exit != 0 || messages != "" || out.Files != files || len(out.Unread) != 0 || out.Imports[0].Changes.Added != files {
				t.Fatalf("whole: exit code %d, %q, %d files, unread %v", exit, messages, out.Files, out.Unread)
			}
			w.write(name(7), npmLock("dep-7")[:40])
			w.write(name(8), npmLock("other"))
			if err := os.Remove(name(9)); err != nil {
				t.Fatal(err)
			}
			out, messages, exit = w.run(Command{Full: true}, ".")
			changes := out.Imports[0].Changes
			if exit != exitPartly || out.Files != files-2 || out.Given != files-1 || len(out.Unread) != 1 || out.Unread[0].Name != name(7) {
				t.Errorf("with one cut off: exit code %d, %d files, unread %v", exit, out.Files, out.Unread)
			}
			if !strings.Contains(messages, "1 of 136 ") || !strings.Contains(messages, "  "+name(7)+": ") {
				t.Errorf("it says %q", messages)
			}
			if diff := cmp.Diff(api.InventoryChange{Lockfiles: files - 2, Added: 1, Removed: 2, LockfilesDropped: []string{name(9)}}, changes); diff != "" {
				t.Errorf("the inventory (-want +got):\n%s", diff)
			}
			w.write(name(7), npmLock("dep-7"))
			if out, _, exit = w.run(Command{Full: true}, "."); exit != 0 || out.Imports[0].Changes.Added != 0 {
				t.Errorf("repaired: exit code %d, %+v", exit, out.Imports[0].Changes)
			}
			w.write(name(7), "{")
			if _, messages, exit = w.run(Command{Strict: true}, "."); exit != 1 || !strings.Contains(messages, name(7)) {
				t.Errorf("strict: exit code %d, %q", exit, messages)
			}
			w.write("twice/a/package-lock.json", npmLock("one"))
			w.write("twice/b/package-lock.json", npmLock("two"))
			for _, names := range [][]string{{"twice", "twice/a/package-lock.json"}, {"twice/a/package-lock.json", "./twice"}, {"twice", "twice/b"}} {
				if out, messages, exit = w.run(Command{}, names...); exit != 0 || out.Files != 2 {
					t.Errorf("%v: exit code %d, %d files, %q", names, exit, out.Files, messages)
				}
			}
			if _, messages, exit = w.run(Command{}, name(7)); exit != 1 || !strings.Contains(messages, name(7)) {
				t.Errorf("by itself: exit code %d, %q", exit, messages)
			}
		})
	}
}

// TestImportUnusualFolders checks the output for unusual contents of directories.
func TestImportUnusualFolders(t *testing.T) {
	w := newImporter(t, "sqlite")
	w.write("none/a/package-lock.json", "{")
	w.write("none/b/go.mod", "hello")
	if _, messages, exit := w.run(Command{}, "none"); exit != 1 || !strings.Contains(messages, "none/a/package-lock.json: ") || !strings.Contains(messages, "none/b/go.mod: ") {
		t.Errorf("none readable: exit code %d, %q", exit, messages)
	}

	w.write("odd/Manifest.toml", "julia_version = \"1.10.0\"\nmanifest_format = \"2.0\"\n\n[[deps.JSON]]\nuuid = \"682c06a0-de6a-54ab-a142-c8b1cf79cde6\"\nversion = \"0.21.4\"\n")
	w.write("odd/manifest.toml", "packages = [\n  { name = \"gleam_stdlib\", version = \"0.34.0\", build_tools = [\"gleam\"], requirements = [], source = \"hex\" },\n]\n\n[requirements]\n")
	w.write("odd/huge/pnpm-lock.yaml", "")
	for link, to := range map[string]string{"odd/loop": "../odd", "odd/go.mod": "go.mod", "odd/x.cdx.json": "/etc/passwd"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Truncate("odd/huge/pnpm-lock.yaml", 200<<20), syscall.Mkfifo("odd/package-lock.json", 0o644), os.Symlink("odd", "named")); err != nil {
		t.Fatal(err)
	}
	out, messages, exit := w.run(Command{}, "named")
	if exit != exitPartly || out.Files != 2 || out.Imports[0].Changes.Added != 2 || len(out.Unread) != 1 || !strings.Contains(out.Unread[0].Reason, "too large") {
		t.Errorf("exit code %d, %+v, unread %v", exit, out.Imports, out.Unread)
	}
	for _, name := range []string{"named/go.mod", "named/x.cdx.json", "named/package-lock.json"} {
		if !strings.Contains(messages, "redoubt: "+name) {
			t.Errorf("nothing is said of %s: %q", name, messages)
		}
	}

	// A bill of materials may list any lockfile. If it is unreadable, no lockfile counts as
	// removed.
	w.write("boms/package-lock.json", npmLock("a"))
	w.run(Command{}, "boms")
	w.write("boms/bom.json", `{"bomFormat":"CycloneDX","specVersion":"1.5","comp`)
	w.write("boms/go.mod", "module a.example/b\n")
	if err := os.Remove("boms/package-lock.json"); err != nil {
		t.Fatal(err)
	}
	out, messages, exit = w.run(Command{Full: true}, "boms")
	if exit != exitPartly || len(out.Imports[0].Changes.LockfilesDropped) != 0 || !strings.Contains(messages, "boms/bom.json") {
		t.Errorf("with a broken bill of materials: exit code %d, %+v, %q", exit, out.Imports, messages)
	}
	// An unreadable report that was named fails the whole import.
	w.write("report.sarif", `{"version":"2.1.0","runs":[`)
	if _, messages, exit = w.run(Command{}, "boms/go.mod", "report.sarif"); exit != 1 || !strings.Contains(messages, "report.sarif") {
		t.Errorf("with a broken report: exit code %d, %q", exit, messages)
	}
}

// TestImportRecordsSkippedFiles checks that files that cannot be opened, and pipes without a writer,
// are recorded.
func TestImportRecordsSkippedFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("go.mod", []byte("module a.example/b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	bar := newProgress(&bytes.Buffer{}, nil)
	r := &importReader{}
	list := []importFile{{disk: "go.mod", name: "go.mod", found: true}, {disk: "gone/package-lock.json", name: "gone/package-lock.json", found: true}}
	if err := r.readAll(t.Context(), list, bar); err != nil || r.read != 1 || len(r.unread) != 1 || r.unread[0].Reason != "no such file or directory" || r.incomplete {
		t.Errorf("%v: %+v", err, r.unread)
	}
	if got := checkout.Unreadable(&fs.PathError{Op: "open", Path: "/a", Err: syscall.EACCES}).Error(); !strings.HasPrefix(got, "permission denied: ") {
		t.Errorf("without permission: %q", got)
	}
	if err := syscall.Mkfifo("uv.lock", 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := r.readAll(ctx, []importFile{{disk: "uv.lock", name: "uv.lock"}}, bar); !errors.Is(err, context.Canceled) {
		t.Errorf("a pipe without a writer: %v", err)
	}
	names := slices.Collect(func(yield func(string) bool) {
		for _, f := range r.unread {
			if !yield(f.Name) {
				return
			}
		}
	})
	if diff := cmp.Diff([]string{"gone/package-lock.json"}, names); diff != "" {
		t.Errorf("the end of the command is taken for a fault of a file (-want +got):\n%s", diff)
	}
}
