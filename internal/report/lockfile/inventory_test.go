package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// inventoryRow describes the data that a reader returns for the files in testdata.
type inventoryRow struct {
	names                      []string
	ecosystem                  string
	read                       int
	line, direct, license, sum bool
}

// inventoryRows reads the lockfiles in testdata and returns a row for each reader.
func inventoryRows(t *testing.T) []*inventoryRow {
	t.Helper()
	var rows []*inventoryRow
	byReader := map[string]*inventoryRow{}
	rowOf := func(kind *lockfile.Kind) *inventoryRow {
		key := fmt.Sprint(kind.Ecosystem, kind.Reader)
		if byReader[key] == nil {
			byReader[key] = &inventoryRow{ecosystem: kind.Ecosystem}
			rows = append(rows, byReader[key])
		}
		return byReader[key]
	}
	for _, kind := range lockfile.Kinds() {
		row := rowOf(&kind)
		row.names = append(row.names, "`"+kind.Name+"`")
	}
	for _, name := range inputs(t) {
		kind := lockfile.KindOf(name)
		if kind == nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		row := rowOf(kind)
		for _, d := range readOne(t, name, string(data)).Inventories[0].Dependencies {
			row.read++
			row.line = row.line || d.Line > 0
			row.direct = row.direct || d.Transitivity != model.TransitivityUnknown
			row.license = row.license || len(d.Licenses) > 0
			row.sum = row.sum || len(d.Hashes) > 0
		}
	}
	return rows
}

// TestOSVScalibrTableMatchesSupportedFiles checks that the table in docs/reference/osv-scalibr.md matches the
// supported file names.
func TestOSVScalibrTableMatchesSupportedFiles(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "osv-scalibr.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(doc), "| reader | files | supported |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")
	if len(rows) < 50 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			t.Fatalf("%q has not three cells", row)
		}
		supported := strings.HasPrefix(cells[3], " yes")
		if !supported && !strings.HasPrefix(cells[3], " no: ") {
			t.Errorf("%q says neither yes nor why not", row)
		}
		for _, name := range backquoted(cells[2]) {
			if got := lockfile.Is(name); got != supported {
				t.Errorf("%s: read %v, and the table says%s", name, got, cells[3])
			}
		}
		for _, name := range backquoted(cells[3]) {
			if strings.Contains(cells[3], "`"+name+"` is read") && !lockfile.Is(name) {
				t.Errorf("%s is said to be read", name)
			}
		}
	}
}

// backquoted returns the texts between backquotes.
func backquoted(cell string) (names []string) {
	for i, part := range strings.Split(cell, "`") {
		if i%2 == 1 {
			names = append(names, part)
		}
	}
	return names
}

// TestInventoryTable checks that the table in docs/reference/lockfiles.md matches the readers. With
// -update it writes the table.
func TestInventoryTable(t *testing.T) {
	yes := map[bool]string{true: "yes", false: "–"}
	var b strings.Builder
	b.WriteString("| files | ecosystem | line | direct or transitive | licenses | checksums |\n|---|---|---|---|---|---|\n")
	for _, row := range inventoryRows(t) {
		if row.read == 0 {
			t.Errorf("no testdata of %v has a dependency", row.names)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", strings.Join(row.names, ", "), row.ecosystem,
			yes[row.line], yes[row.direct], yes[row.license], yes[row.sum])
	}
	file := filepath.Join("..", "..", "..", "docs", "reference", "lockfiles.md")
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(doc), "| files |")
	_, after, ok := strings.Cut("| files |"+rest, "\n\n")
	if !ok {
		t.Fatal("docs/reference/lockfiles.md has no table that an empty line ends")
	}
	want := before + b.String() + "\n" + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(doc)); diff != "" {
		t.Errorf("docs/reference/lockfiles.md is not what the readers read (-want +got); -update writes it\n%s", diff)
	}
}
