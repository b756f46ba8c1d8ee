package scm

import (
	"fmt"
	"strings"
	"testing"
)

// TestRefFoundAmongManyRefs checks that a ref is found among many refs whose names end with it.
// Any user with push access can create those.
func TestRefFoundAmongManyRefs(t *testing.T) {
	const commit = "0123456789012345678901234567890123456789"
	var output strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&output, "%s\trefs/heads/a%d/refs/heads/main\n", commit[1:]+"f", i)
	}
	output.WriteString(commit + "\trefs/heads/main\n" + commit + "\trefs/heads/z/refs/heads/main\n")
	for _, size := range []int{1, 7, 4096, output.Len()} {
		lines := refLines{ref: "refs/heads/main"}
		for text := output.String(); text != ""; {
			n, err := lines.Write([]byte(text[:min(size, len(text))]))
			if err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		if got := lines.matched.String(); got != commit+"\trefs/heads/main\n" {
			t.Errorf("in parts of %d: %.200q", size, got)
		}
	}
}
