package report

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redoubt/redoubt"
)

// read reads a text as a file of that name.
func read(t testing.TB, name, text string) []*redoubt.Report {
	t.Helper()
	reports, err := Read(bytes.NewReader([]byte(text)), Options{Name: name, Key: testKey})
	if err != nil {
		t.Fatalf("Read(%s): %v", name, err)
	}
	for _, r := range reports {
		checkReport(t, r)
	}
	return reports
}

// readOne reads a text that holds one report.
func readOne(t testing.TB, name, text string) *redoubt.Report {
	t.Helper()
	reports := read(t, name, text)
	if len(reports) != 1 {
		t.Fatalf("%d reports, want 1", len(reports))
	}
	return reports[0]
}

// checkReport holds a report to what every report promises, whatever was read.
func checkReport(t testing.TB, r *redoubt.Report) {
	t.Helper()
	if r.Tool == "" || r.Products == 0 {
		t.Errorf("tool %q, products %v: both are needed", r.Tool, r.Products.Names())
	}
	for _, list := range [][]string{r.Searched, r.Skipped} {
		for _, p := range list {
			if !isInside(p) {
				t.Errorf("path %q is not of the repository", p)
			}
		}
	}
	described := map[*redoubt.Rule]bool{}
	for _, rule := range r.Rules {
		described[rule] = true
		if rule.Name == "" || rule.IssueType == 0 || rule.Severity == 0 || rule.Confidence == 0 {
			t.Errorf("rule is not whole: %+v", rule)
		}
	}
	for i := range r.Results {
		checkResult(t, &r.Results[i], described)
	}
	for _, inv := range r.Inventories {
		if inv.Lockfile == "" {
			t.Errorf("an inventory of no lockfile")
		}
		for _, d := range inv.Dependencies {
			if d.Name == "" || d.Version == "" || d.Ecosystem == "" || d.Transitivity == 0 || d.Licenses == nil {
				t.Errorf("dependency is not whole: %+v", d)
			}
		}
	}
	for i := range r.VEX {
		checkVEX(t, &r.VEX[i])
	}
	for _, ref := range r.Refused {
		if ref.Item == "" || ref.Reason == "" {
			t.Errorf("refusal says too little: %+v", ref)
		}
	}
	eachString(reflect.ValueOf(r), func(s string) {
		if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 || len(s) > maxBlock {
			t.Errorf("string is not clean: %d bytes, %.80q", len(s), s)
		}
	})
}

func checkResult(t testing.TB, res *redoubt.Result, described map[*redoubt.Rule]bool) {
	t.Helper()
	problem := ""
	switch {
	case res.Rule == nil || !described[res.Rule]:
		problem = "its rule is not among the rules"
	case !isInside(res.Path):
		problem = "its path is not of the repository"
	case res.Severity == 0 || res.Confidence == 0 || res.Item == "":
		problem = "it is not whole"
	case res.Location.Line < 0 || res.Location.EndLine < 0 || res.Location.Column < 0 || res.Location.EndColumn < 0:
		problem = "its location is negative"
	case (res.Rule.IssueType == redoubt.Secrets) != (res.Secret != nil):
		problem = "only secrets have a secret"
	case (res.Rule.IssueType == redoubt.SCA) != (res.Dependency != nil):
		problem = "only supply-chain results have a dependency"
	case res.Secret != nil && (res.Code != "" || res.CodeHash != "" || res.DataFlow != nil):
		problem = "a secret shows code"
	case res.Dependency != nil && (res.Dependency.Lockfile == "" || res.Dependency.Reachability == 0 || res.Dependency.Transitivity == 0):
		problem = "its dependency is not whole"
	}
	if problem != "" {
		t.Errorf("result %s: %s", fmt.Sprintf("%+v", *res), problem)
	}
}

// eachString visits every string in a value.
func eachString(v reflect.Value, visit func(string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			eachString(v.Elem(), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachString(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachString(v.Field(i), visit)
			}
		}
	case reflect.String:
		visit(v.String())
	default: // numbers hold no text
	}
}

// checkVEX holds a document to what every document promises.
func checkVEX(t testing.TB, d *redoubt.VEXDocument) {
	t.Helper()
	if d.Format == "" || d.Version < 0 {
		t.Errorf("document is not whole: %+v", d)
	}
	for i := range d.Statements {
		s := &d.Statements[i]
		made := s.Triage()
		if len(s.Names) == 0 || s.Status == 0 || made.State.String() == "" || len([]rune(made.Comment)) > redoubt.MaxNote {
			t.Errorf("statement is not whole: %+v", s)
		}
		if len(s.Packages)+len(s.Product) == 0 {
			t.Errorf("statement is about everything: %+v", s)
		}
		for _, name := range s.Names {
			if name == "" || name != strings.ToUpper(name) {
				t.Errorf("name %q is not in upper case", name)
			}
		}
	}
}
