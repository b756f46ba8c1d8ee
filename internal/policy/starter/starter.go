// Package starter has the rules that a fresh server starts with: few, of our own
// writing, for what is wrong in most languages' code. Each says what is wrong,
// why it matters and how to mend it, and has code in testdata that it finds and
// code that it leaves alone.
//
// Its border: texts. Policies decide what becomes of them, as of any rules.
package starter

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/redoubt/redoubt/internal/policy"
)

//go:embed rules/*.yaml
var files embed.FS

// Rules are all of them, in the order of their files.
func Rules() (rules []policy.Rule, err error) {
	names, err := fs.Glob(files, "rules/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		parsed, err := policy.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rules = append(rules, parsed...)
	}
	return rules, nil
}
