package ticket

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Linked is the result of Link.
type Linked struct {
	Ticket   model.Ticket
	IDs      []int64 // of the linked findings, ascending
	Replaced []int64 // those that were linked to another ticket before, ascending
}

// Target is the ticket that findings are linked to.
type Target struct {
	URL   string
	Slug  string             // name if the tracker is not connected; empty: derived from the URL
	Globs model.ProjectGlobs // projects of the caller's token
}

// Link links findings to the ticket at a URL, which may be new. It returns a model.InvalidError if
// the URL is invalid or the ticket would have too many findings.
func Link(ctx context.Context, s Store, to Target, findings []model.Finding) (out Linked, err error) {
	if out.Ticket, err = target(ctx, s, to); err != nil {
		return out, err
	}
	out.Replaced, err = attach(ctx, s, map[int64][]model.Finding{out.Ticket.ID: findings})
	for _, f := range findings {
		out.IDs = append(out.IDs, f.ID)
	}
	slices.Sort(out.IDs)
	if err == nil {
		err = Show(ctx, s, out.Ticket)
	}
	return out, err
}

// target returns the ticket to link to, and creates it if needed.
func target(ctx context.Context, s Store, to Target) (model.Ticket, error) {
	parsed, err := model.ParseTicketURL(to.URL)
	if err != nil {
		return parsed, err
	}
	t, err := visible(ctx, s, to.URL, to.Globs)
	fresh := errors.Is(err, model.ErrNotFound)
	if err != nil && !fresh {
		return t, err
	}
	if fresh {
		t = parsed
	}
	before := t
	if t.ConnectionID == 0 { // the tracker may have been connected since
		err := reach(ctx, s, &parsed, to.Globs)
		if err != nil {
			return t, err
		}
		if parsed.ConnectionID != 0 {
			t.ConnectionID, t.Project, t.Key = parsed.ConnectionID, parsed.Project, parsed.Key
		}
	}
	if to.Slug != "" && t.ConnectionID == 0 {
		if t.Slug, err = slug(ctx, s, t, to); err != nil {
			return t, err
		}
	}
	switch {
	case fresh:
		added, err := s.AddTickets(ctx, []model.Ticket{t})
		if err != nil {
			return t, err
		}
		return added[0], nil
	case t != before:
		return t, s.UpdateTickets(ctx, []model.Ticket{t})
	}
	return t, nil
}

// slug returns the new name of a ticket without a tracker. The caller can change it only if all of
// the ticket's findings are visible to the caller.
func slug(ctx context.Context, s Store, t model.Ticket, to Target) (string, error) {
	if t.ID != 0 {
		all, err := s.TicketFindings(ctx, t.ID, nil)
		if err != nil {
			return "", err
		}
		seen, err := s.TicketFindings(ctx, t.ID, to.Globs)
		if err != nil || len(seen) != len(all) {
			return t.Slug, err
		}
	}
	return cmp.Or(model.TicketSlug(to.Slug), t.Slug), nil
}

// visible returns the ticket at a URL. For a caller bound to projects, a ticket without visible
// findings does not exist, because its state and creator must not be revealed.
func visible(ctx context.Context, s Store, address string, globs model.ProjectGlobs) (model.Ticket, error) {
	list, err := s.TicketsByURL(ctx, address)
	if err != nil {
		return model.Ticket{}, err
	}
	for _, t := range list {
		if len(globs) == 0 {
			return t, nil
		}
		if about, err := s.TicketFindings(ctx, t.ID, globs); err != nil || len(about) > 0 {
			return t, err
		}
	}
	return model.Ticket{}, model.ErrNotFound
}

// reach sets the connection of a ticket, so that its state is read. That uses the credential of the
// deployment, so only destinations that the caller may read are considered.
func reach(ctx context.Context, s Store, t *model.Ticket, globs model.ProjectGlobs) error {
	if t.Key == "" {
		return nil
	}
	at, err := newDestinations(ctx, s, globs, nil)
	if err != nil {
		return err
	}
	for _, c := range at.connections {
		if !c.Kind.HasIssues() || !strings.HasPrefix(t.URL, c.BaseURL+"/") {
			continue
		}
		project := t.Project
		if u, err := url.Parse(c.BaseURL); err == nil {
			project = strings.TrimPrefix(project, strings.TrimPrefix(u.Path+"/", "/"))
		}
		if may, err := at.mayRead(ctx, c, project); err != nil || may {
			t.ConnectionID, t.Project = c.ID, project
			return err
		}
	}
	return nil
}

// attach links findings to tickets and removes their links to other tickets. It returns the
// findings that were linked to another ticket before. Each lineage must be given for one ticket
// only.
func attach(ctx context.Context, s Store, to map[int64][]model.Finding) (replaced []int64, err error) {
	before, err := s.FindingsOfTickets(ctx, slices.Sorted(maps.Keys(to)), nil)
	if err != nil {
		return nil, err
	}
	has, count := map[int64]int64{}, map[int64]int{} // the ticket of a lineage; the findings of a ticket
	for _, f := range before {
		has[f.LineageID] = f.TicketID
		count[f.TicketID]++
	}
	var fresh []model.TicketFinding
	var lineages []int64
	for _, id := range slices.Sorted(maps.Keys(to)) {
		for _, f := range to[id] {
			if has[f.LineageID] == id {
				continue
			}
			has[f.LineageID] = id
			count[id]++
			lineages = append(lineages, f.LineageID)
			fresh = append(fresh, model.TicketFinding{
				TicketID:  id,
				FindingID: f.ID,
				LineageID: f.LineageID,
				ProjectID: f.ProjectID,
			})
		}
		if count[id] > model.MaxTicketFindings { // of which the caller may see only some
			return nil, model.Invalid("issue_ids", "a ticket has at most %d findings", model.MaxTicketFindings)
		}
	}
	dropped, err := s.DropTicketFindings(ctx, lineages)
	if err != nil {
		return nil, err
	}
	if err := s.AddTicketFindings(ctx, fresh); err != nil {
		return nil, err
	}
	for _, f := range dropped {
		replaced = append(replaced, f.FindingID)
	}
	slices.Sort(replaced)
	_, err = s.SyncTicketAnnotations(ctx, ticketsOf(dropped))
	return slices.Compact(replaced), err
}

// ticketsOf returns the ids of the tickets in a list, ascending.
func ticketsOf(list []model.TicketFinding) []int64 {
	ids := model.Map(list, func(f model.TicketFinding) int64 { return f.TicketID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

func lineagesOf(findings []model.Finding) []int64 {
	out := model.Map(findings, func(f model.Finding) int64 { return f.LineageID })
	slices.Sort(out)
	return slices.Compact(out)
}

// Show copies a created ticket to the annotations of its findings. It adds a triage event to those
// that did not show it before.
func Show(ctx context.Context, s Store, t model.Ticket) error {
	fresh, err := s.SyncTicketAnnotations(ctx, []int64{t.ID})
	if err != nil {
		return err
	}
	notes := map[int64]string{}
	for _, lineage := range fresh[t.ID] {
		notes[lineage] = "Linked to " + t.Slug + " (" + t.URL + ")"
	}
	known, err := s.Lineages(ctx, fresh[t.ID])
	if err != nil {
		return err
	}
	return addNotes(ctx, s, known, notes)
}

// addNotes adds notes to the triage events of lineages. Their triage state is unchanged.
func addNotes(ctx context.Context, s Store, known map[int64]model.Lineage, notes map[int64]string) error {
	var events []model.TriageEvent
	for _, id := range slices.Sorted(maps.Keys(notes)) {
		is := known[id].Triage
		events = append(events, model.TriageEvent{
			LineageID: id,
			At:        s.Now(),
			By:        s.Actor(),
			Before:    is,
			After:     is,
			Note:      notes[id],
		})
	}
	if len(events) == 0 {
		return nil
	}
	return s.AddTriageNotes(ctx, events)
}

// Unlink removes the links of findings to tickets. It returns the findings that had a link,
// ascending. Tickets in their trackers are unchanged.
func Unlink(ctx context.Context, s Store, findings []model.Finding) (unlinked []int64, err error) {
	lineages := lineagesOf(findings)
	known, err := s.Lineages(ctx, lineages)
	if err != nil {
		return nil, err
	}
	dropped, err := s.DropTicketFindings(ctx, lineages)
	if err != nil {
		return nil, err
	}
	bare, notes := map[int64]bool{}, map[int64]string{}
	for _, f := range dropped {
		bare[f.LineageID] = true
		// otherwise the ticket was requested and not created yet
		if shown := known[f.LineageID].Annotations.ExternalTicket; shown != nil {
			notes[f.LineageID] = "No longer linked to " + shown.ExternalSlug + " (" + shown.URL + ")"
		}
	}
	err = s.AnnotateAll(ctx, slices.Sorted(maps.Keys(notes)), func(_ int64, a *model.Annotations) {
		a.ExternalTicket = nil
	})
	if err != nil {
		return nil, err
	}
	if err := addNotes(ctx, s, known, notes); err != nil {
		return nil, err
	}
	if _, err := s.SyncTicketAnnotations(ctx, ticketsOf(dropped)); err != nil {
		return nil, err
	}
	for _, f := range findings {
		if bare[f.LineageID] {
			unlinked = append(unlinked, f.ID)
		}
	}
	slices.Sort(unlinked)
	return slices.Compact(unlinked), nil
}

// Delete deletes a ticket and returns its former findings, ascending. The ticket in its tracker is
// unchanged.
func Delete(ctx context.Context, s Store, id int64) ([]int64, error) {
	about, err := s.TicketFindings(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	findings := make([]model.Finding, len(about))
	for i, f := range about {
		findings[i] = model.Finding{ID: f.FindingID, LineageID: f.LineageID, ProjectID: f.ProjectID}
	}
	gone, err := Unlink(ctx, s, findings)
	if err != nil {
		return nil, err
	}
	// deleted with its last finding
	if err = s.DeleteTicket(ctx, id); errors.Is(err, model.ErrNotFound) && len(gone) > 0 {
		err = nil
	}
	return gone, err
}
