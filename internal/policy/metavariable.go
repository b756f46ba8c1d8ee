package policy

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// metavariable matches a metavariable in a pattern: $X or $...ARGS.
var metavariable = regexp.MustCompile(`\$(?:\.\.\.)?[A-Z_]`)

// HasMetavariables reports whether every pattern of a rule, given as JSON, has a metavariable and
// no ellipsis. Then match_based_id identifies the matched code. With an ellipsis, as in foo($X,
// ...), the ID does not depend on the code in its place.
func HasMetavariables(rule []byte) bool {
	var members map[string]any
	if json.Unmarshal(rule, &members) != nil {
		return false
	}
	maps.DeleteFunc(members, func(name string, _ any) bool {
		return !strings.HasPrefix(name, "pattern") && name != "match" && name != "taint" && name != "join"
	})
	return len(members) > 0 && bound(slices.Collect(maps.Values(members)))
}

func bound(v any) bool {
	switch v := v.(type) {
	case string:
		return metavariable.MatchString(v) && !strings.Contains(strings.ReplaceAll(v, "$...", "$"), "...")
	case []any:
		return !slices.ContainsFunc(v, func(inner any) bool { return !bound(inner) })
	case map[string]any:
		return bound(slices.Collect(maps.Values(v)))
	}
	return true
}
