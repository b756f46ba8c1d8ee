package web

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
)

// unselective are the words of a findings page that select nothing, and those that need
// the advisories to be understood.
var (
	unselective = []string{"sort", "group", "page", "finding", "facet"}
	lookedUp    = []string{"advisory", "version"}
	selective   = []string{"q", "since", "branch", "repo"}
)

// FindingFilter reads the query of a findings page for one issue type, for those who keep
// it, as the rules of notifications do. Selects is false where it asks for what findings
// of that type do not have. What will not do is a *redoubt.InvalidError.
func FindingFilter(t redoubt.IssueType, query string, now time.Time) (f redoubt.FindingFilter, selects bool, err error) {
	q, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		return f, false, redoubt.Invalid("filter", "the filter is what stands behind the ? of a findings page, as severities=high&branch=primary")
	}
	selects = true
	for key := range q {
		known := func(f facet) bool { return string(f.key) == strings.TrimPrefix(key, "-") }
		switch {
		case slices.Contains(lookedUp, key):
			return f, false, redoubt.Invalid("filter", "%s cannot be kept in a filter: use q for the name of a vulnerability or a package", key)
		case slices.Contains(unselective, key), slices.Contains(selective, key), slices.ContainsFunc(facetsOf(t), known):
		case slices.ContainsFunc(facets, known): // of another product
			selects = false
		default:
			return f, false, redoubt.Invalid("filter", "%.40q is no word of a filter", key)
		}
	}
	s, err := searchOf(productOf(t), "", q, now)
	if invalid, ok := err.(*redoubt.InvalidError); ok { //nolint:errorlint // searchOf wraps nothing
		return f, false, redoubt.Invalid("filter", "%s", invalid.Error())
	}
	return s.filter, selects, err
}
