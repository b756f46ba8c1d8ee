package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

var update = flag.Bool("update", false, "update the golden files")

// testKey is the key of secret hashes in all tests.
var testKey = []byte("a key of the tests")

// roots are the roots of reports that do not contain one.
var roots = map[string]string{"real/eslint.sarif": "/builds/acme/web-shop"}

// inputs returns the paths of the report files in testdata.
func inputs(t testing.TB) []string {
	t.Helper()
	return reporttest.Inputs(t, "testdata")
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
			reports, err := Read(bytes.NewReader(data), format.Options{Name: inside, Key: testKey, Root: roots[name]})
			got := reporttest.Dump(reports)
			if err != nil {
				got = "error: " + err.Error() + "\n"
			}
			reporttest.Golden(t, name, got, *update)
		})
	}
}
