package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// matchSummary contains the number of matched findings, the worst of them, and their projects.
type matchSummary struct {
	count      int
	severities map[string]int
	projects   map[string]int // findings by project name
	findings   []model.NotifiedFinding
	about      []model.NotifiedProject // projects, if the event is about projects
	product    model.IssueType         // issue type of the first finding
}

// findings selects the findings of an event that match a rule's filter.
func (m *matcher) findings(
	ctx context.Context, h model.Happening, r model.NotificationRule,
) (p matchSummary, err error) {
	p.severities, p.projects = map[string]int{}, map[string]int{}
	var worst []int64
	for _, t := range productsOf(r) {
		f, selects, err := m.filterOf(t, h.Event, r)
		if err != nil {
			return p, err
		}
		if !selects {
			continue
		}
		if f.IDs, err = m.about(ctx, t, h, f); err != nil {
			return p, err
		}
		if len(f.IDs) == 0 {
			continue
		}
		f = model.FindingFilter{IssueType: t, HasIDs: true, IDs: f.IDs}
		n, by := m.view.CountBy(f, index.FacetSeverity, index.FacetProject)
		for severity, n := range by[index.FacetSeverity] {
			p.severities[severity] += n
		}
		for project, n := range by[index.FacetProject] {
			p.projects[project] += n
		}
		listing, err := m.view.List(ctx, index.ListQuery{
			Filter: f,
			Order:  index.MostSevere,
			Size:   model.MaxNotified,
			Now:    m.Clock(),
		})
		if err != nil {
			return p, err
		}
		if p.count == 0 {
			p.product = t
		}
		p.count, worst = p.count+n, append(worst, listing.Page.IDs()...)
	}
	return p, m.nameFindings(ctx, &p, worst)
}

// about returns the ids of an event's findings that match a filter, one for each lineage. For new
// findings, lineages known on another ref of the project are omitted, unless the filter is limited
// to primary branches or a ref.
func (m *matcher) about(
	ctx context.Context, t model.IssueType, h model.Happening, f model.FindingFilter,
) (ids []int64, err error) {
	perRef := f.Primary || f.Ref != ""
	ids = h.Findings.All()
	if len(ids) == 0 {
		if ids, err = m.view.Occurrences(ctx, t, h.Lineages.All()); err != nil {
			return nil, err
		}
	}
	f.HasIDs, f.IDs = true, ids
	found, err := m.view.Newest(ctx, f, len(ids))
	if err != nil {
		return nil, err
	}
	isNew := h.Event == model.EventNewFinding || h.Event == model.EventAdvisory
	seen := map[int64]bool{}
	if isNew && !perRef {
		for _, id := range h.Lineages.All() {
			seen[id] = false
		}
	}
	ids = ids[:0]
	for _, target := range found {
		once, wanted := seen[target.LineageID]
		if once || isNew && !perRef && !wanted {
			continue
		}
		seen[target.LineageID] = true
		ids = append(ids, target.FindingID)
	}
	return ids, nil
}

// nameFindings reads the worst findings of a summary.
func (m *matcher) nameFindings(ctx context.Context, p *matchSummary, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	return m.Store.View(ctx, m.deployment, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.FindingsByID(ctx, ids)
		if err != nil {
			return err
		}
		slices.SortFunc(list, func(a, b model.Finding) int {
			return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.ID, a.ID))
		})
		list = list[:min(len(list), model.MaxNotified)]
		projects := model.Map(list, func(f model.Finding) int64 { return f.ProjectID })
		names, err := tx.ProjectNames(ctx, projects)
		for _, f := range list {
			p.findings = append(p.findings, model.NotifiedFinding{
				ID: f.ID, Type: f.IssueType.String(), Severity: f.Severity.String(),
				Rule: f.RuleName, Project: names[f.ProjectID], Ref: f.Ref, Location: locationOf(f),
			})
		}
		return err
	})
}

// locationOf returns the package or the line of a finding.
func locationOf(f model.Finding) string {
	if f.Package != "" {
		return f.Package + " in " + f.Path
	}
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.Path, f.Line)
	}
	return f.Path
}

// name reads the project of an event's scan.
func (m *matcher) name(ctx context.Context, p *matchSummary, h model.Happening) error {
	if len(p.projects) > 0 {
		return nil
	}
	return m.Store.View(ctx, m.deployment, func(ctx context.Context, tx *store.Tx) error {
		scan, err := tx.Scan(ctx, h.ScanID)
		if err != nil {
			return gone(err)
		}
		found, err := tx.Project(ctx, scan.ProjectID)
		if err == nil {
			p.projects = map[string]int{found.Name: p.count}
			p.about = []model.NotifiedProject{{ID: found.ID, Name: found.Name, Last: found.LatestScanAt}}
		}
		return gone(err)
	})
}

// gone ignores model.ErrNotFound: the object was deleted before the notification.
func gone(err error) error {
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	return err
}

// project summarizes an event of a project. Only the projects and tags of the filter are applied.
func (m *matcher) project(
	ctx context.Context, h model.Happening, r model.NotificationRule,
) (p matchSummary, err error) {
	err = m.Store.View(ctx, m.deployment, func(ctx context.Context, tx *store.Tx) error {
		matches, err := m.matchesProject(ctx, tx, h.Event, r)
		if err != nil {
			return err
		}
		found, err := tx.Project(ctx, h.ProjectID)
		if err != nil {
			return gone(err)
		}
		if matches(found) {
			p.count = 1
			p.projects = map[string]int{found.Name: 1}
			p.about = []model.NotifiedProject{{ID: found.ID, Name: found.Name, Last: found.LatestScanAt}}
		}
		return nil
	})
	return p, err
}

// message returns the message of a summary.
func (p matchSummary) message(h model.Happening, r model.NotificationRule, at time.Time) model.NotificationMessage {
	m := model.NotificationMessage{
		Event: h.Event, At: at, Rule: r.Name, Title: p.title(h, r), Reason: cut(h.Reason, maxReason),
		Count: p.count, Severities: p.severities, Findings: p.findings,
		Projects: p.about, Scan: h.ScanID, Run: h.RunID, Assignee: h.Assignee,
		Request: h.RequestID, Requester: h.Requester, Comment: h.CommentID, Author: h.Author,
	}
	switch {
	case h.Event == model.EventBuildBlocked:
		m.Path = fmt.Sprintf("/scans/%d/blocking", h.ScanID)
	case h.RequestID != 0 && p.count > 0 && len(p.findings) == 0:
		m.Path = "/exceptions?show=all"
	case h.RequestID != 0:
		m.Path = fmt.Sprintf("/exceptions/%d", h.RequestID)
	case h.RunID != 0:
		m.Path = fmt.Sprintf("/runs/%d", h.RunID)
	case h.Event == model.EventScanMissing:
		m.Path = "/projects"
	case p.count == 1 && len(p.findings) == 1:
		m.Path = fmt.Sprintf("/findings/%d", p.findings[0].ID)
	case h.Event == model.EventOverdue:
		m.Path = overdueOf(p.product)
	case h.ScanID != 0:
		m.Path = fmt.Sprintf("/scans/%d", h.ScanID)
	default:
		m.Path = listOf(p.product, h.Assignee)
	}
	return m
}
