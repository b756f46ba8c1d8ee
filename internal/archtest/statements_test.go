package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Patterns for SQL statements. Each statement must be about one tenant or about shared tables. Then
// the tenants of a PostgreSQL database can be distributed over its nodes (docs/guides/scaling.md).

var (
	sqlVerb   = regexp.MustCompile(`^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s`)
	sqlText   = regexp.MustCompile("^[`\"]\\s*(SELECT\\s[^`]*\\sFROM|INSERT INTO|DELETE FROM|UPDATE\\s+[a-z_]+\\s+SET)\\s")
	sqlTable  = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE)\s+([a-z_]+)(?:\s+(?:AS\s+)?([a-z]{1,2})\b)?`)
	sqlMore   = regexp.MustCompile(`,\s+([a-z_]+)\s+([a-z]{1,2})\b`)
	sqlTenant = regexp.MustCompile(`(?:^|[^\w.])deployment_id\s*=`)
	sqlAnchor = regexp.MustCompile(`\b(?:deployment_id|d\.id)\s*=\s*\$1\b`)
	sqlMoved  = regexp.MustCompile(`\bSET\s+(?:[^@W]|W[^H])*\bdeployment_id\s*=`)
	schemaRow = regexp.MustCompile(`(?m)^(\w+)\.(\w+) `)
)

// tables lists the tables whose rows belong to one tenant each, and the shared ones.
type tables struct{ tenants, shared []string }

// readTables reads the dumped schema, and the shared tables with a tenant column from the variable SharedTables.
func readTables(schema string, values map[string]value) (t tables) {
	shared := []string{"deployment_slug", "user_link"}
	for name, v := range values {
		list, ok := v.expr.(*ast.CompositeLit)
		if !ok || !strings.HasSuffix(name, ".SharedTables") {
			continue
		}
		for _, element := range list.Elts {
			shared = append(shared, textOf(value{v.in, element}, values, 0))
		}
	}
	hasTenant := map[string]bool{"deployment": true}
	for _, column := range schemaRow.FindAllStringSubmatch(schema, -1) {
		hasTenant[column[1]] = hasTenant[column[1]] || column[2] == "deployment_id"
	}
	for table, has := range hasTenant {
		if has && !slices.Contains(shared, table) {
			t.tenants = append(t.tenants, table)
		} else {
			t.shared = append(t.shared, table)
		}
	}
	return t
}

// statementsNameTheirTenant finds statements about several tenants, statements that join tenant tables with shared
// tables, and statements that move a row to another tenant. Migrations run before the tables are distributed.
func statementsNameTheirTenant(src *source) (found findings) {
	if src.schema == "" {
		found.add("schema.postgres.sql", "schema.postgres.sql: not found: write the dumped schema of PostgreSQL with make schema")
		return found
	}
	values := valuesOf(src)
	known := readTables(src.schema, values)
	for _, f := range src.code() {
		if !within(f.dir(), "internal") || isForTests(f.dir()) || strings.HasPrefix(path.Base(f.path), "migrate") {
			continue
		}
		for _, declaration := range f.ast.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || severalTenants[function.Name.Name] != "" {
				continue
			}
			eachStatement(f, function, values, func(at ast.Node, query string) {
				for _, fault := range known.faults(query) {
					found.add(f.dir(), "%s: %s: %s", f.at(at), fault, clip(strings.Join(strings.Fields(query), " ")))
				}
			})
		}
	}
	return found
}

// sqlIsInTheStore finds statements elsewhere. Their methods are exported below internal/store, so every
// caller of a transaction sees them.
func sqlIsInTheStore(src *source) (found findings) {
	for _, f := range src.code() {
		if within(f.dir(), "internal/store") || isForTests(f.dir()) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING && sqlText.MatchString(text.Value) {
				found.add(f.dir(), "%s: SQL is only for internal/store: add a method to the package of the subject", f.at(text))
			}
			return true
		})
	}
	return found
}

// faults returns the faults of a statement, in which @ stands for text that is assembled at run
// time.
func (t tables) faults(query string) (faults []string) {
	var used [][2]string // the name and the alias of each tenant table
	shared := ""
	for _, pattern := range []*regexp.Regexp{sqlTable, sqlMore} {
		for _, match := range pattern.FindAllStringSubmatch(query, -1) {
			if slices.Contains(t.tenants, match[1]) {
				used = append(used, [2]string{match[1], match[2]})
			} else if slices.Contains(t.shared, match[1]) {
				shared = match[1]
			}
		}
	}
	isInsert := strings.HasPrefix(strings.TrimSpace(query), "INSERT")
	if len(used) > 0 && isInsert && strings.Contains(query, "("+tenantColumn(used[0][0])) {
		used = used[1:]
	}
	if len(used) == 0 {
		return nil
	}
	if shared != "" {
		faults = append(faults, fmt.Sprintf("joins the tenant table %s with the shared table %s: use two statements",
			used[0][0], shared))
	}
	plain := len(sqlTenant.FindAllString(query, -1)) // comparisons without a table: each counts for one table
	anchored := sqlAnchor.MatchString(query)
	for _, table := range used {
		column := tenantColumn(table[0])
		if regexp.MustCompile(`\b` + cmp.Or(table[1], table[0]) + `\.` + column + `\b`).MatchString(query) {
			continue
		}
		if column == "id" && strings.Contains(query, "id = $1") {
			anchored = true
			continue
		}
		if plain--; plain < 0 {
			faults = append(faults, fmt.Sprintf("no tenant for %s: compare its %s, in joins too", table[0], column))
		}
	}
	if !anchored {
		faults = append(faults, "no single tenant: compare the tenant column with $1")
	}
	if sqlMoved.MatchString(query) {
		faults = append(faults, "moves rows to another tenant: insert them there and delete them here")
	}
	return faults
}

// tenantColumn returns the column that identifies the tenant of a row.
func tenantColumn(table string) string {
	if table == "deployment" {
		return "id"
	}
	return "deployment_id"
}

// value is an expression and the file that contains it.
type value struct {
	in   *file
	expr ast.Expr
}

// valuesOf returns the values of constants and variables by the folder of their package and their name.
func valuesOf(src *source) map[string]value {
	all := map[string]value{}
	for _, f := range src.code() {
		ast.Inspect(f.ast, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, name := range spec.Names {
					all[f.dir()+"."+name.Name] = value{f, spec.Values[i]}
				}
			}
			return true
		})
	}
	return all
}

// eachStatement calls visit for each SQL statement of a function.
func eachStatement(f *file, function *ast.FuncDecl, values map[string]value, visit func(ast.Node, string)) {
	ast.Inspect(function, func(node ast.Node) bool {
		switch e := node.(type) {
		case *ast.BinaryExpr, *ast.BasicLit:
			if query := textOf(value{f, e.(ast.Expr)}, values, 0); sqlVerb.MatchString(query) {
				visit(node, query)
				return false
			}
		}
		return true
	})
}

// textOf returns the text of an expression, with @ for every part that is not constant.
func textOf(v value, values map[string]value, depth int) string {
	name := ""
	switch e := v.expr.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value) // the parser has validated it
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return textOf(value{v.in, e.X}, values, depth) + textOf(value{v.in, e.Y}, values, depth)
		}
	case *ast.Ident:
		name = v.in.dir() + "." + e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			dir, _ := localDir(v.in.importNames()[x.Name])
			name = dir + "." + e.Sel.Name
		}
	}
	if known := values[name]; known.expr != nil && depth < 5 {
		return textOf(known, values, depth+1)
	}
	return "@"
}
