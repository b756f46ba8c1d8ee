package projects

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// targetRow measures compliance with due dates for one severity, or for the projects with one tag.
type targetRow struct {
	index.DueTarget
	Name, Severity string // one of them is set
	Late           []lateCount
}

// lateCount is the number of overdue findings of a product.
type lateCount struct {
	Product ui.Product
	Count   int
	Address string // of a list of these findings
}

// Reached returns the percentage of fixed findings that were fixed in time, rounded down.
func (t targetRow) Reached() int { return 100 * t.InTime / max(t.Fixed, 1) }

// add adds the counts of a product. key and value restrict its list to the row.
func (t *targetRow) add(list string, p ui.Product, o index.DueTarget, key index.Facet, value string) {
	t.Fixed, t.InTime, t.Overdue = t.Fixed+o.Fixed, t.InTime+o.InTime, t.Overdue+o.Overdue
	if o.Overdue > 0 {
		q := url.Values{
			string(index.FacetDue):    {string(model.DueOverdue)},
			string(index.FacetStatus): {model.StatusOpen.String(), model.StatusReviewing.String(), model.StatusFixing.String()},
			string(key):               {value},
		}
		sign := "?"
		if strings.Contains(list, "?") {
			sign = "&"
		}
		t.Late = append(t.Late, lateCount{p, o.Overdue, list + sign + q.Encode()})
	}
}

// targets returns the rows by severity, most severe first, and by tag, most overdue findings first.
func targets(req *ui.Request, view *index.View, scope overviewScope, since time.Time) (bySeverity, byTag []targetRow) {
	var severities [model.SeverityCritical + 1]targetRow
	tags := map[string]*targetRow{}
	for _, p := range scope.products() {
		targets, list := view.DueTargets(scope.of(p), since), scope.narrow(req.To(p.Path))
		for severity := model.SeverityLow; severity <= model.SeverityCritical; severity++ {
			severities[severity].add(list, p, targets.Severity[severity], index.FacetSeverity, severity.String())
		}
		for tag, target := range targets.Tag {
			if scope.Tag != "" && !strings.EqualFold(tag, scope.Tag) {
				continue // projects may have further tags
			}
			if tags[tag] == nil {
				tags[tag] = &targetRow{Name: tag}
			}
			tags[tag].add(scope.narrowProject(req.To(p.Path)), p, target, index.FacetProjectTag, tag)
		}
	}
	for severity := model.SeverityCritical; severity > 0; severity-- {
		if t := severities[severity]; t.DueTarget != (index.DueTarget{}) {
			t.Severity = severity.String()
			bySeverity = append(bySeverity, t)
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		byTag = append(byTag, *tags[tag])
	}
	slices.SortStableFunc(byTag, func(a, b targetRow) int { return cmp.Compare(b.Overdue, a.Overdue) })
	return bySeverity, byTag[:min(len(byTag), topRows)]
}
