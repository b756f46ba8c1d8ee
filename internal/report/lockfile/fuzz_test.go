package lockfile_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// small are low limits, so that fuzzing reaches them.
var small = report.Limits{Input: 1 << 20, Document: 1 << 20, Item: 64 << 10, Items: 1000}

// FuzzLockfile reads arbitrary data as each kind of lockfile.
func FuzzLockfile(f *testing.F) {
	names := lockfile.Names()
	for i, name := range names {
		f.Add(i, []byte("\n"))
		for _, file := range inputs(f) {
			data, err := os.ReadFile(filepath.Join("testdata", file))
			if ok, _ := filepath.Match(name, filepath.Base(file)); err == nil && ok && len(data) < 8<<10 {
				f.Add(i, data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		if i < 0 || i >= len(names) {
			return
		}
		name := "sub/" + strings.ReplaceAll(names[i], "*", "")
		reports, err := report.Read(bytes.NewReader(data), report.Options{Name: name, Format: report.Lockfile, Limits: small})
		if err != nil {
			return
		}
		for _, r := range reports {
			reporttest.Check(t, r)
			if len(r.Inventories) != 1 || r.Inventories[0].Lockfile != name {
				t.Errorf("%s: not one inventory of it", name)
			}
		}
	})
}
