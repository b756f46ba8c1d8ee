// Adds to each pair on standard input the sign of its comparison by
// golang.org/x/mod/semver; leaves out what that does not read.
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

// prefixed writes a version of OSV, which leaves out the v, as Go does.
func prefixed(version string) string {
	return "v" + strings.TrimPrefix(version, "v")
}
