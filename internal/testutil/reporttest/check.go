package reporttest

import (
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// Check verifies the invariants of all reports.
func Check(t testing.TB, r *model.Report) {
	t.Helper()
	if r.Tool == "" || r.Products == 0 {
		t.Errorf("tool %q, products %v: both are required", r.Tool, r.Products.Names())
	}
	for _, list := range [][]string{r.Searched, r.Skipped} {
		for _, p := range list {
			if !IsInside(p) {
				t.Errorf("path %q is not of the repository", p)
			}
		}
	}
	checkPartial(t, r)
	described := map[*model.Rule]bool{}
	for _, rule := range r.Rules {
		described[rule] = true
		if rule.Name == "" || rule.IssueType == 0 || rule.Severity == 0 || rule.Confidence == 0 {
			t.Errorf("incomplete rule: %+v", rule)
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
				t.Errorf("incomplete dependency: %+v", d)
			}
		}
		checkEdges(t, inv)
	}
	for i := range r.VEX {
		checkVEX(t, &r.VEX[i])
	}
	for _, ref := range r.Refused {
		if ref.Item == "" || ref.Reason == "" {
			t.Errorf("the error lacks details: %+v", ref)
		}
	}
	EachString(reflect.ValueOf(r), func(s string) {
		if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 || len(s) > read.MaxBlock {
			t.Errorf("string is not clean: %d bytes, %.80q", len(s), s)
		}
	})
}

// checkPartial verifies the invariants of partially parsed files.
func checkPartial(t testing.TB, r *model.Report) {
	t.Helper()
	listed := map[string]bool{}
	for _, p := range r.Skipped {
		listed[p] = true
	}
	for _, f := range r.Partial {
		if listed[f.Path] || !IsInside(f.Path) || len(f.Spans) == 0 {
			t.Errorf("file parsed in part, skipped or named before: %v: %+v", listed[f.Path], f)
		}
		listed[f.Path] = true
		for _, s := range f.Spans {
			if s.First < 0 || s.Last < max(1, s.First) {
				t.Errorf("invalid span of %s: %+v", f.Path, s)
			}
		}
	}
}

// checkEdges compares the edges of a lockfile with the stored number of requirers of each
// dependency.
func checkEdges(t testing.TB, inv model.Inventory) {
	t.Helper()
	requirers := make([]int, len(inv.Dependencies))
	for _, e := range inv.Edges {
		if min(e[0], e[1]) < 0 || max(e[0], e[1]) >= len(requirers) || e[0] == e[1] {
			t.Errorf("invalid edge of %s: %v of %d", inv.Lockfile, e, len(requirers))
			continue
		}
		requirers[e[1]]++
	}
	for i, d := range inv.Dependencies {
		if d.Requirers != requirers[i] {
			t.Errorf("%s: %d packages require %s, and it has %d edges", inv.Lockfile, d.Requirers, d.Name, requirers[i])
		}
	}
}

func checkResult(t testing.TB, res *model.Result, described map[*model.Rule]bool) {
	t.Helper()
	problem := ""
	switch {
	case res.Rule == nil || !described[res.Rule]:
		problem = "its rule is not among the rules"
	case !IsInside(res.Path):
		problem = "its path is not of the repository"
	case res.Severity == 0 || res.Confidence == 0 || res.Item == "":
		problem = "it is not whole"
	case res.Location.Line < 0 || res.Location.EndLine < 0 || res.Location.Column < 0 || res.Location.EndColumn < 0:
		problem = "its location is negative"
	case (res.Rule.IssueType == model.Secrets) != (res.Secret != nil):
		problem = "only secrets have a secret"
	case (res.Rule.IssueType == model.SCA) != (res.Dependency != nil):
		problem = "only supply-chain results have a dependency"
	case res.Secret != nil && (res.Code != "" || res.CodeHash != "" || res.DataFlow != nil):
		problem = "a secret shows code"
	case res.Dependency != nil &&
		(res.Dependency.Lockfile == "" || res.Dependency.Reachability == 0 || res.Dependency.Transitivity == 0):
		problem = "its dependency is not whole"
	}
	if problem != "" {
		t.Errorf("result %s: %s", fmt.Sprintf("%+v", *res), problem)
	}
}

// EachString visits every string in a value.
func EachString(v reflect.Value, visit func(string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			EachString(v.Elem(), visit)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			EachString(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				EachString(v.Field(i), visit)
			}
		}
	case reflect.String:
		visit(v.String())
	default: // numbers contain no text
	}
}

// checkVEX verifies the invariants of all VEX documents.
func checkVEX(t testing.TB, d *model.VEXDocument) {
	t.Helper()
	if d.Format == "" || d.Version < 0 {
		t.Errorf("incomplete document: %+v", d)
	}
	for i := range d.Statements {
		s := &d.Statements[i]
		made := s.Triage()
		if len(s.Names) == 0 || s.Status == 0 || made.State.String() == "" || len([]rune(made.Comment)) > model.MaxNote {
			t.Errorf("incomplete statement: %+v", s)
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

// IsInside reports whether a path is valid in a report: relative, clean, and inside of the
// repository.
func IsInside(p string) bool {
	return p != "" && p != "." && p != ".." && p == path.Clean(p) && !path.IsAbs(p) && !strings.HasPrefix(p, "../") &&
		!strings.ContainsAny(p, "\x00\\\n")
}
