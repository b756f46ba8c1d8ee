package main

import (
	"strings"
	"testing"
)

// TestFirstStartPrintsTokenAndLink checks the output of a first start without a ready file.
func TestFirstStartPrintsTokenAndLink(t *testing.T) {
	var out strings.Builder
	ready{DeploymentSlug: "acme", Token: "rdt_x", SetupURL: "http://127.0.0.1:8080/setup/code"}.announce(&out)
	for _, want := range []string{"\n\n    rdt_x\n", "\n\n    http://127.0.0.1:8080/setup/code\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output is %q, want %q", out.String(), want)
		}
	}
	out.Reset()
	if (ready{}).announce(&out); out.Len() > 0 {
		t.Errorf("the output of a later start is %q", out.String())
	}
}
