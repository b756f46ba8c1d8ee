package ticket

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// Linked is what linking did.
type Linked struct {
	Ticket   redoubt.Ticket
	IDs      []int64 // of the findings that were asked for, ascending
	Replaced []int64 // those of them that were linked to another ticket before, ascending
}

// Target is the ticket that findings are linked to.
type Target struct {
	URL   string
	Slug  string               // what to call it where no tracker tells; empty: by its address
	Globs redoubt.ProjectGlobs // those that the caller is bound to
}

// Link links findings to the ticket at an address, whether we know it or not. What is
// wrong with the address, or too much for one ticket, is a redoubt.InvalidError.
func Link(ctx context.Context, s Store, to Target, findings []redoubt.Finding) (out Linked, err error) {
	if out.Ticket, err = target(ctx, s, to); err != nil {
		return out, err
	}
	out.Replaced, err = attach(ctx, s, out.Ticket, findings)
	for _, f := range findings {
		out.IDs = append(out.IDs, f.ID)
	}
	slices.Sort(out.IDs)
	if err == nil {
		err = Show(ctx, s, out.Ticket)
	}
	return out, err
}

// target finds the ticket to link to, or makes one.
func target(ctx context.Context, s Store, to Target) (redoubt.Ticket, error) {
	parsed, err := redoubt.ParseTicketURL(to.URL)
	if err != nil {
		return parsed, err
	}
	t, err := visible(ctx, s, to.URL, to.Globs)
	fresh := errors.Is(err, redoubt.ErrNotFound)
	if err != nil && !fresh {
		return t, err
	}
	if fresh {
		t = parsed
	}
	before := t
	if t.ConnectionID == 0 { // its tracker may be reached by now
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
		return s.AddTicket(ctx, t)
	case t != before:
		return t, s.UpdateTicket(ctx, t)
	}
	return t, nil
}

// slug is what a ticket of no tracker is called from now on: as the caller says, unless it
// is about findings that the caller does not see.
func slug(ctx context.Context, s Store, t redoubt.Ticket, to Target) (string, error) {
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
	return cmp.Or(redoubt.TicketSlug(to.Slug), t.Slug), nil
}

// visible finds the ticket at an address. One that is about nothing that a bound caller
// sees is none for it: its state and who made it are others' to know.
func visible(ctx context.Context, s Store, address string, globs redoubt.ProjectGlobs) (redoubt.Ticket, error) {
	list, err := s.TicketsByURL(ctx, address)
	if err != nil {
		return redoubt.Ticket{}, err
	}
	for _, t := range list {
		if len(globs) == 0 {
			return t, nil
		}
		if about, err := s.TicketFindings(ctx, t.ID, globs); err != nil || len(about) > 0 {
			return t, err
		}
	}
	return redoubt.Ticket{}, redoubt.ErrNotFound
}

// reach finds the connection that reaches the tracker of an address, so that its state is
// read back: with the deployment's credential, so only where the caller may look.
func reach(ctx context.Context, s Store, t *redoubt.Ticket, globs redoubt.ProjectGlobs) error {
	if t.Key == "" {
		return nil
	}
	at, err := newPlaces(ctx, s, globs, nil)
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

// attach has a ticket be about findings, and no other ticket about them, and returns
// those that another one was about.
func attach(ctx context.Context, s Store, t redoubt.Ticket, findings []redoubt.Finding) (replaced []int64, err error) {
	before, err := s.TicketFindings(ctx, t.ID, nil)
	if err != nil {
		return nil, err
	}
	had := map[int64]bool{}
	for _, f := range before {
		had[f.LineageID] = true
	}
	var fresh []redoubt.TicketFinding
	lineages := lineagesOf(findings)
	seen := map[int64]bool{}
	for _, f := range findings {
		if !had[f.LineageID] && !seen[f.LineageID] {
			fresh = append(fresh, redoubt.TicketFinding{TicketID: t.ID, FindingID: f.ID, LineageID: f.LineageID, ProjectID: f.ProjectID})
		}
		seen[f.LineageID] = true
	}
	if len(before)+len(fresh) > redoubt.MaxTicketFindings { // of which the caller may see some alone
		return nil, redoubt.Invalid("issue_ids", "the ticket would be about more than %d findings", redoubt.MaxTicketFindings)
	}
	dropped, err := s.DropTicketFindings(ctx, lineages, t.ID)
	if err != nil {
		return nil, err
	}
	if err := s.AddTicketFindings(ctx, fresh); err != nil {
		return nil, err
	}
	left := map[int64]bool{}
	for _, f := range dropped {
		replaced = append(replaced, f.FindingID)
		left[f.TicketID] = true
	}
	slices.Sort(replaced)
	for id := range left {
		if _, err := s.ShowTicket(ctx, id); err != nil {
			return nil, err
		}
	}
	return slices.Compact(replaced), nil
}

func lineagesOf(findings []redoubt.Finding) []int64 {
	out := make([]int64, len(findings))
	for i, f := range findings {
		out[i] = f.LineageID
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Show has the findings of a ticket show it, once it is created, with a line in the trail
// of each that did not.
func Show(ctx context.Context, s Store, t redoubt.Ticket) error {
	fresh, err := s.ShowTicket(ctx, t.ID)
	if err != nil {
		return err
	}
	known, err := s.Lineages(ctx, fresh)
	if err != nil {
		return err
	}
	return tell(ctx, s, known, fresh, "Linked to "+t.Slug+" ("+t.URL+")")
}

// tell writes a line into the trails of lineages, whose triage stays.
func tell(ctx context.Context, s Store, known map[int64]redoubt.Lineage, lineages []int64, text string) error {
	events := make([]redoubt.TriageEvent, len(lineages))
	for i, id := range lineages {
		is := known[id].Triage
		events[i] = redoubt.TriageEvent{LineageID: id, At: s.Now(), By: s.Actor(), Before: is, After: is, Note: text}
	}
	return s.UpdateTriage(ctx, events)
}

// Unlink has findings be about no ticket any more, and returns those that were, ascending.
// A ticket in its tracker stays as it is.
func Unlink(ctx context.Context, s Store, findings []redoubt.Finding) (unlinked []int64, err error) {
	lineages := lineagesOf(findings)
	known, err := s.Lineages(ctx, lineages)
	if err != nil {
		return nil, err
	}
	dropped, err := s.DropTicketFindings(ctx, lineages, 0)
	if err != nil {
		return nil, err
	}
	was := map[int64]bool{}
	for _, f := range dropped {
		was[f.TicketID] = true
	}
	bare := map[int64]bool{}
	for _, f := range dropped {
		bare[f.LineageID] = true
		shown := known[f.LineageID].Annotations.ExternalTicket
		if shown == nil { // it was asked for, and is not there yet
			continue
		}
		if err := s.Annotate(ctx, f.LineageID, func(a *redoubt.Annotations) { a.ExternalTicket = nil }); err != nil {
			return nil, err
		}
		if err := tell(ctx, s, known, []int64{f.LineageID}, "No longer linked to "+shown.ExternalSlug+" ("+shown.URL+")"); err != nil {
			return nil, err
		}
	}
	for id := range was {
		if _, err := s.ShowTicket(ctx, id); err != nil {
			return nil, err
		}
	}
	for _, f := range findings {
		if bare[f.LineageID] {
			unlinked = append(unlinked, f.ID)
		}
	}
	slices.Sort(unlinked)
	return slices.Compact(unlinked), nil
}

// Delete forgets a ticket, and returns the findings that it was about, ascending. In its
// tracker it stays as it is.
func Delete(ctx context.Context, s Store, id int64) ([]int64, error) {
	about, err := s.TicketFindings(ctx, id, nil)
	if err != nil {
		return nil, err
	}
	findings := make([]redoubt.Finding, len(about))
	for i, f := range about {
		findings[i] = redoubt.Finding{ID: f.FindingID, LineageID: f.LineageID, ProjectID: f.ProjectID}
	}
	gone, err := Unlink(ctx, s, findings)
	if err != nil {
		return nil, err
	}
	if err = s.DeleteTicket(ctx, id); errors.Is(err, redoubt.ErrNotFound) && len(gone) > 0 { // it went with its last finding
		err = nil
	}
	return gone, err
}
