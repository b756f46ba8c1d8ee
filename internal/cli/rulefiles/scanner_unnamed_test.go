package rulefiles

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
)

// TestUnnamedRejectedRules checks that no rule is added if the scanner rejects rules
// without naming one. That includes --skip-invalid, as the rules to skip are unknown.
func TestUnnamedRejectedRules(t *testing.T) {
	dir := rulesIn(t, map[string]string{"good.yaml": ruleText("good", "x"), "bad.yaml": ruleText("shapeless", "x")})
	scanner := fakeScanner(t, `for f; do :; done
if grep -q shapeless "$f"; then echo "[ERROR] Invalid rule schema in $f" >&2; exit 7; fi
`)
	broken := fakeScanner(t, "echo no memory >&2; exit 2\n")
	a := &command.App{Ctx: t.Context(), Out: t.Output(), Err: t.Output(), Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	for _, skip := range []bool{false, true} {
		for program, want := range map[string]string{scanner: "Invalid rule schema in the rules", broken: "no memory"} {
			set, err := Read([]string{dir}, skip)
			if err != nil {
				t.Fatal(err)
			}
			checked, err := set.Check(a, program, skip)
			if checked || err == nil || !strings.Contains(err.Error(), want) || len(set.Left) != 0 {
				t.Errorf("skip %v: %v, %v and %v", skip, checked, err, set.Left)
			}
		}
	}
}
