package apihttp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// problemCodes maps the names of codes in the source to their values.
var problemCodes = map[string]string{
	"CodeInvalidArgument": api.CodeInvalidArgument, "CodeUnauthenticated": api.CodeUnauthenticated, "CodePermissionDenied": api.CodePermissionDenied,
	"CodeNotFound": api.CodeNotFound, "CodeMethodNotAllowed": api.CodeMethodNotAllowed, "CodeConflict": api.CodeConflict, "CodeTooLarge": api.CodeTooLarge,
	"CodeUnsupportedMediaType": api.CodeUnsupportedMediaType, "CodeRateLimited": api.CodeRateLimited, "CodeUnavailable": api.CodeUnavailable, "CodeInternal": api.CodeInternal,
}

// source contains the calls of the functions of the Web API's packages and of the methods of
// core.Call. Keys are package and name, such as findings.listFindings, or Call.name for methods.
type source struct {
	calls, codes map[string][]string
	handlers     map[string][]string // functions in the rows of the tables, by operation
}

func readSource(t *testing.T) source {
	t.Helper()
	out := source{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	names, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		out.add(filepath.Dir(name), file)
	}
	return out
}

// add reads a file of a package.
func (s source) add(pkg string, file *ast.File) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
			calls, codes := used(pkg, f.Body)
			switch receiver := receiverOf(f); receiver {
			case "":
				s.calls[pkg+"."+f.Name.Name], s.codes[pkg+"."+f.Name.Name] = calls, codes
			case "Call":
				s.calls["Call."+f.Name.Name], s.codes["Call."+f.Name.Name] = calls, codes
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if row, ok := n.(*ast.CallExpr); ok && len(row.Args) == 4 {
			if id, ok := row.Args[1].(*ast.BasicLit); ok && id.Kind == token.STRING {
				operation, _ := strconv.Unquote(id.Value)
				s.handlers[operation], _ = used(pkg, row.Args[3])
			}
		}
		return true
	})
}

// receiverOf returns the type of a method, or "" for a function.
func receiverOf(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name
	}
	return "another"
}

// used returns the functions and methods of core.Call that n calls, and the codes of the problems
// that it creates.
func used(pkg string, n ast.Node) (names, codes []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called := nameOf(pkg, n.Fun); called == "core.NewProblem" {
				codes = append(codes, n.Args[0].(*ast.SelectorExpr).Sel.Name)
			}
		case *ast.SelectorExpr:
			names = append(names, nameOf(pkg, n))
		case *ast.Ident:
			names = append(names, nameOf(pkg, n))
		}
		return true
	})
	return names, codes
}

// nameOf returns the name of a function, such as core.NewProblem, or of a method, such as
// Call.View.
func nameOf(pkg string, n ast.Expr) string {
	switch n := n.(type) {
	case *ast.Ident:
		return pkg + "." + n.Name
	case *ast.SelectorExpr:
		if of, ok := n.X.(*ast.Ident); ok && of.Name == "c" {
			return "Call." + n.Sel.Name
		} else if ok {
			return of.Name + "." + n.Sel.Name
		}
	}
	return ""
}

// TestOperationsDocumentTheirProblems checks that openapi.json documents every problem
// that the functions of a handler create.
func TestOperationsDocumentTheirProblems(t *testing.T) {
	s := readSource(t)
	found := 0
	for _, route := range Routes() {
		if len(s.handlers[route.ID]) == 0 {
			t.Errorf("the row of %s was not found", route.ID)
		}
		reached := slices.Clone(s.handlers[route.ID])
		seen := map[string]bool{"core.ProblemOf": true} // converts the errors of all packages
		for len(reached) > 0 {
			name := reached[len(reached)-1]
			if reached = reached[:len(reached)-1]; seen[name] {
				continue
			}
			seen[name] = true
			reached = append(reached, s.calls[name]...)
			for _, code := range s.codes[name] {
				found++
				status := statusOf[problemCodes[code]]
				if theSpec().Operation(route.ID).Responses[strconv.Itoa(status)] == nil {
					t.Errorf("%s returns %d through %s, which is missing in openapi.json", route.ID, status, name)
				}
			}
		}
	}
	if found < len(Routes())/2 {
		t.Errorf("only %d problems were found", found)
	}
}
