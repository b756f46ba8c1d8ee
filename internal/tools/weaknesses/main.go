// Weaknesses converts MITRE's catalog (cwec_vX.XX.xml) to the list of names that internal/weakness
// embeds. It reads standard input and writes a line for each weakness and category to standard
// output.
//
//	go run ./internal/tools/weaknesses <cwec_v4.15.xml >internal/weakness/catalogue.tsv
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
		fmt.Fprintf(os.Stderr, "weaknesses: reading MITRE's catalog from standard input: %v\n", err)
		os.Exit(1)
	}
}
