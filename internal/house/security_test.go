package house

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// security is the page that names the tests which hold its promises.
const security = "docs/security.md"

var testName = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]*)`")

// promisesAreTested finds names of tests on the page about security that no package has.
func promisesAreTested(src *source) (broken []string) {
	known := map[string]bool{}
	for _, f := range src.files {
		if !f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				known[fn.Name.Name] = true
			}
		}
	}
	for i, line := range strings.Split(src.text(security), "\n") {
		for _, found := range testName.FindAllStringSubmatch(line, -1) {
			if !known[found[1]] {
				broken = append(broken, fmt.Sprintf("%s:%d: names %s, which is no test: say which one holds it now, or why none does", security, i+1, found[1]))
			}
		}
	}
	return broken
}
