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

var update = flag.Bool("update", false, "write the golden files anew")

// testKey is the key of secrets in all tests.
var testKey = []byte("a key of the tests")

// roots tell where the repository lay, of reports that do not.
var roots = map[string]string{"real/eslint.sarif": "/builds/acme/web-shop"}

// inputs lists the report files of testdata, by their path in it.
func inputs(t testing.TB) []string {
	t.Helper()
	return reporttest.Inputs(t, "testdata")
}

// TestGolden reads each file of testdata and compares all of the report, or
// the error, with a golden file.
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
