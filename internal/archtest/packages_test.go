package archtest

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	architecture   = "ARCHITECTURE.md"
	maxImportDepth = 5
)

// row is a row of the table in ARCHITECTURE.md. It covers a package and all packages below it
// without a separate row.
type row struct {
	path  string // from the module's root; "." for the root package alone
	layer int    // from 1 to 5
}

var tableRow = regexp.MustCompile("(?m)^\\| `([^` ]+)` \\| ([1-5]) \\| ")

func readRows(page string) (rows []row) {
	for _, found := range tableRow.FindAllStringSubmatch(page, -1) {
		layer, _ := strconv.Atoi(found[2]) // only digits, by the pattern
		rows = append(rows, row{found[1], layer})
	}
	return rows
}

// layer returns the layer of a package by its longest row, or 0 if it has none.
func (s *source) layer(dir string) int {
	var best row
	for _, r := range s.rows {
		if within(dir, r.path) && len(r.path) > len(best.path) {
			best = r
		}
	}
	return best.layer
}

// unit returns the folder of internal/ (or cmd) that a package belongs to. Its packages may import each other.
func unit(dir string) string {
	parts := strings.Split(dir, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return "internal/" + parts[1]
	}
	return parts[0]
}

func packagesHaveRows(src *source) (found findings) {
	seen := map[string]bool{}
	dirs := src.packages()
	for _, dir := range dirs {
		if src.layer(dir) == 0 {
			found.add(dir, "%s: no row in %s: add one with the layer of the package", dir, architecture)
		}
	}
	for _, r := range src.rows {
		if seen[r.path] || !slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, r.path) }) {
			found.add(r.path, "%s: row %s is doubled or has no package: remove it", architecture, r.path)
		}
		seen[r.path] = true
	}
	return found
}

func importsPointDown(src *source) (found findings) {
	for _, f := range src.code() {
		for _, imported := range f.imports() {
			dir, local := localDir(imported)
			from, to := src.layer(f.dir()), src.layer(dir)
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case !local && slices.Contains(vocabulary, f.dir()) && strings.Contains(first, "."):
				found.add(f.dir(), "%s: %s is not in the standard library: move the code that needs it to another package",
					f.path, imported)
			case local && unit(dir) != unit(f.dir()) && to >= from:
				found.add(f.dir(), "%s (layer %d) imports %s (layer %d): declare an interface that cmd satisfies, "+
					"or move the shared code down", f.path, from, dir, to)
			}
		}
	}
	return found
}

func areasAreSeparate(src *source) (found findings) {
	for _, f := range src.code() {
		folder, area := path.Split(f.dir())
		base, divided := areas[strings.TrimSuffix(folder, "/")]
		if !divided {
			continue
		}
		for _, imported := range f.imports() {
			dir, local := localDir(imported)
			parent, name := path.Split(dir)
			if local && parent == folder && name != area && !slices.Contains(base, name) {
				found.add(f.dir(), "%s imports %s: move the shared code to %s", f.path, dir, strings.Join(base, " or "))
			}
		}
	}
	return found
}

func importsAreShallow(src *source) (found findings) {
	graph := map[string][]string{}
	for _, f := range src.code() {
		for _, imported := range f.imports() {
			if dir, local := localDir(imported); local {
				graph[f.dir()] = append(graph[f.dir()], dir)
			}
		}
	}
	chains := map[string][]string{}
	var longest []string
	for _, dir := range slices.Sorted(maps.Keys(graph)) {
		if chain := longestChain(graph, dir, chains); len(chain) > len(longest) {
			longest = chain
		}
	}
	if len(longest) > maxImportDepth {
		found.add(longest[0], "%s: %d units in a chain of imports, at most %d: let one of them accept an interface",
			strings.Join(longest, " → "), len(longest), maxImportDepth)
	}
	return found
}

// longestChain returns the units of the longest chain of imports that starts at a package.
// It ends because the compiler forbids cycles.
func longestChain(graph map[string][]string, dir string, known map[string][]string) []string {
	if chain, ok := known[dir]; ok {
		return chain
	}
	best := []string{unit(dir)}
	for _, imported := range graph[dir] {
		chain := longestChain(graph, imported, known)
		if chain[0] != unit(dir) {
			chain = append([]string{unit(dir)}, chain...)
		}
		if len(chain) > len(best) {
			best = chain
		}
	}
	known[dir] = best
	return best
}

func librariesAreConfined(src *source) (found findings) {
	for _, f := range src.code() {
		for _, imported := range f.imports() {
			for _, c := range confined {
				if within(imported, c.library) && !withinAny(f.dir(), c.packages) && !isForTests(f.dir()) {
					found.add(f.dir(), "%s: %s is only for %s (%s): move this code there, or accept the result as an argument",
						f.path, imported, strings.Join(c.packages, ", "), c.reason)
				}
			}
		}
	}
	return found
}

func testPackagesStayInTests(src *source) (found findings) {
	for _, f := range src.code() {
		for _, imported := range f.imports() {
			if dir, local := localDir(imported); local && isForTests(dir) && !isForTests(f.dir()) {
				found.add(f.dir(), "%s: %s is for tests: import it in a _test.go file only", f.path, dir)
			}
		}
	}
	return found
}

// isForTests recognizes a test package by its name, as httptest and iotest in the standard library.
func isForTests(dir string) bool {
	return strings.HasSuffix(dir, "test") || within(dir, "internal/testutil")
}

// ambient lists the functions that read the clock and the environment.
var ambient = map[string][]string{
	"time": {"Now", "Since", "Until"},
	"os":   {"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
}

func clockIsParameter(src *source) (found findings) {
	for _, f := range src.code() {
		if withinAny(f.dir(), clockReaders) || isForTests(f.dir()) {
			continue
		}
		names := f.importNames()
		ast.Inspect(f.ast, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if ok && slices.Contains(ambient[names[pkg.Name]], selector.Sel.Name) {
				found.add(f.dir(), "%s: %s.%s is only for %s: accept a clock (func() time.Time) or the value as an argument",
					f.at(node), pkg.Name, selector.Sel.Name, strings.Join(clockReaders, ", "))
			}
			return true
		})
	}
	return found
}

func packagesAreDocumented(src *source) (found findings) {
	documented := map[string]bool{}
	for _, f := range src.code() {
		documented[f.dir()] = documented[f.dir()] || strings.TrimSpace(f.ast.Doc.Text()) != ""
	}
	for _, dir := range src.packages() {
		if has, isCode := documented[dir]; isCode && !has {
			found.add(dir, "%s: no package comment: describe the package in up to three sentences", dir)
		}
	}
	return found
}
