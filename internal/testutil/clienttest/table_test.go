package clienttest

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClientsTable checks that docs/guides/clients.md has a row for each client, in order, and that
// each has a test.
func TestClientsTable(t *testing.T) {
	_, rest, found := strings.Cut(read(t, docs), header)
	if !found {
		t.Fatalf("%s has no table that begins with\n%s", docs, header)
	}
	var got []string
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "| ") {
			break
		}
		got = append(got, nameOf(line))
	}
	if strings.Join(got, ", ") != strings.Join(Names, ", ") {
		t.Errorf("the table has %q, want %q", got, Names)
	}
	source := tests(t)
	for _, name := range Names {
		if !strings.Contains(source, `"`+name+`"`) {
			t.Errorf("no test names %q", name)
		}
	}
}

// tests returns the text of all tests of the repository that use this package.
func tests(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(path(t, "."), func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != "." {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "clienttest.") {
			out.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestOperationsByName(t *testing.T) {
	got := operations(t, []string{
		"GET /api/v1/deployments/7/findings/counts", "GET /api/v1/deployments/acme/findings/12", "POST /api/agent/scans/12/results", "GET /api/v1/deployments",
	})
	if want := "`POST /api/agent/scans/N/results`, `countFindings`, `getFinding`, `listDeployments`"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
