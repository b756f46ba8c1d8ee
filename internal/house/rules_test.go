package house

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

// House numbers.
const (
	maxFileLines     = 500
	maxFunctionLines = 60
	maxLongShare     = 0.02 // of all functions may be longer than maxFunctionLines
	maxImportDepth   = 5    // packages in the longest chain of imports
)

// rule reads the source and lists what breaks it, each with the place and what to do.
type rule struct {
	name  string
	check func(*source) []string
}

var rules = []rule{
	{"every package has a room", everyPackageHasARoom},
	{"rooms import only what the table allows", importsFollowTheTable},
	{"some imports are confined to a few rooms", confinedImports},
	{"only tests import what is for tests", testPackagesAreForTests},
	{"clock and environment are handed in", clockIsHandedIn},
	{"the import graph is shallow", importsAreShallow},
	{"every package has a doc comment", packagesAreDocumented},
	{"files are short", filesAreShort},
	{"functions are short", functionsAreShort},
	{"no path of somebody's machine", noMachinePaths},
	{"nothing is left for later", nothingLeftForLater},
	{"citations lead somewhere", citationsLeadSomewhere},
	{"promises are tested", promisesAreTested},
	{"links lead somewhere", linksLeadSomewhere},
	{"ways lead somewhere", waysLeadSomewhere},
	{"words have types", wordsHaveTypes},
	{"migrations have numbers of their own", migrationsAreNumbered},
	{"statements name their tenant", statementsNameTheirTenant},
}

func everyPackageHasARoom(src *source) (broken []string) {
	for _, dir := range src.packages() {
		if roomOf(dir) == nil {
			broken = append(broken, dir+": no room for this package: move it into one, or add a row to rooms_test.go and ARCHITECTURE.md")
		}
	}
	return broken
}

func importsFollowTheTable(src *source) (broken []string) {
	for _, f := range src.code() {
		from := roomOf(f.dir())
		if from == nil {
			continue // said by everyPackageHasARoom
		}
		for _, imported := range f.imports() {
			dir, local := localDir(imported)
			switch to := roomOf(dir); {
			case !local && from.stdOnly && !isStd(imported):
				broken = append(broken, fmt.Sprintf("%s: %q imports the standard library only: move what needs %s to another room", f.path, from.path, imported))
			case local && to != nil && to != from && !slices.Contains(from.imports, to.path):
				broken = append(broken, fmt.Sprintf("%s: room %q may not import %q: declare an interface where it is needed and let cmd wire it, "+
					"or move the shared type to internal/model", f.path, from.path, to.path))
			}
		}
	}
	return broken
}

func confinedImports(src *source) (broken []string) {
	for _, f := range src.code() {
		for _, imported := range f.imports() {
			for _, c := range confined {
				isIn := func(room string) bool { return within(f.dir(), room) }
				if within(imported, c.path) && !slices.ContainsFunc(c.rooms, isIn) {
					broken = append(broken, fmt.Sprintf("%s: %s is only for %s (%s): move this code there, or take what it needs as an argument",
						f.path, imported, strings.Join(c.rooms, ", "), c.why))
				}
			}
		}
	}
	return broken
}

// testPackagesAreForTests holds apart what ships and what only judges it: oracles, fixtures, set-ups. Their packages' names end in test.
func testPackagesAreForTests(src *source) (broken []string) {
	for _, f := range src.code() {
		for _, imported := range f.imports() {
			if dir, local := localDir(imported); local && isForTests(dir) && !isForTests(f.dir()) {
				broken = append(broken, fmt.Sprintf("%s: %s is for tests: import it in a _test.go file, or move what this needs of it to code that ships", f.path, dir))
			}
		}
	}
	return broken
}

// isForTests tells a package by its name, as those of the standard library: httptest, iotest.
func isForTests(dir string) bool { return strings.HasSuffix(dir, "test") }

// outside lists the functions through which the clock and the environment come in.
var outside = map[string][]string{
	"time": {"Now", "Since", "Until"},
	"os":   {"Getenv", "LookupEnv", "Environ", "ExpandEnv"},
}

func clockIsHandedIn(src *source) (broken []string) {
	for _, f := range src.code() {
		if r := roomOf(f.dir()); r == nil || r.clock {
			continue
		}
		names := importNames(f)
		ast.Inspect(f.ast, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := selector.X.(*ast.Ident)
			if ok && slices.Contains(outside[names[pkg.Name]], selector.Sel.Name) {
				broken = append(broken, fmt.Sprintf("%s: %s.%s is only for cmd and internal/config: take a clock (func() time.Time) or the value as an argument",
					f.at(node), pkg.Name, selector.Sel.Name))
			}
			return true
		})
	}
	return broken
}

// importNames maps the names under which a file knows the packages of outside to their import paths.
func importNames(f *file) map[string]string {
	names := map[string]string{}
	for _, spec := range f.ast.Imports {
		name := importPath(spec)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = importPath(spec)
	}
	return names
}

func importsAreShallow(src *source) []string {
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
	for dir := range graph {
		if chain := longestChain(graph, dir, chains); len(chain) > len(longest) {
			longest = chain
		}
	}
	if len(longest) <= maxImportDepth {
		return nil
	}
	return []string{fmt.Sprintf("%s: %d packages in a chain of imports, at most %d: let one of them take an interface instead",
		strings.Join(longest, " → "), len(longest), maxImportDepth)}
}

// longestChain is the longest chain of imports that starts at a package; the compiler sees to it that there are no cycles.
func longestChain(graph map[string][]string, dir string, known map[string][]string) []string {
	if chain, ok := known[dir]; ok {
		return chain
	}
	var below []string
	for _, imported := range graph[dir] {
		if chain := longestChain(graph, imported, known); len(chain) > len(below) {
			below = chain
		}
	}
	known[dir] = append([]string{dir}, below...)
	return known[dir]
}

func packagesAreDocumented(src *source) (broken []string) {
	documented := map[string]bool{}
	for _, f := range src.code() {
		documented[f.dir()] = documented[f.dir()] || strings.TrimSpace(f.ast.Doc.Text()) != ""
	}
	for _, dir := range src.packages() {
		if has, isCode := documented[dir]; isCode && !has {
			broken = append(broken, dir+": no package comment: say in one paragraph what it does and where its border is")
		}
	}
	return broken
}

func filesAreShort(src *source) (broken []string) {
	for _, f := range src.files {
		if f.lines > maxFileLines && !ast.IsGenerated(f.ast) {
			broken = append(broken, fmt.Sprintf("%s: %d lines, at most %d: split it by what its parts do", f.path, f.lines, maxFileLines))
		}
	}
	return broken
}

func functionsAreShort(src *source) []string {
	var long []string
	all := 0
	for _, f := range src.code() {
		if ast.IsGenerated(f.ast) {
			continue
		}
		for _, declaration := range f.ast.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			all++
			if lines := f.fset.Position(function.End()).Line - f.fset.Position(function.Pos()).Line + 1; lines > maxFunctionLines {
				long = append(long, fmt.Sprintf("%s: %s has %d lines, at most %d (but for %.0f %% of all functions): name its steps and call them",
					f.at(function), function.Name.Name, lines, maxFunctionLines, 100*maxLongShare))
			}
		}
	}
	if float64(len(long)) <= maxLongShare*float64(all) {
		return nil
	}
	return long
}

// The words are put together here so that this file does not hold them.
var (
	machinePath = regexp.MustCompile(`(?m)(^|[^\w./*-])/(work|root|t` + `mp)/`)
	laterMark   = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
)

func noMachinePaths(src *source) []string {
	return grep(src, machinePath, "names a path of one machine: use a relative path, a flag or os.MkdirTemp", func(path string) bool {
		return strings.HasSuffix(path, "_test.go") // a test may make up any path
	})
}

func nothingLeftForLater(src *source) []string {
	return grep(src, laterMark, "finish it now, or open an issue and take the mark out", func(string) bool { return false })
}

// grep lists the lines of tracked texts in which a pattern is found. Files of others, which THIRD_PARTY.md names, are as they came.
func grep(src *source, pattern *regexp.Regexp, advice string, except func(path string) bool) (found []string) {
	foreign := src.text("internal/about/THIRD_PARTY.md")
	for _, t := range src.texts {
		if strings.Contains(foreign, "`"+t.path+"`") || except(t.path) {
			continue
		}
		number := 0
		for line := range strings.Lines(t.content) {
			number++
			if pattern.MatchString(line) {
				found = append(found, fmt.Sprintf("%s:%d: %q: %s", t.path, number, clip(strings.TrimSpace(line)), advice))
			}
		}
	}
	return found
}

// clip shortens a line to print it.
func clip(line string) string {
	if len(line) > 120 {
		return strings.ToValidUTF8(line[:120], "") + "…"
	}
	return line
}
