package ticket

import (
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

// Link links findings to the ticket at an address, whether we know it or not; the globs
// are those that the caller is bound to. What is wrong with the address, or too much for
// one ticket, is a redoubt.InvalidError.
func Link(ctx context.Context, s Store, address string, findings []redoubt.Finding, globs redoubt.ProjectGlobs) (out Linked, err error) {
	parsed, err := redoubt.ParseTicketURL(address)
	if err != nil {
		return out, err
	}
	out.Ticket, err = visible(ctx, s, address, globs)
	if errors.Is(err, redoubt.ErrNotFound) {
		if err = reach(ctx, s, &parsed, globs); err == nil {
			out.Ticket, err = s.AddTicket(ctx, parsed)
		}
	}
	if err != nil {
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
	list, err := s.Connections(ctx)
	if err != nil || t.Key == "" {
		return err
	}
	for _, c := range list {
		if !c.Kind.HasIssues() || !strings.HasPrefix(t.URL, c.BaseURL+"/") {
			continue
		}
		project := t.Project
		if u, err := url.Parse(c.BaseURL); err == nil {
			project = strings.TrimPrefix(project, strings.TrimPrefix(u.Path+"/", "/"))
		}
		if may, err := mayRead(ctx, s, c, project, globs); err != nil || may {
			t.ConnectionID, t.Project = c.ID, project
			return err
		}
	}
	return nil
}

// mayRead reports whether states of a tracker's project are read for a caller: of a
// repository that is a project which it sees, and of the project of Jira that is set.
func mayRead(ctx context.Context, s Store, c redoubt.Connection, project string, globs redoubt.ProjectGlobs) (bool, error) {
	if c.Kind == redoubt.HostJira {
		setting, err := s.TicketSetting(ctx)
		return setting.ConnectionID == c.ID && setting.Project == project, err
	}
	known, err := s.Repositories(ctx, c.ID)
	return slices.ContainsFunc(known, func(r redoubt.Repository) bool {
		return r.ProjectID != 0 && strings.EqualFold(r.FullName, project) && globs.Allows(r.FullName)
	}), err
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
		if err := reshow(ctx, s, id); err != nil {
			return nil, err
		}
	}
	return slices.Compact(replaced), nil
}

// reshow has a ticket that is about less than before shown so. One that is about nothing,
// and is in no tracker, is nothing any more.
func reshow(ctx context.Context, s Store, id int64) error {
	t, err := s.Ticket(ctx, id)
	if err != nil {
		return err
	}
	if t.Created() {
		return Show(ctx, s, t)
	}
	about, err := s.TicketFindings(ctx, id, nil)
	if err != nil || len(about) > 0 {
		return err
	}
	return s.DeleteTicket(ctx, id)
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
// of each that did not. A finding names those of its own project beside it: who sees that
// one need not see others.
func Show(ctx context.Context, s Store, t redoubt.Ticket) error {
	if !t.Created() {
		return nil
	}
	about, err := s.TicketFindings(ctx, t.ID, nil)
	if err != nil {
		return err
	}
	ids := map[int64][]int64{}
	lineages := make([]int64, len(about))
	for i, f := range about {
		ids[f.ProjectID] = append(ids[f.ProjectID], f.FindingID)
		lineages[i] = f.LineageID
	}
	known, err := s.Lineages(ctx, lineages)
	if err != nil {
		return err
	}
	var fresh []int64
	for _, f := range about {
		is := redoubt.ExternalTicket{ExternalSlug: t.Slug, ID: t.ID, LinkedIssueIDs: ids[f.ProjectID], URL: t.URL}
		if was := known[f.LineageID].Annotations.ExternalTicket; was == nil || was.URL != t.URL {
			fresh = append(fresh, f.LineageID)
		}
		if err := s.Annotate(ctx, f.LineageID, func(a *redoubt.Annotations) { a.ExternalTicket = &is }); err != nil {
			return err
		}
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
	for _, id := range lineages {
		shown := known[id].Annotations.ExternalTicket
		had := slices.ContainsFunc(dropped, func(f redoubt.TicketFinding) bool { return f.LineageID == id })
		if shown == nil && !had {
			continue
		}
		bare[id] = true
		if shown == nil { // it was asked for, and is not there yet
			continue
		}
		if err := s.Annotate(ctx, id, func(a *redoubt.Annotations) { a.ExternalTicket = nil }); err != nil {
			return nil, err
		}
		if err := tell(ctx, s, known, []int64{id}, "No longer linked to "+shown.ExternalSlug+" ("+shown.URL+")"); err != nil {
			return nil, err
		}
	}
	for id := range was {
		if err := reshow(ctx, s, id); err != nil {
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
