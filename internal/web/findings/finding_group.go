package findings

import (
	"context"
	"strings"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// groupRow is a row of a grouped list.
type groupRow struct {
	index.Group
	Message string // of the rule
	Address string
	Late    string // address of the overdue findings of the group
	Bars    []component.Bar
}

// grouped replaces the rows with one page of groups.
func (p *findingsPage) grouped(groups []index.Group) {
	if p.group == "" {
		return
	}
	p.Rows = nil
	p.Pages = ui.NewPager(p.page, ui.PerPage, len(groups), p.onPage)
	p.Pages.Noun = p.group
	from := min((p.page-1)*ui.PerPage, len(groups))
	for _, g := range groups[from:min(from+ui.PerPage, len(groups))] {
		key := groupFacet(p.group)
		row := groupRow{Group: g, Address: p.with(func(o *search) { o.group, o.values[key] = "", []string{g.Name} })}
		row.Late = p.with(func(o *search) {
			o.group, o.values[key], o.values[string(index.FacetDue)] = "", []string{g.Name}, []string{string(model.DueOverdue)}
		})
		for severity := model.SeverityCritical; severity > 0; severity-- {
			if n := g.Severity[severity]; n > 0 {
				row.Bars = append(row.Bars, component.Bar{Severity: severity.String(), Count: n, Address: p.with(func(o *search) {
					o.group, o.values[key], o.values[string(index.FacetSeverity)] = "", []string{g.Name}, []string{severity.String()}
				})})
			}
		}
		p.Groups = append(p.Groups, row)
	}
}

// explain adds the messages of the rules to groups by rule.
func explain(req *ui.Request, p *findingsPage) error {
	if p.group != "rule" || len(p.Groups) == 0 {
		return nil
	}
	names := make([]string, len(p.Groups))
	for i := range p.Groups {
		names[i] = p.Groups[i].Name
	}
	var messages map[string]string
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		messages, err = tx.RuleMessages(ctx, names)
		return err
	})
	for i := range p.Groups {
		p.Groups[i].Message, _, _ = strings.Cut(messages[p.Groups[i].Name], "\n\n")
	}
	return err
}

// groupFacet returns the facet that corresponds to a grouping.
func groupFacet(group string) string {
	if group == "project" {
		return string(index.FacetProject)
	}
	return string(index.FacetRule)
}
