// Weaknesses makes the list of names of weaknesses that internal/weakness
// embeds: it reads MITRE's catalogue (cwec_vX.XX.xml, which MITRE's site and
// several packages bring along) and writes a line for each weakness and
// category, after MITRE's copyright and licence.
//
//	go run ./internal/tools/weaknesses <cwec_v4.15.xml >internal/weakness/catalogue.tsv
//
// Border: it reads standard input and writes standard output, and knows
// nothing of this repository.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	err := convert(os.Stdin, out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "weaknesses: reading MITRE's catalogue from standard input: %v\n", err)
		os.Exit(1)
	}
}
