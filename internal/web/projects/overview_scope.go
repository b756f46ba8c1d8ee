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

// periods are how many weeks an overview may look back.
var periods = []int{4, trendWeeks, 26, 52}

// overviewScope is what an overview is of, as its address says.
type overviewScope struct {
	Weeks                 int
	Tag, Project, Product string   // empty for all
	Tags, Projects        []string // to choose from
}

// maxOffered is how many projects and tags a form offers.
const maxOffered = 500

// readOverviewScope reads the address.
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
		return s, model.Invalid("product", "is sast, sca or secrets, or nothing for all")
	}
	return s, nil
}

// weeksOf reads from an address how many weeks to look back.
func weeksOf(q url.Values) (int, error) {
	text := q.Get("weeks")
	if text == "" {
		return trendWeeks, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || !slices.Contains(periods, n) {
		return 0, model.Invalid("weeks", "is 4, 13, 26 or 52")
	}
	return n, nil
}

// Periods are what may be chosen.
func (overviewScope) Periods() []int { return periods }

// Narrow reports whether the overview leaves projects out.
func (s overviewScope) Narrow() bool { return s.Tag != "" || s.Project != "" }

// products are those that the overview is of.
func (s overviewScope) products() []ui.Product {
	if t, ok := model.ParseIssueType(s.Product); ok {
		return []ui.Product{ui.ProductOf(t)}
	}
	return ui.Products
}

// of selects each finding of a product once.
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

// narrow is the address of a list of the scope's findings.
func (s overviewScope) narrow(list string) string {
	list = s.narrowProject(list)
	if s.Tag != "" {
		list = narrowed(list, string(index.FacetProjectTag), s.Tag)
	}
	return list
}

// narrowProject is the address of a list of the project's findings, whatever its tags.
func (s overviewScope) narrowProject(list string) string {
	if s.Project != "" {
		list = narrowed(list, string(index.FacetProject), s.Project)
	}
	return list
}

// fillChoices reads what may be chosen.
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

// period is what happened in it, beside what happened in as long a time before.
type period struct {
	New, Fixed, Net                   int // Net is by how many more are open at its end
	NewBefore, FixedBefore, NetBefore int
}

// periodOf reads points of which the second half are the period.
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

// ageBucket is how many findings are open for so long.
type ageBucket struct {
	Label string
	Count int
	Share float64 // of all that are open, in percent
}

// agesOf counts what is open by how long it is there.
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
