package house

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The tenants of a PostgreSQL can be spread over its nodes (docs/scaling.md) as long as each statement is about one of them, or about
// what all share, and says so.

// storeRoom is the package with all SQL.
const storeRoom = "internal/store"

// apart lists the functions whose statements are about several tenants, and why they may. Migrations run before anything is spread.
var apart = map[string]string{
	"RecentDeployments": "what a start loads first; where it cannot be told, the server starts all the same",
	"Versions":          "what is followed in the background; each reader asks for the version of its own tenant",
	"foreignFaults":     "redoubt check, which reads all there is",
	"updateJob":         "the first argument is the tenant",
}

var (
	sqlVerb   = regexp.MustCompile(`^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\s`)
	sqlTable  = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE)\s+([a-z_]+)(?:\s+(?:AS\s+)?([a-z]{1,2})\b)?`)
	sqlMore   = regexp.MustCompile(`,\s+([a-z_]+)\s+([a-z]{1,2})\b`)
	sqlTenant = regexp.MustCompile(`(?:^|[^\w.])deployment_id\s*=`)
	sqlAnchor = regexp.MustCompile(`\b(?:deployment_id|d\.id)\s*=\s*\$1\b`)
	sqlMoved  = regexp.MustCompile(`\bSET\s+(?:[^@W]|W[^H])*\bdeployment_id\s*=`)
	schemaRow = regexp.MustCompile(`(?m)^(\w+)\.(\w+) `)
	listed    = regexp.MustCompile(`"([a-z_]+)"`)
)

// spread is how tables lie: of one tenant each row, or shared.
type spread struct{ tenants, shared []string }

// readSpread reads the tables of the dumped schema, and which of those with a tenant are shared all the same.
func readSpread(src *source, schema string) spread {
	var s spread
	_, rest, _ := strings.Cut(src.text(storeRoom+"/distribution.go"), "var sharedTables = []string{")
	names, _, _ := strings.Cut(rest, "}")
	var shared []string
	for _, found := range listed.FindAllStringSubmatch(names, -1) {
		shared = append(shared, found[1])
	}
	all, of := map[string]bool{}, map[string]bool{}
	for _, found := range schemaRow.FindAllStringSubmatch(schema, -1) {
		all[found[1]] = true
		of[found[1]] = of[found[1]] || found[2] == "deployment_id"
	}
	for table := range all {
		isTenant := (of[table] || table == "deployment") && !slices.Contains(shared, table) && table != "deployment_slug" && table != "user_link"
		if isTenant {
			s.tenants = append(s.tenants, table)
		} else {
			s.shared = append(s.shared, table)
		}
	}
	return s
}

// statementsNameTheirTenant finds statements about several tenants, about tenants and what all share, and such as move a row from
// one tenant to another.
func statementsNameTheirTenant(src *source) (broken []string) {
	schema := src.dumped
	if schema == "" {
		return nil
	}
	tables := readSpread(src, schema)
	texts := constantsOf(src)
	for _, f := range src.code() {
		if f.dir() != storeRoom || strings.Contains(f.path, "/migrate") {
			continue
		}
		for _, declaration := range f.ast.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || apart[function.Name.Name] != "" {
				continue
			}
			eachStatement(function, texts, func(at ast.Node, query string) {
				for _, fault := range tables.faults(query) {
					broken = append(broken, fmt.Sprintf("%s: %s: %s", f.at(at), fault, clip(strings.Join(strings.Fields(query), " "))))
				}
			})
		}
	}
	return broken
}

// faults says what is wrong with a statement. What is put together at run time stands in it as @.
func (s spread) faults(query string) (faults []string) {
	var used [][2]string // tables and what they are called, each time that they are named
	shared := ""
	for _, pattern := range []*regexp.Regexp{sqlTable, sqlMore} {
		for _, found := range pattern.FindAllStringSubmatch(query, -1) {
			if slices.Contains(s.tenants, found[1]) {
				used = append(used, [2]string{found[1], found[2]})
			} else if slices.Contains(s.shared, found[1]) {
				shared = found[1]
			}
		}
	}
	if len(used) > 0 && strings.HasPrefix(strings.TrimSpace(query), "INSERT") && strings.Contains(query, "("+tenantColumn(used[0][0])) {
		used = used[1:]
	}
	if len(used) == 0 {
		return nil
	}
	if shared != "" {
		faults = append(faults, fmt.Sprintf("is about %s, which is a tenant's, and about %s, which all share: ask one after the other", used[0][0], shared))
	}
	plain := len(sqlTenant.FindAllString(query, -1)) // comparisons that do not say of which table: of one each
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
			faults = append(faults, fmt.Sprintf("does not say of which tenant %s is: compare its %s, in joins too", table[0], column))
		}
	}
	if !anchored {
		faults = append(faults, "names no tenant: compare with $1, which is one")
	}
	if sqlMoved.MatchString(query) {
		faults = append(faults, "moves rows to another tenant: insert them there and delete them here")
	}
	return faults
}

// tenantColumn is what tells the tenant of a row.
func tenantColumn(table string) string {
	if table == "deployment" {
		return "id"
	}
	return "deployment_id"
}

// constantsOf are the texts of the constants and variables of the store's package.
func constantsOf(src *source) map[string]ast.Expr {
	all := map[string]ast.Expr{}
	for _, f := range src.code() {
		if f.dir() != storeRoom {
			continue
		}
		ast.Inspect(f.ast, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, name := range spec.Names {
					all[name.Name] = spec.Values[i]
				}
			}
			return true
		})
	}
	return all
}

// eachStatement hands over the SQL of a function, the longest text each.
func eachStatement(function *ast.FuncDecl, texts map[string]ast.Expr, take func(ast.Node, string)) {
	ast.Inspect(function, func(node ast.Node) bool {
		e, ok := node.(ast.Expr)
		if !ok {
			return true
		}
		switch e.(type) {
		case *ast.BinaryExpr, *ast.BasicLit:
		default:
			return true
		}
		if query := textOf(e, texts, 0); sqlVerb.MatchString(query) {
			take(node, query)
			return false
		}
		return true
	})
}

// textOf is a text as far as it is written down; what is not is @.
func textOf(e ast.Expr, texts map[string]ast.Expr, depth int) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value) // the parser has checked it
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return textOf(e.X, texts, depth) + textOf(e.Y, texts, depth)
		}
	case *ast.Ident:
		if known := texts[e.Name]; known != nil && depth < 5 {
			return textOf(known, texts, depth+1)
		}
	}
	return "@"
}
