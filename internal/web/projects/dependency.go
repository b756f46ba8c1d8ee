package projects

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const dependenciesPerPage = 100

// dependenciesPage is a search for dependencies in all projects.
type dependenciesPage struct {
	Rows       []dependencyRow
	Query      url.Values
	Ecosystems []string
	Next       string
	First      string
	Fault      []model.FieldError
	Unread     []unreadRow
	Searched   bool
	Projects   int // number of distinct projects on this page
}

type dependencyRow struct {
	model.Dependency
	Project        string
	Users          string                // address of all projects that use the package
	Risk           int                   // open vulnerabilities of this version in the project
	RiskAt         string                // address of these vulnerabilities
	DependencyPath *model.DependencyPath // how it is included; only if one package is selected
}

// unreadRow is a lockfile that a scanner found but could not parse.
type unreadRow struct {
	component.ScanRow
	Path string
}

// listDependencies lists dependencies.
func listDependencies(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	p := &dependenciesPage{Query: q}
	for _, name := range []string{"name", "lower", "upper", "ecosystem", "license", "project", "lockfile", "version"} {
		p.Searched = p.Searched || strings.TrimSpace(q.Get(name)) != ""
	}
	var after int64
	if text := q.Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil {
			return model.Invalid("after", "invalid position: start from the first page")
		}
	}
	status := http.StatusOK
	err := req.View(func(ctx context.Context, tx *store.Tx) error { return dependencies(ctx, req, tx, p, after) })
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		status, p.Fault, err = http.StatusBadRequest, inForm(invalid.Fields), nil
	}
	if err != nil {
		return err
	}
	if err := risks(req, p); err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "dependencies", Title: "Dependencies", Section: "dependencies", Data: p})
}

// inForm renames fields to their names in the form.
func inForm(fields []model.FieldError) []model.FieldError {
	names := map[string]string{"versionLowerBound": "from", "versionUpperBound": "to"}
	for i, f := range fields {
		last := f.Location[strings.LastIndexByte(f.Location, '.')+1:]
		if name := names[last]; name != "" {
			fields[i].Location = name
		}
	}
	return fields
}

func dependencies(ctx context.Context, req *ui.Request, tx *store.Tx, p *dependenciesPage, after int64) (err error) {
	if p.Ecosystems, err = tx.Ecosystems(ctx); err != nil {
		return err
	}
	if err := unread(ctx, req, tx, p); err != nil {
		return err
	}
	f, err := dependencyFilter(ctx, tx, p.Query)
	if err != nil {
		return err
	}
	rows, more, err := tx.Dependencies(ctx, f, after, dependenciesPerPage)
	if err != nil {
		return err
	}
	ids := map[int64]bool{}
	for _, d := range rows {
		ids[d.ProjectID] = true
	}
	names, err := tx.ProjectNames(ctx, keysOf(ids))
	p.Projects = len(ids)
	for _, d := range rows {
		p.Rows = append(p.Rows, dependencyRow{
			Dependency: d, Project: names[d.ProjectID],
			Users: req.To("/supply-chain/dependencies?" + url.Values{
				"name":      {d.Name},
				"exact":     {"1"},
				"ecosystem": {d.Ecosystem},
			}.Encode()),
		})
	}
	if err := p.readPaths(ctx, tx); err != nil {
		return err
	}
	q := url.Values{}
	maps.Copy(q, p.Query)
	q.Del("after")
	if after > 0 {
		p.First = req.To("/supply-chain/dependencies?" + q.Encode())
	}
	if more {
		q.Set("after", ui.Decimal(rows[len(rows)-1].ID))
		p.Next = req.To("/supply-chain/dependencies?" + q.Encode())
	}
	return err
}

// readPaths reads how each project includes the selected package.
func (p *dependenciesPage) readPaths(ctx context.Context, tx *store.Tx) error {
	if p.Query.Get("exact") == "" || strings.TrimSpace(p.Query.Get("name")) == "" {
		return nil
	}
	ids := model.Map(p.Rows, func(row dependencyRow) int64 { return row.ID })
	paths, err := tx.DependencyPaths(ctx, ids)
	for i, row := range p.Rows {
		if path := paths[row.ID]; len(path.Steps) > 1 {
			p.Rows[i].DependencyPath = &path
		}
	}
	return err
}

func keysOf(set map[int64]bool) []int64 {
	out := make([]int64, 0, len(set))
	for id := range set {
		out = append(out, id)
	}
	return out
}

// dependencyFilter parses a query.
func dependencyFilter(ctx context.Context, tx *store.Tx, q url.Values) (model.DependencyFilter, error) {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	f := model.DependencyFilter{Version: get("version"), Lockfile: get("lockfile")}
	p := model.PackageFilter{
		Name:      get("name"),
		ExactName: q.Get("exact") != "",
		Lower:     get("lower"),
		Upper:     get("upper"),
		Ecosystem: get("ecosystem"),
	}
	if p != (model.PackageFilter{}) {
		f.Packages = []model.PackageFilter{p}
	}
	if license := get("license"); license != "" {
		f.Licenses = []string{license}
	}
	if name := get("project"); name != "" {
		project, err := tx.ProjectByName(ctx, name)
		if err != nil {
			return f, model.Invalid("project", "%.80q not found", name)
		}
		f.ProjectIDs = []int64{project.ID}
	}
	return f, nil
}

// holding is a version of a package in a project.
type holding struct {
	project                  int64
	ecosystem, name, version string
}

// risks counts the open vulnerabilities of each dependency on the page: those of its version, in
// its project, on the primary branch.
func risks(req *ui.Request, p *dependenciesPage) error {
	view, err := req.Findings()
	if err != nil || len(p.Rows) == 0 {
		return err
	}
	f := model.FindingFilter{IssueType: model.SCA, Primary: true, Statuses: []model.Status{model.StatusOpen}}
	for _, row := range p.Rows {
		f.Packages, f.ProjectIDs = append(f.Packages, row.Name), append(f.ProjectIDs, row.ProjectID)
	}
	slices.Sort(f.Packages)
	slices.Sort(f.ProjectIDs)
	f.Packages, f.ProjectIDs = slices.Compact(f.Packages), slices.Compact(f.ProjectIDs)
	page, err := view.Page(req.HTTP.Context(), f, 0, max(view.Count(f), 1))
	if err != nil {
		return err
	}
	found, err := component.ShownFindings(page)
	if err != nil {
		return err
	}
	ids := map[string]int64{}
	for _, row := range p.Rows {
		ids[row.Project] = row.ProjectID
	}
	open := map[holding]int{}
	for _, finding := range found {
		if d := finding.FoundDependency; d != nil {
			open[holding{ids[finding.Repository.Name], d.Ecosystem, d.Package, d.Version}]++
		}
	}
	for i, row := range p.Rows {
		p.Rows[i].Risk = open[holding{row.ProjectID, row.Ecosystem, row.Name, row.Version}]
		p.Rows[i].RiskAt = req.To("/supply-chain/vulnerabilities?" + url.Values{
			"branch":       {"primary"},
			"dependencies": {row.Name},
			"repos":        {row.Project},
			"version":      {row.Version},
		}.Encode())
	}
	return nil
}

// unread reads the lockfiles that no parser supports.
func unread(ctx context.Context, req *ui.Request, tx *store.Tx, p *dependenciesPage) error {
	scans, err := tx.ScansWithUnread(ctx, req.Clock().AddDate(0, 0, -7*trendWeeks), 50)
	if err != nil {
		return err
	}
	names, err := tx.ProjectNames(ctx, projectsOf(scans))
	if err != nil {
		return err
	}
	rows, err := component.ScanRows(ctx, req, tx, scans, names)
	for _, row := range rows {
		for _, path := range row.Unread {
			p.Unread = append(p.Unread, unreadRow{row, path})
		}
	}
	return err
}
