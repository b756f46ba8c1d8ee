package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindPostgresUsesConfiguredDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("REDOUBT_TEST_PG_BIN", dir)
	if bin, missing := findPostgres(); bin != "" || !strings.Contains(missing, "REDOUBT_TEST_PG_BIN") {
		t.Errorf("in an empty folder got %q and %q", bin, missing)
	}
	for _, program := range []string{"initdb", "postgres"} {
		if err := os.WriteFile(filepath.Join(dir, program), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if bin, missing := findPostgres(); bin != dir || missing != "" {
		t.Errorf("got %q and %q; want the folder named", bin, missing)
	}
}

func TestDebianVersionOrdersByNumber(t *testing.T) {
	if debianVersion("/x/9/bin") >= debianVersion("/x/15/bin") || debianVersion("/x/odd/bin") != 0 {
		t.Error("9 is newer than 15, or an odd folder has a version")
	}
}
