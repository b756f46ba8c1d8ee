package reporttest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// Inputs lists the report files in a directory of test data, by relative path.
func Inputs(t testing.TB, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "golden" || d.Name() == "fuzz" || d.Name() == "scanner"):
			return filepath.SkipDir
		case !d.IsDir() && filepath.Ext(path) != ".md":
			files = append(files, filepath.ToSlash(strings.TrimPrefix(path, folder+string(filepath.Separator))))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Golden compares a text with the named golden file in testdata. If update is set, it writes the
// file first.
func Golden(t testing.TB, name, got string, update bool) {
	t.Helper()
	golden := filepath.Join("testdata", "golden", name+".txt")
	if update {
		if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatalf("%v: run the test with -update and review its output", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("report changed (-want +got); -update accepts it\n%s", diff)
	}
}

// Dump formats a value as indented text, without empty fields.
func Dump(v any) string {
	var b strings.Builder
	dumpValue(&b, reflect.ValueOf(v), 0)
	return b.String()
}

func dumpValue(b *strings.Builder, v reflect.Value, depth int) {
	indent := strings.Repeat("  ", depth)
	switch value := v.Interface().(type) {
	case *model.Rule:
		if depth > 3 { // the rule of a result is written by name
			fmt.Fprintf(b, " %s (%s)\n", value.Name, value.IssueType)
			return
		}
	case model.Products:
		fmt.Fprintf(b, " %v\n", value.Names())
		return
	case model.Digest:
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
		dumpMembers(b, v, depth)
	case reflect.String:
		fmt.Fprintf(b, " %q\n", v.String())
	default:
		fmt.Fprintf(b, " %v\n", v.Interface())
	}
}

// dumpMembers writes the fields of a struct. Fields of embedded structs are written as its own.
func dumpMembers(b *strings.Builder, v reflect.Value, depth int) {
	for i := range v.NumField() {
		member := v.Type().Field(i)
		switch f := v.Field(i); {
		case f.IsZero() || member.Name == "Edges": // Check counts the edges
		case member.Anonymous:
			dumpMembers(b, f, depth)
		default:
			fmt.Fprintf(b, "%s%s:", strings.Repeat("  ", depth), member.Name)
			dumpValue(b, f, depth+1)
		}
	}
}
