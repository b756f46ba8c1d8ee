package findings

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
	"github.com/redoubt/redoubt/internal/triage"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// preview shows the effect of a decision before any change.
type preview struct {
	Snapshot snapshot
	Product  ui.Product
	Back     string
	Selected int                // number of selected findings, each counted once
	Touched  int                // number of their occurrences that are not fixed, on all branches
	Beyond   int                // number of further matching rows that the decision does not include
	Projects []index.FacetCount // of the findings
	Branches []index.FacetCount // of the occurrences
	More     [2]int             // further projects, branches
	Severity []index.FacetCount // of the selected findings, most severe first
	Chips    []chip             // the filter, including exclusions; empty for individually selected rows
	People   *people
	Today    string // in UTC

	TicketPossible bool // a ticket can be created for at least one of the findings
}

// TicketLimit returns the maximum number of findings that get a ticket in one request.
func (p *preview) TicketLimit() int { return model.MaxTicketSelection }

// ID distinguishes the fields of the form from those of other forms on a page.
func (p *preview) ID() string { return "all" }

// Touches describes the effect of the button.
func (p *preview) Touches() string { return "applies to " + ui.Plural(p.Selected, p.Product.Noun) }

// previewTriage shows the preview of a selection: individual rows, or all findings that match the
// filter on any page.
func previewTriage(req *ui.Request, form url.Values) error {
	return req.InOneView(func() error { return showPreview(req, form) })
}

func showPreview(req *ui.Request, form url.Values) error {
	t, ok := model.ParseIssueType(form.Get("type"))
	if !ok {
		return model.Invalid("type", "must be sast, sca or secrets")
	}
	q, err := url.ParseQuery(form.Get("query"))
	if err != nil {
		return model.Invalid("query", "is not a valid query")
	}
	groups, grouped := form["group"], form.Get("grouped") != "" // the list is grouped
	if grouped && len(groups) == 0 {
		return model.Invalid("group", "nothing is selected: select groups")
	}
	if len(groups) > 0 {
		q[groupFacet(q.Get("group"))] = groups
	}
	s, err := searched(req, ui.ProductOf(t), q)
	if err != nil {
		return err
	}
	p := &preview{Product: s.product, Back: s.address(), People: s.people, Today: req.Today()}
	if back := form.Get("back"); req.IsLocal(back) {
		p.Back = back
	}
	filter := s.filter
	all := grouped || form.Get("all") != "" || form.Get("tickets") != "" && len(form["id"]) == 0
	if !all {
		filter, err = component.PickedFindings(t, form["id"])
		if err != nil {
			return err
		}
	} else {
		p.Chips = s.chips()
	}
	view, err := req.Findings()
	if err != nil {
		return err
	}
	if err := capture(req, view, p, filter); err != nil {
		return err
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		findings, err := listedOf(ctx, tx, p.Snapshot)
		if err == nil {
			p.TicketPossible, err = ticket.Possible(ctx, tx, findings)
		}
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{
		Template: "triage",
		Title:    "Triage " + ui.Plural(p.Selected, p.Product.Noun),
		Section:  s.product.Section,
		Data:     p,
	})
}

// capture counts the findings that a filter selects, and their occurrences.
func capture(req *ui.Request, view *index.View, p *preview, filter model.FindingFilter) error {
	targets, err := view.Newest(req.HTTP.Context(), filter, maxDecision)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return model.Invalid("query", "no longer matches any findings: go back to the list and try again")
	}
	var ids, once, lineages []int64
	seen := map[int64]bool{}
	for _, t := range targets {
		ids = append(ids, t.FindingID)
		if !seen[t.LineageID] { // a list of all branches contains a finding several times
			seen[t.LineageID] = true
			once, lineages = append(once, t.FindingID), append(lineages, t.LineageID)
		}
	}
	p.Snapshot, p.Selected = snapshotOf(view.Version(), filter.IssueType, ids), len(once)
	p.Beyond = max(view.Count(filter)-len(ids), 0)
	slices.Sort(lineages)
	touched, err := view.Occurrences(req.HTTP.Context(), filter.IssueType, lineages)
	if err != nil {
		return err
	}
	touchedFilter := model.FindingFilter{ // fixed occurrences need no decision
		IssueType: filter.IssueType, HasIDs: true, IDs: touched,
		Except: &model.FindingFilter{Statuses: []model.Status{model.StatusFixed}},
	}
	p.Touched = view.Count(touchedFilter)
	projects, err := spread(req, view, model.FindingFilter{
		IssueType: filter.IssueType,
		HasIDs:    true,
		IDs:       once,
	}, index.FacetProject)
	if err != nil {
		return err
	}
	refs, err := spread(req, view, touchedFilter, index.FacetRef)
	if err != nil {
		return err
	}
	p.Projects, p.Branches, p.More = projects.Values, refs.Values, [2]int{projects.More, refs.More}
	for severity := model.SeverityCritical; severity > 0; severity-- {
		n := view.Count(model.FindingFilter{
			IssueType:  filter.IssueType,
			HasIDs:     true,
			IDs:        once,
			Severities: []model.Severity{severity},
		})
		if n > 0 {
			p.Severity = append(p.Severity, index.FacetCount{Value: severity.String(), Count: n})
		}
	}
	return nil
}

// spread counts rows by the values of a facet.
func spread(req *ui.Request, view *index.View, rows model.FindingFilter, f index.Facet) (index.FacetCounts, error) {
	answer, err := view.List(req.HTTP.Context(), index.ListQuery{
		Filter: rows,
		Values: 12,
		Facets: []index.FacetRequest{{Facet: f}},
	})
	if err != nil {
		return index.FacetCounts{}, err
	}
	return answer.Facets[f], nil
}

// decideFindings applies a decision to the findings of the snapshot. Findings that changed since
// the snapshot are left unchanged, and the next page lists them.
func decideFindings(req *ui.Request, form url.Values) error {
	s, err := snapshotFrom(form)
	if err != nil {
		return err
	}
	request, err := decisionOf(req, form)
	if err != nil {
		return err
	}
	var o outcome
	err = req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		if o.first, err = tx.LastTriageEvent(ctx); err != nil {
			return err
		}
		if o.named, err = apply(ctx, req, tx, s, request); err != nil {
			return err
		}
		o.last, err = tx.LastTriageEvent(ctx)
		return err
	})
	if err != nil {
		return err
	}
	o.left = len(o.named)
	req.Redirect(o.addTo(backTo(req, form, s.IssueType)))
	return nil
}

// decisionOf parses the decision in a form.
func decisionOf(req *ui.Request, form url.Values) (triage.Request, error) {
	r := triage.Request{Note: strings.TrimSpace(form.Get("note"))}
	text, reason, together := strings.Cut(form.Get("state"), ":") // a button may contain both
	if !together {
		reason = form.Get("reason")
	}
	if text != "" && text != "note" {
		var ok bool
		if r.State, ok = model.ParseTriageState(text); !ok {
			return r, model.Invalid("state", "must be ignored, reviewing, fixing or reopened")
		}
	}
	if reason != "" && r.State == model.TriageIgnored {
		var ok bool
		if r.Reason, ok = model.ParseTriageReason(reason); !ok {
			return r, model.Invalid("reason", "choose a reason from the list")
		}
	}
	// the form hides the field for other states
	if text := form.Get("until"); text != "" && r.State != 0 && r.State != model.TriageReopened {
		var ok bool
		if r.Until, ok = model.EndOfDay(text); !ok {
			return r, model.Invalid("until", "invalid date: use YYYY-MM-DD")
		}
	}
	switch name := form.Get("assignee"); name {
	case "":
	case model.AssigneeNone:
		r.Assign = new(string)
	case model.AssigneeMe:
		r.Assign = &req.Viewer.User
	default:
		r.Assign = &name
	}
	if r.State == 0 && r.Note == "" && r.Assign == nil {
		return r, model.Invalid("state", "no change requested: choose a state, a comment or an assignee")
	}
	return r, nil
}

// apply applies a decision in batches within one transaction. It returns the findings that changed
// since the snapshot.
func apply(
	ctx context.Context, req *ui.Request, tx *store.Tx, s snapshot, request triage.Request,
) (left []int64, err error) {
	changed, err := tx.ChangedSince(ctx, s.Version)
	if err != nil {
		return nil, err
	}
	view, err := req.Index.Deployment(ctx, req.Viewer.Deployment.ID)
	if err != nil {
		return nil, err
	}
	for ids := range slices.Chunk(s.IDs, model.MaxTriage) {
		request.Filter = model.FindingFilter{IssueType: s.IssueType, HasIDs: true, IDs: ids}
		targets, err := view.Newest(ctx, request.Filter, len(ids))
		if err != nil {
			return nil, err
		}
		request.Filter.IDs = nil
		known := map[int64]bool{}
		for _, t := range targets {
			known[t.FindingID] = true
			if !changed.Findings[t.FindingID] && !changed.Lineages[t.LineageID] {
				request.Filter.IDs = append(request.Filter.IDs, t.FindingID)
			} else {
				left = append(left, t.FindingID)
			}
		}
		for _, id := range ids {
			if !known[id] { // deleted, or no longer listed
				left = append(left, id)
			}
		}
		if len(request.Filter.IDs) == 0 {
			continue
		}
		if _, err := triage.Apply(ctx, tx, view, request); err != nil {
			return nil, err
		}
	}
	slices.Sort(left)
	return left, nil
}

// backTo returns the address of the list on which the decision was made.
func backTo(req *ui.Request, form url.Values, t model.IssueType) string {
	if back := form.Get("back"); req.IsLocal(back) {
		return back
	}
	return req.To(ui.ProductOf(t).Path + "?" + string(index.FacetStatus) + "=" + model.StatusOpen.String())
}
