package findings

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Parameters of a findings page by effect: unselective ones do not filter, and lookedUp ones
// require a lookup of advisories or findings.
var (
	unselective = []string{"sort", "group", "columns", "page", "finding", "facet"}
	lookedUp    = []string{"advisory", "version"}
	selective   = []string{"q", "since", "branch", "repo"}
)

// Filter parses the query of a findings page for one issue type, as stored in notification rules.
// selects is false if the query filters by properties that findings of that type do not have.
// Invalid input is a *model.InvalidError.
func Filter(t model.IssueType, query string, now time.Time) (f model.FindingFilter, selects bool, err error) {
	s, selects, err := parseQuery("filter", t, query, now)
	if s == nil {
		return f, selects, err
	}
	return s.filter, selects, err
}

// Query parses the complete query of a findings page for one issue type, as stored in saved views.
// Invalid input is a *model.InvalidError about the field query.
func Query(t model.IssueType, query string, now time.Time) (index.PageQuery, error) {
	s, selects, err := parseQuery("query", t, query, now)
	switch {
	case err != nil:
		return index.PageQuery{}, err
	case !selects:
		return index.PageQuery{}, model.Invalid(
			"query", "contains a filter that does not apply to the issue type %s", t,
		)
	}
	return index.PageQuery{Filter: s.filter, Order: s.question().Order, Text: s.storedQuery()}, nil
}

// parseQuery parses a stored query. Errors contain what as its name.
func parseQuery(what string, t model.IssueType, query string, now time.Time) (s *search, selects bool, err error) {
	q, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
	if err != nil {
		return nil, false, model.Invalid(
			what, "invalid %s: use the part after ? of a findings page, such as severities=high&branch=primary", what,
		)
	}
	selects = true
	for key := range q {
		known := func(f facet) bool { return string(f.key) == strings.TrimPrefix(key, "-") }
		switch {
		case slices.Contains(lookedUp, key):
			return nil, false, model.Invalid(
				what, "%s is not allowed in a %s: use q for the name of a vulnerability or a package", key, what,
			)
		case key == viewWord:
			return nil, false, model.Invalid(what, "a %s cannot contain a saved view: use its filters", what)
		case slices.Contains(unselective, key), slices.Contains(selective, key), slices.ContainsFunc(facetsOf(t), known):
		case slices.ContainsFunc(facets, known): // facet of another product
			selects = false
		default:
			return nil, false, model.Invalid(what, "unknown parameter %.40q of a %s", key, what)
		}
	}
	s, err = searchOf(ui.ProductOf(t), "", q, now)
	if invalid, ok := err.(*model.InvalidError); ok { //nolint:errorlint // searchOf wraps nothing
		return nil, false, model.Invalid(what, "%s", invalid.Error())
	}
	return s, selects, err
}
