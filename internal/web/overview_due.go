package web

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/index"
)

// targetRow is how well due dates are kept, of one severity or of projects with one tag.
type targetRow struct {
	index.DueTarget
	Name, Severity string // of these one
	Address        string // of what is overdue of code; empty where the table has all products
}

// Reached is the share of what was fixed that was fixed in time, in percent, rounded down:
// a hundred is all.
func (t targetRow) Reached() int { return 100 * t.InTime / max(t.Fixed, 1) }

// targets are the rows of the overview: by severity, worst first, and by tag, those with
// the most overdue first.
func (req *request) targets(view *index.View, since time.Time) (bySeverity, byTag []targetRow) {
	var all index.DueTargets
	for _, p := range products {
		all.Add(view.DueTargets(every(p), since))
	}
	for severity := redoubt.SeverityCritical; severity > 0; severity-- {
		if t := all.Severity[severity]; t != (index.DueTarget{}) {
			bySeverity = append(bySeverity, targetRow{DueTarget: t, Severity: severity.String()})
		}
	}
	for _, tag := range slices.Sorted(maps.Keys(all.Tag)) {
		byTag = append(byTag, targetRow{DueTarget: all.Tag[tag], Name: tag, Address: req.to("/findings?due=overdue&project_tags=" + url.QueryEscape(tag))})
	}
	slices.SortStableFunc(byTag, func(a, b targetRow) int { return cmp.Compare(b.Overdue, a.Overdue) })
	return bySeverity, byTag[:min(len(byTag), topRows)]
}
