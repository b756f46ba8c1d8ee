package report

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
)

var update = flag.Bool("update", false, "write the golden files anew")

// testKey is the key of secrets in all tests.
var testKey = []byte("a key of the tests")

// roots tell where the repository lay, of reports that do not.
var roots = map[string]string{"real/eslint.sarif": "/builds/acme/web-shop"}

// inputs lists the report files of testdata, by their path in it.
func inputs(t testing.TB) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("testdata", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "golden" || d.Name() == "fuzz" || d.Name() == "scanner"):
			return filepath.SkipDir
		case !d.IsDir() && filepath.Ext(path) != ".md":
			files = append(files, filepath.ToSlash(strings.TrimPrefix(path, "testdata"+string(filepath.Separator))))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
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
			reports, err := Read(bytes.NewReader(data), Options{Name: inside, Key: testKey, Root: roots[name]})
			got := dump(reports)
			if err != nil {
				got = "error: " + err.Error() + "\n"
			}
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v: run the test with -update and look at what it writes", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("report changed (-want +got); -update accepts it\n%s", diff)
			}
		})
	}
}

// dump writes a value as indented text, without empty members.
func dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v), 0)
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, depth int) {
	indent := strings.Repeat("  ", depth)
	switch value := v.Interface().(type) {
	case *redoubt.Rule:
		if depth > 3 { // a result's rule is told by its name
			fmt.Fprintf(b, " %s (%s)\n", value.Name, value.IssueType)
			return
		}
	case redoubt.Products:
		fmt.Fprintf(b, " %v\n", value.Names())
		return
	case redoubt.Digest:
		fmt.Fprintf(b, " %x\n", value)
		return
	case time.Time:
		fmt.Fprintf(b, " %s\n", value.Format(time.RFC3339Nano))
		return
	case fmt.Stringer:
		fmt.Fprintf(b, " %s\n", value)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		dumpValue(b, v.Elem(), depth)
	case reflect.Slice:
		b.WriteString("\n")
		for i := range v.Len() {
			fmt.Fprintf(b, "%s-", indent)
			dumpValue(b, v.Index(i), depth+1)
		}
	case reflect.Struct:
		b.WriteString("\n")
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				fmt.Fprintf(b, "%s%s:", indent, v.Type().Field(i).Name)
				dumpValue(b, f, depth+1)
			}
		}
	case reflect.String:
		fmt.Fprintf(b, " %q\n", v.String())
	default:
		fmt.Fprintf(b, " %v\n", v.Interface())
	}
}
