package findings

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// findingsPage is the data of a findings page.
type findingsPage struct {
	*search
	Product   ui.Product
	Version   int64 // version of the deployment; decisions about rows refer to it
	Total     int
	Rows      []findingRow
	Groups    []groupRow // replace the rows if the list is grouped
	Facets    []facetView
	Chips     []chip
	Orders    []component.Choice
	Groupings []component.Choice
	Branches  []component.Choice
	Columns   []columnChoice
	Views     viewMenu
	Pages     ui.Pager
	Detail    *findingDetail     // in the panel; nil for none
	Bare      bool               // the deployment has no findings of the product
	Done      *decision          // the decision that was just made
	News      component.News     // changes since the page was opened
	Hidden    []component.Param  // hidden fields of the search form
	Clear     string             // address of the page without filters
	Any       string             // address with the same filters and any status
	Exports   []component.Choice // download links for all selected findings
	Elsewhere int                // number of matching occurrences on other branches, if the list is empty
	Every     string             // address of these occurrences
}

// Query returns the search text.
func (p *findingsPage) Query() string { return p.query }

// Encoded returns the state as a query, for forms.
func (p *findingsPage) Encoded() string { return p.addressed().Encode() }

// Type returns the API name of the product.
func (p *findingsPage) Type() string { return p.Product.Type.String() }

// CurrentAddress returns the address of the page, for decisions to return to.
func (p *findingsPage) CurrentAddress() string { return p.onPage(p.page) }

// Group returns the grouping, or an empty string.
func (p *findingsPage) Group() string { return p.group }

// Branch returns how branches are shown.
func (p *findingsPage) Branch() string { return p.branch }

// Narrowed reports whether any filters are set.
func (p *findingsPage) Narrowed() bool { return p.narrowed() }

type findingRow struct {
	component.ShownFinding
	Address string // address of the list with the finding in the panel
	Own     string // address of its own page
	Current bool
}

type facetView struct {
	Label  string
	Key    string
	Open   bool
	Values []valueView
	More   int    // number of further values that are not listed
	Wide   bool   // the facet shows all its values
	All    string // address with all values
	Fewer  string // address with only the first values
}

type valueView struct {
	Value, Label       string
	Count              int
	Include, Exclude   string // addresses
	Included, Excluded bool
	CanExclude         bool
}

// chip is an active filter, and the address without it.
type chip struct {
	Label, Value string
	Not          bool
	Without      string
}

// listFindings shows one of the three findings pages.
func listFindings(t model.IssueType) func(*ui.Request) error {
	return func(req *ui.Request) error {
		return req.InOneView(func() error {
			q, err := withDefaultView(req, t, req.HTTP.URL.Query())
			if err != nil {
				return err
			}
			return showFindings(req, http.StatusOK, t, q, viewForm{}, nil)
		})
	}
}

// showFindings shows the list for a query, with the form that saves it. refused adds the faults of
// a form to the finding in the panel.
func showFindings(
	req *ui.Request, status int, t model.IssueType, q url.Values, form viewForm, refused func(*findingDetail),
) error {
	s, err := searched(req, ui.ProductOf(t), q)
	if err != nil {
		return err
	}
	page, err := newFindingsPage(req, s)
	if err != nil {
		return err
	}
	if refused != nil && page.Detail != nil {
		refused(page.Detail)
	}
	if page.Views, err = newViewMenu(req, s, form); err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "findings", Title: s.product.Title, Section: s.product.Section, Data: page})
}

func newFindingsPage(req *ui.Request, s *search) (*findingsPage, error) {
	view, err := req.Findings()
	if err != nil {
		return nil, err
	}
	answer, err := view.List(req.HTTP.Context(), s.question())
	if err != nil {
		return nil, err
	}
	shown, err := component.ShownFindings(answer.Page)
	if err != nil {
		return nil, err
	}
	p := &findingsPage{
		search: s, Product: s.product, Version: view.Version(),
		Total: answer.Total, Facets: s.facetViews(answer.Facets), Chips: s.chips(),
		Clear: s.plain(), Columns: s.columnChoices(), Exports: s.exports(),
		Hidden: s.hidden(func(o *search) { o.query = "" }), Any: s.with(func(o *search) {
			delete(o.values, string(index.FacetStatus))
			delete(o.except, string(index.FacetStatus))
		}),
	}
	for _, f := range shown {
		p.Rows = append(p.Rows, newFindingRow(req, s, f))
	}
	p.options()
	for _, groups := range answer.Groups { // at most one grouping
		p.grouped(groups)
	}
	if err := explain(req, p); err != nil {
		return nil, err
	}
	if s.group == "" {
		p.Pages = ui.NewPager(s.page, ui.PerPage, answer.Total, s.onPage)
	}
	if p.Total == 0 {
		p.Bare = view.Count(model.FindingFilter{IssueType: s.filter.IssueType}) == 0
		f := s.filter
		f.Dedup, f.Primary = false, false
		p.Elsewhere, p.Every = view.Count(f), s.with(func(o *search) { o.branch = "every" })
	}
	if p.News, err = component.NewsOf(req, view, s.address(), s.lists(), p.Total); err != nil {
		return nil, err
	}
	if p.Done, err = lastDecision(req, req.HTTP.URL.Query().Get("done"), s.address()); err != nil {
		return nil, err
	}
	if s.finding != 0 {
		if p.Detail, err = detail(req, view, s.finding, s.address()); err != nil {
			return nil, err
		}
		err = evaluateGate(req, view, p.Detail)
	}
	return p, err
}

func newFindingRow(req *ui.Request, s *search, f component.ShownFinding) findingRow {
	if f.Assignee != "" {
		f.Person = s.people.label(f.Assignee)
	}
	return findingRow{
		ShownFinding: f, Own: req.To("/findings/" + strconv.FormatInt(f.ID, 10)), Current: f.ID == s.finding,
		Address: s.with(func(o *search) { o.page, o.finding = s.page, f.ID }),
	}
}

func (s *search) onPage(n int) string { return s.with(func(o *search) { o.page = n }) }

// options sets the options for order, grouping and deduplication.
func (p *findingsPage) options() {
	pick := func(now string, set func(*search, string), words ...string) (out []component.Choice) {
		for i := 0; i < len(words); i += 2 {
			out = append(out, component.Choice{
				Label:   words[i+1],
				Address: p.with(func(o *search) { set(o, words[i]) }),
				Current: now == words[i],
			})
		}
		return out
	}
	var orders []string
	for _, o := range orderWords {
		switch {
		case o.order == index.MostSevere:
			orders = append(orders, "", o.label)
		case o.order.AppliesTo(p.product.Type):
			orders = append(orders, o.order.String(), o.label)
		}
	}
	p.Orders = pick(p.order, func(o *search, w string) { o.order = w }, orders...)
	p.Groupings = pick(p.group, func(o *search, w string) {
		o.group = w
	}, "", "Not grouped", "rule", "By rule", "project", "By project")
	p.Branches = pick(p.branch, func(o *search, w string) { o.branch = w },
		"", "Deduplicated (primary first)", "primary", "Primary branches only", "every", "All branches")
}

// facetViews returns the facets with counts and labels, in display order.
func (s *search) facetViews(counted map[index.Facet]index.FacetCounts) []facetView {
	var out []facetView
	for _, f := range facetsOf(s.product.Type) {
		counts := counted[f.key]
		chosen := s.chosen(f)
		view := facetView{
			Label: f.label,
			Key:   string(f.key),
			Open:  !f.folded || len(chosen) > 0,
			More:  counts.More,
			Wide:  s.wide == string(f.key),
		}
		view.Open = view.Open || view.Wide
		view.All, view.Fewer = s.widened(view.Key), s.widened("")
		for _, c := range counts.Values {
			if f.key == index.FacetIncludeHistory && c.Value == "true" {
				continue // this is the default
			}
			view.Values = append(view.Values, valueView{
				Value: c.Value, Label: s.label(f, c.Value), Count: c.Count,
				Include: s.toggle(f, c.Value, false), Exclude: s.toggle(f, c.Value, true),
				CanExclude: !f.single || f.key == index.FacetRef,
				Included:   slices.Contains(s.values[view.Key], c.Value), Excluded: slices.Contains(s.except[view.Key], c.Value),
			})
		}
		if f.key == index.FacetAssignee {
			view.Values = s.meFirst(view.Values)
		}
		if f.order != nil {
			slices.SortStableFunc(view.Values, func(a, b valueView) int {
				return slices.Index(f.order, a.Value) - slices.Index(f.order, b.Value)
			})
		}
		if len(view.Values) > 1 || len(chosen) > 0 {
			out = append(out, view)
		}
	}
	return out
}

// widened returns the address with all values of a facet. The list stays unchanged.
func (s *search) widened(key string) string {
	return s.with(func(o *search) { o.wide, o.page, o.finding = key, s.page, s.finding })
}

// meFirst moves the viewer and the value for unassigned findings to the start.
func (s *search) meFirst(values []valueView) []valueView {
	rank := func(v valueView) int {
		switch {
		case s.people != nil && v.Value == s.people.me:
			return 0
		case v.Value == model.AssigneeNone:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(values, func(a, b valueView) int { return rank(a) - rank(b) })
	return values
}

// dueWords contains the display names of the due date windows.
var dueWords = map[model.DueWindow]string{
	model.DueOverdue: "Overdue", model.Due7Days: "Within 7 days",
	model.Due30Days: "Within 30 days", model.DueLater: "Later", model.DueNone: "No date",
}

// label returns the display name of a value.
func (s *search) label(f facet, value string) string {
	switch {
	case f.key == index.FacetAssignee:
		return s.people.label(value)
	case f.key == index.FacetEnds && value == "any":
		return "Any date"
	case f.key == index.FacetEnds:
		return "Within " + value + " days"
	case f.key == index.FacetDue:
		return dueWords[model.DueWindow(value)]
	case f.key == index.FacetRef:
		return ui.Branch(value)
	case f.key == index.FacetReason:
		return ui.ReasonWord(value)
	case f.key == index.FacetExploited && value == "true":
		return "Known exploited"
	case f.key == index.FacetExploited:
		return "Not known to be exploited"
	case f.key == index.FacetUnrated && value == "true":
		return "Not rated"
	case f.key == index.FacetUnrated:
		return "Rated"
	case f.key == index.FacetIncludeHistory:
		return "Current files only"
	case value == "true":
		return "Yes"
	case value == "false":
		return "No"
	case f.order != nil:
		return ui.Capital(value)
	}
	return value
}

// chips returns the active filters.
func (s *search) chips() []chip {
	var out []chip
	for _, f := range facetsOf(s.product.Type) {
		for _, value := range s.values[string(f.key)] {
			out = append(out, chip{f.label, s.label(f, value), false, s.toggle(f, value, false)})
		}
		for _, value := range s.except[string(f.key)] {
			out = append(out, chip{f.label, s.label(f, value), true, s.toggle(f, value, true)})
		}
	}
	if s.query != "" {
		out = append(out, chip{"Search", s.query, false, s.with(func(o *search) { o.query = "" })})
	}
	if s.version != "" {
		out = append(out, chip{"Version", s.version, false, s.with(func(o *search) { o.version = "" })})
	}
	if s.about != "" {
		out = append(out, chip{"Vulnerability", s.about, false, s.with(func(o *search) { o.about = "" })})
	}
	if s.since != "" {
		label := s.since
		if _, err := strconv.Atoi(s.since); err == nil {
			label = "the last " + s.since + " days"
		}
		out = append(out, chip{"Since", label, false, s.with(func(o *search) { o.since = "" })})
	}
	return out
}

// hidden returns the hidden fields of a form. change removes the fields that the form itself
// contains.
func (s *search) hidden(change func(*search)) []component.Param {
	other := *s
	other.page, other.finding = 1, 0
	change(&other)
	return paramsOf(other.addressed())
}

func paramsOf(q url.Values) []component.Param {
	var out []component.Param
	for name, values := range q {
		for _, v := range values {
			out = append(out, component.Param{Name: name, Value: v})
		}
	}
	slices.SortFunc(out, func(a, b component.Param) int {
		return slices.Compare([]string{a.Name, a.Value}, []string{b.Name, b.Value})
	})
	return out
}
