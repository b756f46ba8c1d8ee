package projects

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const (
	projectScans = 10               // maximum number of scans
	maxBranches  = 20               // maximum number of branches
	readBranches = 10 * maxBranches // number of branches read, of which the most recently scanned are listed
)

// projectPage is the page of one project.
type projectPage struct {
	model.Project
	Managed    managedRow
	Summaries  []productSummary
	Chart      chart
	Periods    []component.Choice
	Weeks      int
	Rules      []topRow
	Refs       []branchRow
	MoreRefs   bool // Refs does not contain all branches
	Packages   []packageRisk
	PackageAll int // number of packages with open findings
	Scans      []component.ScanRow
	Lockfiles  []model.LockfileSummary
	Saved      bool
	Fault      string
}

// branchRow is a branch with its open findings and latest scan.
type branchRow struct {
	Ref     string
	Primary bool
	Parts   []refPart
	Scan    *component.ScanRow // nil if there is none
}

// refPart counts the open findings of one product.
type refPart struct {
	Product string
	Open    int
	Address string
}

func showProject(req *ui.Request) error {
	return showProjectWith(req, http.StatusOK, "")
}

func showProjectWith(req *ui.Request, status int, fault string) error {
	q := req.HTTP.URL.Query()
	weeks, err := weeksOf(q)
	if err != nil {
		return err
	}
	p := &projectPage{Saved: q.Get("saved") != "", Fault: fault, Weeks: weeks}
	var latest []component.ScanRow
	err = req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.Project, err = tx.Project(ctx, req.PathID); err != nil {
			return err
		}
		if latest, err = scansOf(ctx, req, tx, p); err != nil {
			return err
		}
		managed, err := managedOf(ctx, req, tx, p.Project)
		if err != nil {
			return err
		}
		p.Managed = managed[0]
		p.Lockfiles, _, err = tx.Lockfiles(ctx, req.PathID, model.DependencyFilter{}, 0, 100)
		return err
	})
	if err != nil {
		return err
	}
	for _, n := range periods {
		p.Periods = append(p.Periods, component.Choice{
			Label:   strconv.Itoa(n) + " weeks",
			Address: req.To("/projects/" + ui.Decimal(req.PathID) + "?weeks=" + strconv.Itoa(n)), Current: n == p.Weeks,
		})
	}
	if err := openIn(req, p, latest); err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "project", Title: p.Name, Section: "projects", Data: p})
}

// scansOf reads the newest scans of a project, and the latest of each branch.
func scansOf(
	ctx context.Context, req *ui.Request, tx *store.Tx, p *projectPage,
) (latest []component.ScanRow, err error) {
	names := map[int64]string{p.ID: p.Name}
	scans, _, err := tx.Scans(ctx, model.ScanFilter{ProjectID: p.ID}, store.ScanCursor{}, projectScans)
	if err != nil {
		return nil, err
	}
	if p.Scans, err = component.ScanRows(ctx, req, tx, scans, names); err != nil {
		return nil, err
	}
	if scans, err = tx.LatestScans(ctx, p.ID, readBranches); err != nil {
		return nil, err
	}
	return component.ScanRows(ctx, req, tx, scans, names)
}

// openIn counts the open findings of a project: by product, rule, package and branch, and over
// time.
func openIn(req *ui.Request, p *projectPage, latest []component.ScanRow) error {
	view, err := req.Findings()
	if err != nil {
		return err
	}
	ends := weeks(req.Clock(), p.Weeks)
	points := make([]index.TrendPoint, p.Weeks)
	refs := map[string]*branchRow{}
	for _, product := range ui.Products {
		filter := ui.AllFindings(product)
		filter.ProjectIDs = []int64{p.ID}
		sum(points, view.Trend(filter, ends))
		filter.Statuses = []model.Status{model.StatusOpen}
		answer, err := view.List(req.HTTP.Context(), index.ListQuery{
			Filter: filter, Values: readBranches, Now: req.Clock(), Groups: []index.Grouping{index.ByRule, index.ByPackage},
			Facets: []index.FacetRequest{
				{Facet: index.FacetSeverity},
				{Facet: index.FacetUnrated},
				{Facet: index.FacetRef},
				{Facet: index.FacetDue},
			},
		})
		if err != nil {
			return err
		}
		s := productSummary{
			Product: product,
			Open:    answer.Total,
			Address: req.To(product.Path) + "?repos=" + url.QueryEscape(p.Name),
		}
		s.severities(answer.Facets)
		p.Summaries = append(p.Summaries, s)
		for _, g := range answer.Groups[index.ByRule] {
			p.Rules = append(p.Rules, topOf(g, narrowed(s.Address, string(index.FacetRule), g.Name)))
		}
		if product.Type == model.SCA {
			if err := packagesAtRisk(req, view, p, filter, answer.Groups[index.ByPackage], s.Address); err != nil {
				return err
			}
		}
		for _, ref := range answer.Facets[index.FacetRef].Values {
			row := rowOf(refs, ref.Value)
			row.Parts = append(row.Parts, refPart{product.Title, ref.Count, narrowed(s.Address, "ref", ref.Value)})
		}
	}
	p.Chart = newChart(points)
	trim(&p.Rules)
	p.branches(refs, latest)
	return nil
}

// rowOf returns the row of a branch and creates it if necessary.
func rowOf(refs map[string]*branchRow, ref string) *branchRow {
	if refs[ref] == nil {
		refs[ref] = &branchRow{Ref: ref}
	}
	return refs[ref]
}

// branches lists the primary branch, then the most recently scanned ones.
func (p *projectPage) branches(refs map[string]*branchRow, latest []component.ScanRow) {
	for i := range latest {
		rowOf(refs, latest[i].Ref).Scan = &latest[i]
	}
	for ref, row := range refs {
		row.Primary = ref == p.Primary()
		p.Refs = append(p.Refs, *row)
	}
	slices.SortFunc(p.Refs, func(a, b branchRow) int {
		return cmp.Or(cmp.Compare(b.order(), a.order()), cmp.Compare(b.started(), a.started()), cmp.Compare(a.Ref, b.Ref))
	})
	p.MoreRefs = len(p.Refs) > maxBranches
	p.Refs = p.Refs[:min(len(p.Refs), maxBranches)]
}

// order ranks the primary branch above others.
func (r branchRow) order() int {
	if r.Primary {
		return 1
	}
	return 0
}

// started returns the start of the latest scan in microseconds, or 0.
func (r branchRow) started() int64 {
	if r.Scan == nil {
		return 0
	}
	return r.Scan.StartedAt.UnixMicro()
}
