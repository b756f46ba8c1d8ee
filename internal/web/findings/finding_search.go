package findings

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// search is the parsed address of a findings page. The address contains the complete state, so a
// link shows the same view to each user.
type search struct {
	product ui.Product
	base    string              // address without a query
	values  map[string][]string // included values, by facet
	except  map[string][]string // excluded values, as in -severities=low
	query   string
	about   string   // name of a vulnerability
	version string   // of the package
	since   string   // days, or a date
	branch  string   // empty: each finding once; primary; every
	order   string   // an index.Order; empty: by severity
	group   string   // empty, rule, project
	columns []string // visible optional columns; nil: all
	page    int      // starts at 1
	finding int64    // shown in the panel
	wide    string   // key of the facet that shows all its values; empty for none
	filter  model.FindingFilter
	people  *people   // possible assignees; nil if not needed
	now     time.Time // time of the request
	opened  openedView
}

// anyStatus removes the default status filter.
const anyStatus = "any"

// searchOf parses an address. Without a status parameter it selects open findings. All errors are
// in one *model.InvalidError.
func searchOf(p ui.Product, base string, q url.Values, now time.Time) (*search, error) {
	s := &search{
		product: p, base: base, values: map[string][]string{},
		except: map[string][]string{}, query: strings.TrimSpace(q.Get("q")),
		about: strings.TrimSpace(q.Get("advisory")), version: strings.TrimSpace(q.Get("version")),
		since: q.Get("since"), branch: q.Get("branch"), order: q.Get("sort"),
		group: q.Get("group"), columns: list(q, "columns"), page: 1,
	}
	s.filter = model.FindingFilter{
		IssueType: p.Type, Search: s.query, Dedup: s.branch != "every",
		Primary: s.branch == "primary", Except: &model.FindingFilter{},
	}
	bad := &model.InvalidError{}
	s.now = now
	s.readFacets(q, bad)
	s.readEnds()
	s.filter.Due, s.filter.Except.Due = s.dueWithin(s.values), s.dueWithin(s.except)
	s.readSince(now, bad)
	s.oneOf(&s.branch, bad, "branch", "primary", "every")
	s.readOrder(bad)
	s.readColumns(bad)
	s.oneOf(&s.group, bad, "group", "rule", "project")
	s.page = max(ui.Number(q, "page", bad), 1)
	s.finding = int64(ui.Number(q, "finding", bad))
	if s.wide = q.Get("facet"); !slices.ContainsFunc(facetsOf(p.Type), func(f facet) bool {
		return string(f.key) == s.wide
	}) {
		s.wide = "" // may be a facet of another product, which selects nothing
	}
	if len(bad.Fields) > 0 {
		return nil, bad
	}
	return s, nil
}

// searched parses an address and adds the aliases of a searched vulnerability, as findings may be
// stored under any of its names.
func searched(req *ui.Request, p ui.Product, q url.Values) (*search, error) {
	s, err := openView(req, p, q)
	if err != nil {
		return nil, err
	}
	if s.people, err = listPeople(req); err != nil || p.Type != model.SCA {
		return s, err
	}
	if err = narrowToVersion(req, s); err != nil || s.query+s.about == "" {
		return s, err
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if s.about == "" {
			s.filter.Named, err = tx.AdvisoryNames(ctx, s.query)
			return err
		}
		s.filter.Named, err = tx.AdvisoryNames(ctx, s.about)
		s.filter.Named = append(s.filter.Named, s.about)
		return err
	})
	return s, err
}

// narrowToVersion restricts the filter to one version of a package. Versions are not indexed and
// only stored in the body of a finding.
func narrowToVersion(req *ui.Request, s *search) error {
	if s.version == "" {
		return nil
	}
	view, err := req.Findings()
	if err != nil {
		return err
	}
	f := model.FindingFilter{IssueType: model.SCA, Projects: s.filter.Projects, Packages: s.filter.Packages}
	page, err := view.Page(req.HTTP.Context(), f, 0, max(view.Count(f), 1))
	if err != nil {
		return err
	}
	found, err := component.ShownFindings(page)
	if err != nil {
		return err
	}
	s.filter.HasIDs = true
	for _, finding := range found {
		if d := finding.FoundDependency; d != nil && d.Version == s.version {
			s.filter.IDs = append(s.filter.IDs, finding.ID)
		}
	}
	return nil
}

// readEnds sets the latest end of decisions.
func (s *search) readEnds() {
	for _, value := range s.values[string(index.FacetEnds)] {
		s.filter.EndsBy, _ = index.EndsBy(value, s.now)
	}
}

// dueWithin returns the filter for the selected due dates.
func (s *search) dueWithin(values map[string][]string) *model.DueFilter {
	var windows []model.DueWindow
	for _, value := range values[string(index.FacetDue)] {
		windows = append(windows, model.DueWindow(value))
	}
	return model.DueWithin(windows, s.now)
}

func (s *search) readFacets(q url.Values, bad *model.InvalidError) {
	for _, f := range facetsOf(s.product.Type) {
		key := string(f.key)
		included := list(q, key)
		switch f.key {
		case index.FacetProject:
			included = append(included, list(q, "repo")...) // used by links of the command line
		case index.FacetStatus:
			if len(included) == 0 && len(q["-"+key]) == 0 {
				included = []string{model.StatusOpen.String()}
			}
			included = slices.DeleteFunc(included, func(v string) bool { return v == anyStatus })
		}
		s.addValues(f, key, included, s.values, &s.filter, bad)
		s.addValues(f, key, list(q, "-"+key), s.except, s.filter.Except, bad)
	}
}

// addValues adds the values of a facet to a filter.
func (s *search) addValues(
	f facet, key string, values []string, into map[string][]string, filter *model.FindingFilter, bad *model.InvalidError,
) {
	if len(values) == 0 {
		return
	}
	if f.single {
		values = values[len(values)-1:]
	}
	into[key] = values
	for _, v := range f.set(filter, values) {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: key,
			Message:  "unknown value " + strconv.Quote(v) + ": use " + strings.Join(f.order, ", "),
			Value:    v,
		})
	}
}

// list returns the distinct non-empty values of a repeated parameter.
func list(q url.Values, key string) []string {
	var out []string
	for _, v := range q[key] {
		if v = strings.TrimSpace(v); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// readSince parses a number of days, such as 30, or a date.
func (s *search) readSince(now time.Time, bad *model.InvalidError) {
	if s.since == "" {
		return
	}
	if days, err := strconv.Atoi(s.since); err == nil && days > 0 && days < 36500 {
		s.filter.Since = now.AddDate(0, 0, -days)
		return
	}
	day, err := time.Parse(time.DateOnly, s.since)
	if err != nil {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: "since",
			Message:  "must be a number of days or a date (YYYY-MM-DD)",
			Value:    s.since,
		})
	}
	s.filter.Since = day
}

func (s *search) oneOf(v *string, bad *model.InvalidError, name string, words ...string) {
	if *v != "" && !slices.Contains(words, *v) {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: name,
			Message:  "must be one of " + strings.Join(words, ", "),
			Value:    *v,
		})
	}
}

// params returns the state as a canonical query.
func (s *search) params() url.Values {
	q := url.Values{}
	for key, values := range s.values {
		q[key] = slices.Sorted(slices.Values(values))
	}
	for key, values := range s.except {
		q["-"+key] = slices.Sorted(slices.Values(values))
	}
	status := string(index.FacetStatus)
	switch {
	case slices.Equal(s.values[status], []string{"open"}) && len(s.except[status]) == 0:
		delete(q, status) // this is the default
	case len(s.values[status])+len(s.except[status]) == 0:
		q.Set(status, anyStatus)
	}
	if len(s.columns) > 0 {
		q["columns"] = s.columns
	}
	for name, v := range map[string]string{
		"q":        s.query,
		"advisory": s.about,
		"version":  s.version,
		"since":    s.since,
		"branch":   s.branch,
		"sort":     s.order,
		"group":    s.group,
		"facet":    s.wide,
	} {
		if v != "" {
			q.Set(name, v)
		}
	}
	if s.page > 1 {
		q.Set("page", strconv.Itoa(s.page))
	}
	if s.finding > 0 {
		q.Set("finding", strconv.FormatInt(s.finding, 10))
	}
	return q
}

// with returns the address after a change. It leads to the first page.
func (s *search) with(change func(*search)) string {
	other := *s
	other.values, other.except = cloned(s.values), cloned(s.except)
	other.page, other.finding = 1, 0
	change(&other)
	return other.address()
}

func cloned(m map[string][]string) map[string][]string {
	out := make(map[string][]string, len(m))
	for k, v := range m {
		out[k] = slices.Clone(v)
	}
	return out
}

// toggle returns the address with a value added to or removed from the included or excluded values.
func (s *search) toggle(f facet, value string, exclude bool) string {
	key := string(f.key)
	return s.with(func(o *search) {
		from, to := o.except, o.values
		if exclude {
			from, to = to, from
		}
		drop(from, key, value)
		switch {
		case slices.Contains(to[key], value):
			drop(to, key, value)
		case f.single:
			to[key] = []string{value}
		default:
			to[key] = append(to[key], value)
		}
	})
}

func drop(from map[string][]string, key, value string) {
	from[key] = slices.DeleteFunc(from[key], func(v string) bool { return v == value })
	if len(from[key]) == 0 {
		delete(from, key)
	}
}

// chosen returns the included and excluded values of a facet.
func (s *search) chosen(f facet) []string {
	return append(slices.Clone(s.values[string(f.key)]), s.except[string(f.key)]...)
}

// narrowed reports whether the state selects anything but the default.
func (s *search) narrowed() bool {
	q := s.params()
	for _, name := range unselective {
		q.Del(name)
	}
	return len(q) > 0
}

// wideFacet is the maximum number of values that a facet shows.
const wideFacet = 1000

// question returns the index query of the page.
func (s *search) question() index.ListQuery {
	q := index.ListQuery{
		Filter: s.filter,
		Now:    s.now,
		Order:  index.MostSevere,
		Skip:   (s.page - 1) * ui.PerPage,
		Size:   ui.PerPage,
		Values: 8,
	}
	if order, ok := index.ParseOrder(s.order); ok {
		q.Order = order
	}
	switch s.group {
	case "rule":
		q.Groups = []index.Grouping{index.ByRule}
	case "project":
		q.Groups = []index.Grouping{index.ByProject}
	}
	for _, f := range facetsOf(s.product.Type) {
		selected := s.chosen(f)
		if f.key == index.FacetAssignee && s.people != nil {
			selected = append(selected, s.people.me, model.AssigneeNone)
		}
		request := index.FacetRequest{Facet: f.key, Include: selected}
		if string(f.key) == s.wide {
			request.Values = wideFacet
		}
		q.Facets = append(q.Facets, request)
	}
	return q
}
