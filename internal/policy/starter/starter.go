// Package starter contains the rules of a new server: a small set for common problems in most
// languages. Each message states the problem, its effect and the fix. The directory testdata
// contains matching and nonmatching code for each rule.
package starter

import (
	"embed"
	"fmt"
	"io/fs"

	"github.com/redoubt/redoubt/internal/policy"
)

//go:embed rules/*.yaml
var files embed.FS

// Rules returns all rules in the order of their files.
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
