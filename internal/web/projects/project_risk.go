package projects

import (
	"slices"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/version"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// packageFindings is how many findings of a package, the worst of them, say what to
// upgrade it to.
const packageFindings = 50

// packageRisk is a package with open findings in a project.
type packageRisk struct {
	topRow
	Open      int
	Overdue   int
	Late      string   // address of those that are overdue
	Versions  []string // that are installed
	Fixed     []string // the lowest that is free of all that have a fix, one an ecosystem
	Unfixed   bool     // some have no fix
	Malicious bool
}

// packagesAtRisk describes the worst of the groups by package. The filter selects what is
// open of the supply chain in the project, which is listed at an address.
func packagesAtRisk(
	req *ui.Request, view *index.View, p *projectPage, filter model.FindingFilter, groups []index.Group, address string,
) error {
	p.PackageAll = len(groups)
	for _, g := range groups[:min(len(groups), topRows)] {
		filter.Packages = []string{g.Name}
		answer, err := view.List(req.HTTP.Context(), index.ListQuery{
			Filter: filter,
			Order:  index.MostSevere,
			Size:   packageFindings,
		})
		if err != nil {
			return err
		}
		found, err := component.ShownFindings(answer.Page)
		if err != nil {
			return err
		}
		risk := packageRisk{
			topRow:  topOf(g, narrowed(address, string(index.FacetPackage), g.Name)),
			Open:    g.Total,
			Overdue: g.Overdue,
		}
		risk.Late = narrowed(risk.Address, string(index.FacetDue), string(model.DueOverdue))
		risk.upgrade(found)
		p.Packages = append(p.Packages, risk)
	}
	return nil
}

// upgrade reads what is installed, and what to upgrade to, from findings of the package.
func (r *packageRisk) upgrade(found []component.ShownFinding) {
	highest := map[string]string{} // by ecosystem
	for _, f := range found {
		d := f.FoundDependency
		if d == nil {
			continue
		}
		if d.Version != "" && !slices.Contains(r.Versions, d.Version) {
			r.Versions = append(r.Versions, d.Version)
		}
		r.Malicious = r.Malicious || f.IsMalicious != nil && *f.IsMalicious
		fix := component.NearestFix(f)
		known, order := highest[d.Ecosystem], version.OrderOf(d.Ecosystem)
		switch {
		case fix == "":
			r.Unfixed = true
		case known == "" || order.Compare(fix, known) > 0:
			highest[d.Ecosystem] = fix
		}
	}
	for _, fix := range highest {
		r.Fixed = append(r.Fixed, fix)
	}
	slices.Sort(r.Versions)
	slices.Sort(r.Fixed)
}
