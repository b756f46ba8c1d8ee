package lockfile_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// notLockfiles returns texts that no package manager writes.
func notLockfiles() map[string]string {
	noise := make([]byte, 4096)
	source := rand.NewChaCha8([32]byte{1})
	source.Read(noise)
	return map[string]string{
		"prose":    "The build failed last night.\nSee the log of the server, and try again: nothing was written.\n\nThis is not the file that you look for.\n",
		"log":      "npm ERR! code ENOTFOUND\nnpm ERR! network request failed\nError: the registry could not be reached\n",
		"noise":    string(noise),
		"zeros":    strings.Repeat("\x00", 512),
		"JSON":     `{"status":404,"message":"no such file","items":[1,2,{"a":null}]}`,
		"list":     `[{"a":1},{"b":2}]`,
		"TOML":     "title = \"an example\"\n\n[owner]\nname = \"a name\"\nsince = 2020-01-01\n",
		"YAML":     "kind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 2\n  items:\n    - one\n    - two\n",
		"XML":      "<?xml version=\"1.0\"?>\n<catalog>\n  <book id=\"1\"><title>One</title></book>\n</catalog>\n",
		"HTML":     "<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><p>Sign in to go on.</p></body></html>\n",
		"Markdown": "# Read me\n\nThis project has *no* dependencies at all.\n\n- one point here\n- two points there\n",
		"pointer":  "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
	}
}

// readsAs returns the number of dependencies in a text, or the error.
func readsAs(t *testing.T, name, text string) (int, error) {
	t.Helper()
	reports, err := report.Read(strings.NewReader(text), report.Options{Name: name, Format: report.Lockfile})
	var broken *report.FileError
	if err != nil {
		if !errors.As(err, &broken) || broken.Advice == "" && !strings.Contains(err.Error(), "TOML") && !strings.Contains(err.Error(), "YAML") &&
			broken.Offset < 0 && !strings.Contains(err.Error(), "expected") {
			t.Errorf("%s: the error says too little: %v", name, err)
		}
		return 0, err
	}
	return len(reports[0].Inventories[0].Dependencies), nil
}

// TestLockfilesEmpty checks that a lockfile without dependencies results in an empty inventory.
func TestLockfilesEmpty(t *testing.T) {
	covered := map[string]bool{}
	for _, c := range lockfileCases {
		covered[lockfile.KindOf(c.name).Name] = true
		for _, text := range c.empty {
			if n, err := readsAs(t, c.name, text); n != 0 || err != nil {
				t.Errorf("%s: %q gave %d dependencies, %v", c.name, text, n, err)
			}
		}
	}
	for _, kind := range lockfile.Kinds() {
		if !covered[kind.Name] {
			t.Errorf("no case for %s", kind.Name)
		}
	}
}

// TestUnrelatedFilesAreRejected checks that other files with the name of a lockfile are an error, and not
// an empty inventory (docs/reference/lockfiles.md).
func TestUnrelatedFilesAreRejected(t *testing.T) {
	for _, c := range lockfileCases {
		for what, text := range notLockfiles() {
			if n, err := readsAs(t, c.name, text); err == nil {
				t.Errorf("%s: %s was taken as %d dependencies", c.name, what, n)
			}
		}
		for _, text := range c.bad {
			if n, err := readsAs(t, c.name, text); err == nil {
				t.Errorf("%s: %q was taken as %d dependencies", c.name, text, n)
			}
		}
		for _, other := range lockfileCases {
			if sameKind := lockfile.Ecosystem(c.name) == lockfile.Ecosystem(other.name); sameKind || strings.HasSuffix(c.name, ".txt") {
				continue
			}
			for _, text := range other.empty {
				if n, err := readsAs(t, c.name, text); err == nil && strings.TrimSpace(text) != "" {
					t.Errorf("%s: %q of %s was taken as %d dependencies", c.name, text, other.name, n)
				}
			}
		}
	}
}

// TestTruncatedLockfiles truncates lockfiles at every position. If the format allows detection, the
// result is an error or all dependencies.
func TestTruncatedLockfiles(t *testing.T) {
	cuts := 500 // of each file
	if testing.Short() {
		cuts = 50
	}
	detectable := map[string]bool{}
	for _, c := range lockfileCases {
		detectable[lockfile.KindOf(c.name).Name] = c.cut
	}
	for _, name := range inputs(t) {
		if kind := lockfile.KindOf(name); kind == nil || !detectable[kind.Name] || strings.Contains(name, "made/pnpm6") || strings.Contains(name, "made/pnpm5") || strings.Contains(name, "made/pnpm12") {
			continue // a valid prefix in pnpm 8 and 12; an incomplete graph in pnpm5
		}
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		want := len(readOne(t, name, string(data)).Inventories[0].Dependencies)
		for i := 0; i < len(data); i += 1 + len(data)/cuts {
			reports, err := report.Read(bytes.NewReader(data[:i]), report.Options{Name: name, Format: report.Lockfile})
			if err != nil {
				continue
			}
			if got := len(reports[0].Inventories[0].Dependencies); got != want {
				t.Errorf("%s: %d of %d bytes gave %d of %d dependencies", name, i, len(data), got, want)
				break
			}
		}
	}
}

// TestMissingGraphEntriesAreDetected checks that missing entries at the end of a file are detected if the file
// contains the whole graph.
func TestMissingGraphEntriesAreDetected(t *testing.T) {
	for _, name := range []string{"real/cargo/Cargo.lock", "real/uv/uv.lock"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		last := bytes.LastIndex(data, []byte("\n[[package]]"))
		_, err = report.Read(bytes.NewReader(data[:last]), report.Options{Name: name})
		if !errors.Is(err, read.ErrTruncated) {
			t.Errorf("%s without its last package: %v", name, err)
		}
	}
}

// TestLockfilesEdited checks that edited lockfiles and those of unusual versions are accepted.
func TestLockfilesEdited(t *testing.T) {
	for name, text := range map[string]string{
		"gradle.lockfile": " # io.grpc:grpc-api:1.21.1=classpath\n org.springframework:spring-asm:3.1.3.RELEASE=classpath, runtimeClasspath\nempty=\n",
		"pnpm-lock.yaml": "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      debug:\n        specifier: 4.3.4\n        version: 4.3.4(supports-color@8.1.1)\n" +
			"packages:\n  debug@4.3.4: {}\nsnapshots:\n  debug@4.3.4(supports-color@8.1.1):\n    optionalDependencies:\n      supports-color: 8.1.1\n",
		"requirements.txt": "flask==2.0.1\n{% if dev %}\n",
	} {
		if n, err := readsAs(t, name, text); n != 1 || err != nil {
			t.Errorf("%s: %d dependencies, %v", name, n, err)
		}
	}
}
