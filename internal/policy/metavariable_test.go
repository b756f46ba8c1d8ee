package policy_test

import (
	"testing"

	"github.com/redoubt/redoubt/internal/policy"
)

func TestHasMetavariables(t *testing.T) {
	for rule, want := range map[string]bool{
		`{"pattern":"$X == $X"}`:                     true,
		`{"pattern":"f($...ARGS)"}`:                  true,
		`{"pattern":"f($X, ...)"}`:                   false,
		`{"pattern":"f(<... $X ...>)"}`:              false,
		`{"pattern":"f($X, $...ARGS)"}`:              true,
		`{"pattern":"eval(...)","message":"not $X"}`: false,
		`{"patterns":[{"pattern":"eval($X)"},{"pattern-inside":"function(...) {...}"}]}`: false,
		`{"pattern-either":[{"pattern":"eval($X)"},{"pattern":"exec(...)"}]}`:            false,
		`{"pattern-regex":"eval.*$"}`: false,
		`{"patterns":[{"pattern":"f($X)"},{"metavariable-regex":{"metavariable":"$X","regex":"^a"}}]}`: false,
		`{"id":"no pattern"}`:                                false,
		`{"id":"x","message":"eval(...)","pattern":"f($X)"}`: true,
		`{"pattern":"f($X)","match":"f(x)"}`:                 false,
		`{"pattern":"f($X)","taint":{"sources":["f(x)"]}}`:   false,
		`{"pattern":"f($X)","join":{"on":["a.x"]}}`:          false,
		`no JSON`: false,
	} {
		if got := policy.HasMetavariables([]byte(rule)); got != want {
			t.Errorf("%s: %v, want %v", rule, got, want)
		}
	}
}
