package projects

import (
	"cmp"
	"context"
	"net/http"
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

// Time spans and limits of the overview.
const (
	trendWeeks = 13 // default
	silentDays = 14
	topRows    = 6
)

// overviewPage is the data of the overview.
type overviewPage struct {
	Bare      bool        // there are no projects
	Start     *startState // setup progress if the viewer has steps left; nil otherwise
	Products  []productSummary
	Open      int
	Chart     chart
	Fix       []index.FixTime
	Targets   []targetRow // by severity; empty if no policy has due days
	ByTag     []targetRow
	Rules     []topRow
	Projects  []topRow
	Failing   []failing
	Managed   []managedRow // projects whose managed scans are enabled but not working
	Unmanaged int          // total number of these projects
	Silent    []model.Project
	SilentAll int
	Days      int
	Scope     overviewScope
	Period    period
	Ages      []ageBucket
	Visit     *sinceVisit
	Sources   []sourceAge
	Stale     bool // the vulnerability data is stale
	News      component.News
}

// OpenAddress returns the address of the open findings.
func (s productSummary) OpenAddress() string {
	return narrowed(s.Address, string(index.FacetStatus), model.StatusOpen.String())
}

// productSummary counts the open findings of a product.
type productSummary struct {
	Product  ui.Product
	Open     int
	Address  string
	Severity []severityCount
	NotRated severityCount // medium findings without a rating
	Overdue  severityCount
}

type severityCount struct {
	Severity string
	Count    int
	Address  string
	Share    float64 // of the product's open findings, in percent
	Offset   float64 // sum of the shares of the previous bars
}

type topRow struct {
	Name, Address string
	Bars          []component.Bar
}

type failing struct {
	model.Scan
	Project string
}

// sinceVisit contains the changes since the viewer's last visit.
type sinceVisit struct {
	At         time.Time
	New, Fixed int
	Address    string // of the new findings
}

// overview shows the state of the deployment.
func overview(req *ui.Request) error {
	start, err := loadStartState(req, false)
	if err != nil {
		return err
	}
	scope, err := readOverviewScope(req)
	if err != nil {
		return err
	}
	p := &overviewPage{Days: silentDays, Scope: scope}
	if start.Open(req.Viewer) {
		if !start.Scanned() {
			return showStart(req, start)
		}
		p.Start = start
	}
	view, err := req.Findings()
	if err != nil {
		return err
	}
	now := req.Clock()
	ends := weeks(now, 2*scope.Weeks) // the period and the one before
	points := make([]index.TrendPoint, len(ends)-1)
	var filters []model.FindingFilter
	for _, product := range scope.products() {
		if err := summarizeProduct(req, view, p, product); err != nil {
			return err
		}
		filters = append(filters, scope.of(product))
		sum(points, view.Trend(scope.of(product), ends))
	}
	ends = ends[scope.Weeks:]
	p.Period, p.Ages = periodOf(points), agesOf(view, filters, now)
	p.Chart = newChart(points[scope.Weeks:])
	p.Fix = view.FixTimes(ends[0], filters...)
	p.Targets, p.ByTag = targets(req, view, scope, ends[0])
	if err := fillChoices(req, &p.Scope); err != nil {
		return err
	}
	trim(&p.Rules)
	trim(&p.Projects)
	if err := health(req, p, now); err != nil {
		return err
	}
	if p.Sources, p.Stale, err = sourceAges(req); err != nil {
		return err
	}
	p.Visit = lastVisit(req, view, now)
	if p.News, err = component.NewsOf(req, view, req.To("/overview"), nil, p.Open); err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "overview", Title: "Overview", Section: "overview", Data: p})
}

func sum(into, add []index.TrendPoint) {
	for i, p := range add {
		into[i].At = p.At
		into[i].New += p.New
		into[i].Fixed += p.Fixed
		into[i].Decided += p.Decided
		into[i].Open += p.Open
	}
}

// summarizeProduct counts the open findings of a product, and its top rules and projects.
func summarizeProduct(req *ui.Request, view *index.View, p *overviewPage, product ui.Product) error {
	filter := p.Scope.of(product)
	filter.Statuses = []model.Status{model.StatusOpen}
	s := productSummary{Product: product, Address: p.Scope.narrow(req.To(product.Path))}
	answer, err := view.List(req.HTTP.Context(), index.ListQuery{
		Filter: filter, Groups: []index.Grouping{index.ByRule, index.ByProject}, Values: 5, Facets: []index.FacetRequest{
			{Facet: index.FacetSeverity},
			{Facet: index.FacetUnrated},
			{Facet: index.FacetDue},
		}, Now: req.Clock(),
	})
	if err != nil {
		return err
	}
	s.Open = answer.Total
	s.severities(answer.Facets)
	for _, g := range answer.Groups[index.ByRule] {
		p.Rules = append(p.Rules, topOf(g, narrowed(s.Address, string(index.FacetRule), g.Name)))
	}
	for _, g := range answer.Groups[index.ByProject] {
		address := req.To("/projects/" + ui.Decimal(g.ID)) // shows all products
		if p.Scope.Product != "" {
			address = narrowed(req.To(product.Path), string(index.FacetProject), g.Name)
		}
		p.Projects = append(p.Projects, topOf(g, address))
	}
	p.Open += s.Open
	p.Products = append(p.Products, s)
	return nil
}

// severities computes the parts of a bar, most severe first.
func (s *productSummary) severities(facets map[index.Facet]index.FacetCounts) {
	s.Severity = nil
	offset := 0.0
	for severity := model.SeverityCritical; severity > 0; severity-- {
		c := severityCount{Severity: severity.String(), Address: withSeverity(s.Address, severity), Offset: offset}
		c.Count = having(facets[index.FacetSeverity], c.Severity)
		if s.Open > 0 {
			c.Share = 100 * float64(c.Count) / float64(s.Open)
		}
		offset += c.Share
		s.Severity = append(s.Severity, c)
	}
	s.NotRated = severityCount{
		Count:   having(facets[index.FacetUnrated], "true"),
		Address: narrowed(s.Address, string(index.FacetUnrated), "true"),
	}
	overdue := string(model.DueOverdue)
	s.Overdue = severityCount{
		Count:   having(facets[index.FacetDue], overdue),
		Address: narrowed(s.Address, string(index.FacetDue), overdue),
	}
}

// having returns the number of findings with a value of a facet.
func having(counts index.FacetCounts, value string) int {
	for _, c := range counts.Values {
		if c.Value == value {
			return c.Count
		}
	}
	return 0
}

// withSeverity adds a severity to the address of findings.
func withSeverity(address string, severity model.Severity) string {
	return narrowed(address, string(index.FacetSeverity), severity.String())
}

// narrowed adds a parameter to the address of findings.
func narrowed(address, key, value string) string {
	sign := "?"
	if strings.Contains(address, "?") {
		sign = "&"
	}
	return address + sign + key + "=" + url.QueryEscape(value)
}

// topOf returns the row of a group of one product.
func topOf(g index.Group, address string) topRow {
	row := topRow{Name: g.Name, Address: address}
	for severity := model.SeverityCritical; severity > 0; severity-- {
		b := component.Bar{Severity: severity.String(), Count: g.Severity[severity], Address: address}
		if strings.Contains(address, "?") { // a list of one product; the page of a project has all
			b.Address = withSeverity(address, severity)
		}
		row.Bars = append(row.Bars, b)
	}
	return row
}

// trim merges the products' rows by name and truncates them to the most severe.
func trim(rows *[]topRow) {
	byName := map[string]*topRow{}
	for _, r := range *rows {
		known := byName[r.Name]
		if known == nil {
			byName[r.Name] = &r
			continue
		}
		for i := range known.Bars {
			known.Bars[i].Count += r.Bars[i].Count
		}
	}
	out := make([]topRow, 0, len(byName))
	for _, r := range byName {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b topRow) int {
		for i := range a.Bars {
			if a.Bars[i].Count != b.Bars[i].Count {
				return cmp.Compare(b.Bars[i].Count, a.Bars[i].Count)
			}
		}
		return cmp.Compare(a.Name, b.Name)
	})
	*rows = out[:min(len(out), topRows)]
}

// health reads the failing and the silent projects.
func health(req *ui.Request, p *overviewPage, now time.Time) error {
	return req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.Silent, p.SilentAll, err = tx.ProjectsWithoutScan(ctx, now.AddDate(0, 0, -silentDays), topRows); err != nil {
			return err
		}
		scans, err := tx.FailingScans(ctx, now.AddDate(0, 0, -7*trendWeeks), topRows)
		if err != nil {
			return err
		}
		ids := model.Map(scans, func(s model.Scan) int64 { return s.ProjectID })
		names, err := tx.ProjectNames(ctx, ids)
		if err != nil {
			return err
		}
		for _, s := range scans {
			p.Failing = append(p.Failing, failing{s, names[s.ProjectID]})
		}
		if p.Managed, p.Unmanaged, err = unmanaged(ctx, req, tx); err != nil {
			return err
		}
		one, err := tx.Projects(ctx, store.ProjectQuery{Limit: 1})
		p.Bare = len(one) == 0
		return err
	})
}

// seenCookie stores the times of the previous and of the current visit, in Unix seconds.
const seenCookie = "redoubt_seen"

// newVisit is the minimum absence before a new visit.
const newVisit = 30 * time.Minute

// lastVisit returns the changes since the viewer's last visit. The time of the visit is only stored
// in the browser.
func lastVisit(req *ui.Request, view *index.View, now time.Time) *sinceVisit {
	var before, latest int64
	if c, err := req.HTTP.Cookie(seenCookie); err == nil {
		a, b, _ := strings.Cut(c.Value, ".")
		before, _ = strconv.ParseInt(a, 10, 64)
		latest, _ = strconv.ParseInt(b, 10, 64)
	}
	if latest == 0 || now.Sub(time.Unix(latest, 0)) > newVisit {
		before = latest
	}
	http.SetCookie(req.Writer, &http.Cookie{
		Name: seenCookie, Value: ui.Decimal(before) + "." + ui.Decimal(now.Unix()),
		Path: req.To("/overview"), MaxAge: 400 * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: req.IsSecure(),
	})
	at := time.Unix(before, 0).UTC()
	if before <= 0 || !at.Before(now) {
		return nil
	}
	out := &sinceVisit{At: at, Address: req.To("/findings?since=" + at.Format(time.DateOnly))}
	for _, p := range ui.Products {
		for _, point := range view.Trend(ui.AllFindings(p), []time.Time{at, now}) {
			out.New += point.New
			out.Fixed += point.Fixed
		}
	}
	return out
}
