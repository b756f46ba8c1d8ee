package projects

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// projectsPerPage is the number of projects on a page.
const projectsPerPage = 100

// projectRow is a project with its open findings.
type projectRow struct {
	model.Project
	Bars   []component.Bar // by severity, most severe first, over all products
	Open   int
	Silent bool
}

// projectsPage is a list of projects.
type projectsPage struct {
	Rows   []projectRow
	Total  int
	All    int
	Query  string
	Tag    string
	Silent bool
	Sorts  []component.Choice
	Tags   []string
	Pages  ui.Pager
	Done   *ui.Message
}

// listProjects lists projects, by default those with the most severe findings first.
func listProjects(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	p := &projectsPage{Query: strings.TrimSpace(q.Get("q")), Tag: q.Get("tag"), Silent: q.Get("silent") != ""}
	bad := &model.InvalidError{}
	page := max(ui.Number(q, "page", bad), 1)
	if len(bad.Fields) > 0 {
		return bad
	}
	if q.Get("deleted") != "" {
		p.Done = &ui.Message{Code: "project-deleted", Text: "Project and all its data deleted."}
	}
	rows, err := projectRows(req)
	if err != nil {
		return err
	}
	p.All = len(rows)
	p.narrow(rows)
	address := func(name, value string) string {
		other := url.Values{}
		for _, key := range []string{"q", "tag", "silent", "sort"} {
			if q.Get(key) != "" {
				other.Set(key, q.Get(key))
			}
		}
		other.Del(name)
		if value != "" {
			other.Set(name, value)
		}
		if len(other) == 0 {
			return req.To("/projects")
		}
		return req.To("/projects?" + other.Encode())
	}
	p.sort(q.Get("sort"))
	for _, s := range [][2]string{{"", "Severity"}, {"name", "By name"}, {"scan", "Latest scan"}} {
		p.Sorts = append(p.Sorts, component.Choice{
			Label:   s[1],
			Address: address("sort", s[0]),
			Current: q.Get("sort") == s[0],
		})
	}
	p.Total = len(p.Rows)
	p.Pages = ui.NewPager(page, projectsPerPage, p.Total, func(n int) string { return address("page", strconv.Itoa(n)) })
	from := min((page-1)*projectsPerPage, p.Total)
	p.Rows = p.Rows[from:min(from+projectsPerPage, p.Total)]
	return req.Show(http.StatusOK, ui.Page{Template: "projects", Title: "Projects", Section: "projects", Data: p})
}

// projectRows reads all projects and counts their open findings.
func projectRows(req *ui.Request) ([]projectRow, error) {
	var all []model.Project
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		all, err = tx.Projects(ctx, store.ProjectQuery{})
		return err
	})
	if err != nil {
		return nil, err
	}
	view, err := req.Findings()
	if err != nil {
		return nil, err
	}
	open := map[string]*[model.SeverityCritical + 1]int{}
	for _, p := range ui.Products {
		filter := ui.AllFindings(p)
		filter.Statuses = []model.Status{model.StatusOpen}
		answer, err := view.List(req.HTTP.Context(), index.ListQuery{
			Filter: filter,
			Groups: []index.Grouping{index.ByProject},
		})
		if err != nil {
			return nil, err
		}
		for _, g := range answer.Groups[index.ByProject] {
			if open[g.Name] == nil {
				open[g.Name] = new([model.SeverityCritical + 1]int)
			}
			for severity, n := range g.Severity {
				open[g.Name][severity] += n
			}
		}
	}
	silent := req.Clock().AddDate(0, 0, -silentDays)
	rows := make([]projectRow, len(all))
	for i, p := range all {
		rows[i] = projectRow{Project: p, Silent: p.LatestScanAt.Before(silent)}
		if counts := open[p.Name]; counts != nil {
			rows[i].Bars, rows[i].Open = barsOf(*counts)
		}
	}
	return rows, nil
}

// barsOf converts counts by severity to bars, most severe first.
func barsOf(counts [model.SeverityCritical + 1]int) (bars []component.Bar, total int) {
	for severity := model.SeverityCritical; severity > 0; severity-- {
		if n := counts[severity]; n > 0 {
			bars = append(bars, component.Bar{Severity: severity.String(), Count: n})
			total += n
		}
	}
	return bars, total
}

func (p *projectsPage) narrow(rows []projectRow) {
	tags := map[string]bool{}
	for _, r := range rows {
		for _, tag := range r.Tags {
			tags[tag] = true
		}
		if strings.Contains(strings.ToLower(r.Name), strings.ToLower(p.Query)) &&
			(p.Tag == "" || slices.Contains(r.Tags, p.Tag)) && (!p.Silent || r.Silent) {
			p.Rows = append(p.Rows, r)
		}
	}
	for tag := range tags {
		p.Tags = append(p.Tags, tag)
	}
	slices.Sort(p.Tags)
}

func (p *projectsPage) sort(by string) {
	slices.SortStableFunc(p.Rows, func(a, b projectRow) int {
		switch by {
		case "name":
			return cmp.Compare(a.Name, b.Name)
		case "scan":
			return b.LatestScanAt.Compare(a.LatestScanAt)
		}
		return cmp.Or(moreSevere(a.Bars, b.Bars), cmp.Compare(a.Name, b.Name))
	})
}

// moreSevere compares counts, starting with the highest severity.
func moreSevere(a, b []component.Bar) int {
	for severity := model.SeverityCritical; severity > 0; severity-- {
		if c := cmp.Compare(countOf(b, severity), countOf(a, severity)); c != 0 {
			return c
		}
	}
	return 0
}

func countOf(bars []component.Bar, severity model.Severity) int {
	for _, b := range bars {
		if b.Severity == severity.String() {
			return b.Count
		}
	}
	return 0
}

// updateProject changes the settings of a project.
func updateProject(req *ui.Request, form url.Values) error {
	tags, err := model.NormalTags(strings.Split(form.Get("tags"), ","))
	if err != nil {
		return showProjectWith(req, http.StatusBadRequest, err.Error())
	}
	primary := strings.TrimSpace(form.Get("primary"))
	if primary != "" {
		primary = model.FullRef(primary)
	}
	visibility, ok := model.ParseVisibility(form.Get("visibility"))
	if !ok {
		return model.Invalid("visibility", "must be public, private or unknown")
	}
	diff, full := form.Get("managed_diff") != "", form.Get("managed_full") != ""
	every, ok := model.ParseRunEvery(form.Get("schedule"))
	if !ok && form.Has("schedule") {
		return model.Invalid("schedule", "must be weekly, daily, push or off")
	}
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		after, err := tx.UpdateProject(ctx, req.PathID, store.ProjectPatch{
			Tags:          &tags,
			PrimaryBranch: &primary,
			Visibility:    &visibility,
			ManagedDiff:   &diff,
			ManagedFull:   &full,
		})
		if err != nil || !ok {
			return err
		}
		plan, err := tx.RunPlan(ctx, after)
		if err == nil && plan.Every != every {
			plan.Every, plan.QueuedAt = every, tx.Now()
			err = tx.PutRunPlan(ctx, plan)
		}
		return err
	})
	return ui.RedirectAfter(req, err, "/projects/"+ui.Decimal(req.PathID)+"?saved=1")
}
