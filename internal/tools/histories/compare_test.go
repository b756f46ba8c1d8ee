package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCompareCountsFieldsOfOneSide(t *testing.T) {
	a, b, c := location{"r", "a.go", 1, 1}, location{"r", "a.go", 1, 9}, location{"r", "b.go", 1, 1}
	var r result
	r.compare(map[int64]finding{1: {location: a}, 2: {location: b}}, map[location]bool{a: true, c: true})
	if r.missing != 1 || r.extra != 1 {
		t.Errorf("%d missing and %d extra, want c missing and b, of another column, extra", r.missing, r.extra)
	}
	r.compare(map[int64]finding{1: {location: c}}, map[location]bool{c: true})
	if r.missing != 1 || r.extra != 1 {
		t.Errorf("%d missing and %d extra, though the second commit is alike", r.missing, r.extra)
	}
	if r.commits != 2 || r.fewest != 1 || r.most != 2 {
		t.Errorf("%d commits of %d to %d findings, want 2 of 1 to 2", r.commits, r.fewest, r.most)
	}
}

func TestFollowCountsHops(t *testing.T) {
	at := func(path string, line int, text string) finding { return finding{location{"r", path, line, 1}, text} }
	before := map[int64]finding{1: at("a.go", 1, "f(x)"), 2: at("a.go", 2, "f(y)")}
	for _, c := range []struct {
		name           string
		after          map[int64]finding
		retained, hops int
	}{
		{"nothing happened", before, 2, 0},
		{"both moved down", map[int64]finding{1: at("a.go", 11, "f(x)"), 2: at("a.go", 12, "f(y)")}, 2, 0},
		{"one put above took the first's place", map[int64]finding{1: at("a.go", 1, "f(z)"), 2: at("a.go", 2, "f(x)"), 3: at("a.go", 3, "f(y)")}, 2, 2},
		{"the same, as it shall be", map[int64]finding{3: at("a.go", 1, "f(z)"), 1: at("a.go", 2, "f(x)"), 2: at("a.go", 3, "f(y)")}, 2, 0},
		{"one was edited: its old text is gone", map[int64]finding{1: at("a.go", 1, "f(x, 1)"), 2: at("a.go", 2, "f(y)")}, 2, 0},
		{"the file moved", map[int64]finding{1: at("b.go", 1, "f(y)"), 2: at("b.go", 2, "f(x)")}, 0, 0},
	} {
		var r result
		r.follow(before, c.after)
		if r.retained != c.retained || r.hops != c.hops {
			t.Errorf("%s: %d stored, %d hops, want %d and %d", c.name, r.retained, r.hops, c.retained, c.hops)
		}
	}
}

func TestMatchedText(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("a := f(\n\tx,\n)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := matchedText(dir, location{"", "a.go", 1, 6}, 3, 2); err != nil || got != "f( x, )" {
		t.Errorf("matched %q, %v", got, err)
	}
	for _, p := range []location{{"", "a.go", 9, 1}, {"", "b.go", 1, 1}} {
		if got, err := matchedText(dir, p, 9, 2); err == nil {
			t.Errorf("%v matched %q without an error", p, got)
		}
	}
}

func TestArchivesMatchList(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gin-1.3.0.zip"), []byte("another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readSteps(dir, []string{"gin=gin-1.3.0.zip"}); err == nil || !strings.Contains(err.Error(), "archives.sha256") {
		t.Errorf("another archive of that name: %v", err)
	}
	line := fmt.Sprintf("%x  gin-1.3.0.zip\n", sha256.Sum256([]byte("another")))
	t.Cleanup(func(was string) func() { return func() { archiveSums = was } }(archiveSums))
	archiveSums += line
	if steps, names, err := readSteps(dir, []string{"gin=gin-1.3.0.zip"}); err != nil || len(names) != 1 || len(steps["gin"]) != 1 {
		t.Errorf("an archive of the list: %v, %v, %v", steps, names, err)
	}
}

// TestSourceDistributionsAreUnpacked checks that the directory with the version and the files of
// the packager are omitted.
func TestSourceDistributionsAreUnpacked(t *testing.T) {
	var packed bytes.Buffer
	deflated := gzip.NewWriter(&packed)
	files := tar.NewWriter(deflated)
	for _, name := range []string{"requests-2.9.1/setup.py", "requests-2.9.1/requests/api.py", "requests-2.9.1/PKG-INFO", "requests-2.9.1/requests.egg-info/SOURCES.txt", "requests-2.9.1/../../out.py"} {
		if err := errors.Join(files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: 1}), write(files, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(files.Close(), deflated.Close()); err != nil {
		t.Fatal(err)
	}
	archive, dir := filepath.Join(t.TempDir(), "requests-2.9.1.tar.gz"), filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(archive, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpack(archive, dir); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			got = append(got, name)
		}
		return err
	})
	if want := []string{"requests/api.py", "setup.py"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("unpacked %q, %v, want %q", got, err, want)
	}
}

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}
