package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// mutant is one place that may be broken.
type mutant struct {
	n               int
	file            string
	line            int
	what            string
	text            string // the line of code
	reached, killed bool
	late            bool // killed by its time alone
}

// key is how reasons.tsv names it.
func (m *mutant) key() string { return strings.Join([]string{m.file, m.what, m.text}, "\t") }

// mutator writes a file anew with a switch at each place.
type mutator struct {
	fset  *token.FileSet
	file  string
	src   string
	lines []string
	skip  map[string]bool // places that did not compile
	next  *int
	found []*mutant
	edits []edit
}

// edit puts text before a place of the source. Those of one place come outer first.
type edit struct {
	at   int
	text string
}

// mutate rewrites the functions of a file.
func (m *mutator) mutate() (string, error) {
	parsed, err := parser.ParseFile(m.fset, m.file, m.src, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	m.lines = strings.Split(m.src, "\n")
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			ast.Inspect(f.Body, m.visit)
		}
	}
	return m.apply(), nil
}

func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok != token.CONST
	case *ast.IfStmt:
		m.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil && m.isLogical(n.Cond) {
			m.condition(n.Cond)
		}
	case *ast.BinaryExpr:
		m.binary(n)
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	}
	return true
}

func (m *mutator) isLogical(e ast.Expr) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

// condition may be turned around; what asks for equality is, as a comparison.
func (m *mutator) condition(e ast.Expr) {
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	if n, ok := m.add(e.Pos(), "condition turned around"); ok {
		m.around(e, fmt.Sprintf("mutated(%d, (", n), "))")
	}
}

// moved says what a comparison becomes: the edge goes to the other side.
var moved = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==", token.LAND: "||", token.LOR: "&&",
}

// binary may have another operator. Its operands are written twice, of which one
// runs; what is within the second is not broken again.
func (m *mutator) binary(e *ast.BinaryExpr) {
	other, ok := moved[e.Op]
	if !ok {
		return
	}
	if n, ok := m.add(e.OpPos, fmt.Sprintf("%s made %s", e.Op, other)); ok {
		x, y := m.source(e.X), m.source(e.Y)
		m.around(e, fmt.Sprintf("(isMutant(%d) && ((%s) %s (%s)) || !isMutant(%d) && (", n, x, other, y, n), "))")
	}
}

// statements may be left out: calls, assignments to what is there, and what ends a loop or its turn.
func (m *mutator) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if strings.HasPrefix(m.source(s), "panic(") { // a function may end with it
				continue
			}
		case *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.BranchStmt:
			if s.Tok != token.CONTINUE && s.Tok != token.BREAK || s.Label != nil {
				continue
			}
		default:
			continue
		}
		if n, ok := m.add(s.Pos(), "left out"); ok {
			m.around(s, fmt.Sprintf("if !isMutant(%d) { ", n), " }")
		}
	}
}

// add numbers a place, unless it was found not to compile.
func (m *mutator) add(at token.Pos, what string) (int, bool) {
	p := m.fset.Position(at)
	if m.skip[fmt.Sprintf("%s:%d", m.file, p.Line)] {
		return 0, false
	}
	*m.next++
	m.found = append(m.found, &mutant{n: *m.next, file: m.file, line: p.Line, what: what, text: strings.Join(strings.Fields(m.lines[p.Line-1]), " ")})
	return *m.next, true
}

func (m *mutator) source(n ast.Node) string {
	return m.src[m.fset.Position(n.Pos()).Offset:m.fset.Position(n.End()).Offset]
}

func (m *mutator) around(n ast.Node, before, after string) {
	m.edits = append(m.edits, edit{m.fset.Position(n.Pos()).Offset, before}, edit{m.fset.Position(n.End()).Offset, after})
}

// apply writes the edits in: at one place the outer ones begin first and end last.
func (m *mutator) apply() string {
	starts, ends := map[int]string{}, map[int]string{}
	for i := 0; i < len(m.edits); i += 2 { // visited from the outside to the inside
		starts[m.edits[i].at] += m.edits[i].text
		ends[m.edits[i+1].at] = m.edits[i+1].text + ends[m.edits[i+1].at]
	}
	var b strings.Builder
	for i := 0; i <= len(m.src); i++ {
		b.WriteString(ends[i])
		b.WriteString(starts[i])
		if i < len(m.src) {
			b.WriteByte(m.src[i])
		}
	}
	return b.String()
}
