package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// written returns a file with a section of each kind.
func written(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	w.Section("numbers", Raw([]int64{3, -1}))
	w.Words("words", []string{"", "one", "two"})
	w.Texts("texts", []uint64{0, 3, 6}, []byte("onetwo"))
	if err := w.Finish(Heading{Deployment: 7, Version: 9, ID: "id", Findings: 2}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSectionRoundTrip(t *testing.T) {
	file := written(t)
	r, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Deployment != 7 || r.Version != 9 || r.ID != "id" || r.Findings != 2 {
		t.Errorf("heading %+v", r.Heading)
	}
	if numbers, err := ReadRaw[int64](r, "numbers"); err != nil || !slices.Equal(numbers, []int64{3, -1}) {
		t.Errorf("numbers %d, %v", numbers, err)
	}
	for _, name := range []string{"words", "texts"} {
		ends, all, err := r.Texts(name)
		if err != nil || !slices.Equal(ends, []uint64{0, 3, 6}) || string(all) != "onetwo" {
			t.Errorf("%s: %d %q, %v", name, ends, all, err)
		}
	}
	if _, err := r.Section("missing"); err == nil {
		t.Error("a missing section is read")
	}
}

// TestDamageIsDetected checks that each changed byte causes an error of Open or of reading a
// section.
func TestDamageIsDetected(t *testing.T) {
	file := written(t)
	for i := range file {
		damaged := slices.Clone(file)
		damaged[i] ^= 1
		r, err := Open(bytes.NewReader(damaged), int64(len(damaged)))
		if err != nil {
			continue
		}
		for _, s := range r.Sections {
			if _, e := r.Section(s.Name); e != nil {
				err = e
			}
		}
		if err == nil {
			t.Errorf("byte %d of %d is changed without an error", i, len(file))
		}
	}
}

func TestFolder(t *testing.T) {
	dir := Folder(filepath.Join(t.TempDir(), "index"))
	if err := dir.RemoveAll(7); err != nil {
		t.Errorf("without a directory: %v", err)
	}
	for _, deployment := range []int64{7, 71} {
		f, err := dir.Create(deployment)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := dir.Publish(f, deployment); err != nil {
			t.Fatal(err)
		}
	}
	f, err := dir.Create(7)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := dir.Clear(time.Now()); !slices.Equal(got, []int64{7, 71}) {
		t.Errorf("checkpoints of %d", got)
	}
	if err := dir.RemoveAll(7); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(string(dir)); err != nil || len(left) != 1 || left[0].Name() != "71.checkpoint" {
		t.Errorf("left over: %v, %v", left, err)
	}
}
