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

	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// problemCodes are the codes by their names in the source.
var problemCodes = map[string]string{
	"CodeInvalidArgument": api.CodeInvalidArgument, "CodeUnauthenticated": api.CodeUnauthenticated, "CodePermissionDenied": api.CodePermissionDenied,
	"CodeNotFound": api.CodeNotFound, "CodeMethodNotAllowed": api.CodeMethodNotAllowed, "CodeConflict": api.CodeConflict, "CodeTooLarge": api.CodeTooLarge,
	"CodeUnsupportedMediaType": api.CodeUnsupportedMediaType, "CodeRateLimited": api.CodeRateLimited, "CodeUnavailable": api.CodeUnavailable, "CodeInternal": api.CodeInternal,
}

// source is what the functions of the package, and the methods of call, call and send.
// A method is call.name, as what is asked of c is everywhere.
type source struct {
	calls, codes map[string][]string
	handlers     map[string][]string // what the rows of the table name, by operation
}

func readSource(t *testing.T) source {
	t.Helper()
	out := source{map[string][]string{}, map[string][]string{}, map[string][]string{}}
	names, err := filepath.Glob("*.go")
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
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				calls, codes := used(f.Body)
				switch receiver := receiverOf(f); receiver {
				case "":
					out.calls[f.Name.Name], out.codes[f.Name.Name] = calls, codes
				case "call":
					out.calls["call."+f.Name.Name], out.codes["call."+f.Name.Name] = calls, codes
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if row, ok := n.(*ast.CompositeLit); ok && len(row.Elts) == 4 {
				if id, ok := row.Elts[1].(*ast.BasicLit); ok && id.Kind == token.STRING {
					operation, _ := strconv.Unquote(id.Value)
					out.handlers[operation], _ = used(row.Elts[3])
				}
			}
			return true
		})
	}
	return out
}

// receiverOf is the type of a method, empty for a function.
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

// used lists which functions and methods of call a piece of source calls or hands on,
// and the codes of the problems that it makes.
func used(n ast.Node) (names, codes []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			f := n.Fun
			if generic, ok := f.(*ast.IndexExpr); ok {
				f = generic.X
			}
			if generic, ok := f.(*ast.IndexListExpr); ok {
				f = generic.X
			}
			name, ok := f.(*ast.Ident)
			if !ok {
				return true
			}
			names = append(names, name.Name)
			if name.Name == "newProblem" {
				codes = append(codes, n.Args[0].(*ast.SelectorExpr).Sel.Name)
			}
		case *ast.SelectorExpr:
			_, method := n.X.(*ast.ParenExpr) // (*call).name
			if c, ok := n.X.(*ast.Ident); method || ok && c.Name == "c" {
				names = append(names, "call."+n.Sel.Name)
			}
		}
		return true
	})
	return names, codes
}

// TestOperationsDeclareTheProblemsOfTheirHandlers: what a handler makes a problem of by
// itself, in any function that it reaches, is an answer that openapi.json says of it.
func TestOperationsDeclareTheProblemsOfTheirHandlers(t *testing.T) {
	s := readSource(t)
	found := 0
	for _, route := range Routes() {
		if len(s.handlers[route.ID]) == 0 {
			t.Errorf("the row of %s was not found", route.ID)
		}
		reached := slices.Clone(s.handlers[route.ID])
		seen := map[string]bool{"problemOf": true} // which knows what any room may answer
		for len(reached) > 0 {
			name := reached[len(reached)-1]
			if reached = reached[:len(reached)-1]; seen[name] {
				continue
			}
			seen[name] = true
			reached = append(reached, s.calls[name]...)
			for _, code := range s.codes[name] {
				found++
				status := core.StatusOf[problemCodes[code]]
				if theSpec().Operations[route.ID].Described.Responses[strconv.Itoa(status)] == nil {
					t.Errorf("%s answers %d by %s, which openapi.json does not say", route.ID, status, name)
				}
			}
		}
	}
	if found < len(Routes())/2 {
		t.Errorf("only %d problems were found", found)
	}
}
