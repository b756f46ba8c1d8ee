package lockfile_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

var update = flag.Bool("update", false, "update the golden files")

// inputs returns the paths of the files in testdata.
func inputs(t testing.TB) []string {
	t.Helper()
	return reporttest.Inputs(t, "testdata")
}

// readOne reads a file that is the only one of its upload.
func readOne(t testing.TB, name, text string) *model.Report {
	t.Helper()
	reports, err := report.Read(strings.NewReader(text), report.Options{Name: name})
	if err != nil {
		t.Fatalf("Read(%s): %v", name, err)
	}
	if len(reports) != 1 {
		t.Fatalf("%d reports, want 1", len(reports))
	}
	reporttest.Check(t, reports[0])
	return reports[0]
}

// TestGolden compares the reports or errors of the files in testdata with golden files.
func TestGolden(t *testing.T) {
	for _, name := range inputs(t) {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			_, inside, _ := strings.Cut(name, "/")
			reports, err := report.Read(bytes.NewReader(data), report.Options{Name: inside})
			got := reporttest.Dump(reports)
			if err != nil {
				got = "error: " + err.Error() + "\n"
			}
			reporttest.Golden(t, name, got, *update)
		})
	}
}
