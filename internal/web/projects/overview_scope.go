package projects

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
	"github.com/redoubt/redoubt/internal/web/ui"
)

// periods are the available periods of an overview in weeks.
var periods = []int{4, trendWeeks, 26, 52}

// overviewScope is the scope of an overview, as parsed from its address.
type overviewScope struct {
	Weeks                 int
	Tag, Project, Product string   // empty for all
	Tags, Projects        []string // options of the form
}

// maxOffered is the maximum number of projects in a form.
const maxOffered = 500

// readOverviewScope parses the scope in the address.
func readOverviewScope(req *ui.Request) (s overviewScope, err error) {
	q := req.HTTP.URL.Query()
	s = overviewScope{
		Tag:     strings.TrimSpace(q.Get("tag")),
		Project: strings.TrimSpace(q.Get("project")),
		Product: q.Get("product"),
	}
	if s.Weeks, err = weeksOf(q); err != nil {
		return s, err
	}
	if _, ok := model.ParseIssueType(s.Product); !ok && s.Product != "" {
		return s, model.Invalid("product", "must be sast, sca, secrets or empty")
	}
	return s, nil
}

// weeksOf parses the number of weeks in an address.
func weeksOf(q url.Values) (int, error) {
	text := q.Get("weeks")
	if text == "" {
		return trendWeeks, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || !slices.Contains(periods, n) {
		return 0, model.Invalid("weeks", "must be 4, 13, 26 or 52")
	}
	return n, nil
}

// Periods returns the available periods in weeks.
func (overviewScope) Periods() []int { return periods }

// Narrow reports whether the overview excludes projects.
func (s overviewScope) Narrow() bool { return s.Tag != "" || s.Project != "" }

// products returns the products of the overview.
func (s overviewScope) products() []ui.Product {
	if t, ok := model.ParseIssueType(s.Product); ok {
		return []ui.Product{ui.ProductOf(t)}
	}
	return ui.Products
}

// of selects each finding of a product in the scope once.
func (s overviewScope) of(p ui.Product) model.FindingFilter {
	f := ui.AllFindings(p)
	if s.Tag != "" {
		f.ProjectTags = []string{s.Tag}
	}
	if s.Project != "" {
		f.Projects = []string{s.Project}
	}
	return f
}

// narrow restricts the address of a list to the scope's findings.
func (s overviewScope) narrow(list string) string {
	list = s.narrowProject(list)
	if s.Tag != "" {
		list = narrowed(list, string(index.FacetProjectTag), s.Tag)
	}
	return list
}

// narrowProject restricts the address of a list to the project's findings, with any tags.
func (s overviewScope) narrowProject(list string) string {
	if s.Project != "" {
		list = narrowed(list, string(index.FacetProject), s.Project)
	}
	return list
}

// fillChoices reads the options of the form.
func fillChoices(req *ui.Request, s *overviewScope) error {
	return req.View(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Projects(ctx, store.ProjectQuery{Limit: maxOffered})
		for _, p := range list {
			s.Projects = append(s.Projects, p.Name)
			s.Tags = append(s.Tags, p.Tags...)
		}
		slices.Sort(s.Tags)
		s.Tags = slices.Compact(s.Tags)
		s.Tags = s.Tags[:min(len(s.Tags), maxOffered)]
		return err
	})
}

// period counts the changes in a period and in the one before.
type period struct {
	New, Fixed, Net                   int // Net is the change in the number of open findings
	NewBefore, FixedBefore, NetBefore int
}

// periodOf sums up points. The second half is the period.
func periodOf(points []index.TrendPoint) (p period) {
	half := len(points) / 2
	for i, point := range points {
		net := point.New - point.Fixed - point.Decided
		if i < half {
			p.NewBefore, p.FixedBefore, p.NetBefore = p.NewBefore+point.New, p.FixedBefore+point.Fixed, p.NetBefore+net
		} else {
			p.New, p.Fixed, p.Net = p.New+point.New, p.Fixed+point.Fixed, p.Net+net
		}
	}
	return p
}

// ageBucket counts the open findings of an age.
type ageBucket struct {
	Label string
	Count int
	Share float64 // of all open findings, in percent
}

// agesOf counts the open findings by age.
func agesOf(view *index.View, filters []model.FindingFilter, now time.Time) []ageBucket {
	buckets := []ageBucket{
		{Label: "Up to 7 days"},
		{Label: "8 to 30 days"},
		{Label: "31 to 90 days"},
		{Label: "Older than 90 days"},
	}
	since := []time.Time{now.AddDate(0, 0, -7), now.AddDate(0, 0, -30), now.AddDate(0, 0, -90), {}}
	all := 0
	for _, f := range filters {
		f.Statuses = []model.Status{model.StatusOpen}
		younger := 0
		for i := range buckets {
			f.Since = since[i]
			n := view.Count(f)
			buckets[i].Count += n - younger
			younger = n
		}
		all += younger
	}
	for i := range buckets {
		buckets[i].Share = 100 * float64(buckets[i].Count) / float64(max(all, 1))
	}
	return buckets
}
