// This program appends to each pair of versions on standard input the sign of their comparison by
// golang.org/x/mod/semver. It omits pairs that package cannot parse.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/mod/semver"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		a, b, _ := strings.Cut(lines.Text(), "\t")
		left, right := prefixed(a), prefixed(b)
		if semver.IsValid(left) && semver.IsValid(right) {
			fmt.Printf("%s\t%s\t%d\n", a, b, semver.Compare(left, right))
		}
	}
}

// prefixed adds the v of Go's versions, which OSV omits.
func prefixed(version string) string {
	return "v" + strings.TrimPrefix(version, "v")
}
