package projects

import (
	"slices"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/version"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// packageFindings is the maximum number of a package's findings, most severe first, from which the
// upgrade is derived.
const packageFindings = 50

// packageRisk is a package with open findings in a project.
type packageRisk struct {
	topRow
	Open      int
	Overdue   int
	Late      string   // address of the overdue findings
	Versions  []string // installed versions
	Fixed     []string // lowest version that fixes all fixable findings, one per ecosystem
	Unfixed   bool     // some findings have no fix
	Malicious bool
}

// packagesAtRisk reads the packages with the most severe findings. filter selects the open
// supply-chain findings of the project, and address is their list.
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

// upgrade derives the installed versions and the upgrade from findings of the package.
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
