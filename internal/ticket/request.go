package ticket

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Request is a request for tickets about findings.
type Request struct {
	Findings []model.Finding
	Group    bool // one ticket for each rule and project; otherwise one for each finding
	// Limit is the maximum number of findings to create tickets for, newest first. Findings with a
	// ticket do not count. 0 means no limit.
	Limit int
	// Connection and Project name the tracker. If empty, the setting of the deployment and then the
	// repository of each finding's project apply.
	Connection string
	Project    string
	// Globs are the projects of the caller's token, which limit the destination (see destinations).
	Globs model.ProjectGlobs
}

// Outcome is the result of a request, by group.
type Outcome struct {
	Requested []Group // TicketID is that of the ticket, which is created soon
	Skipped   []Group // Reason explains why no ticket is needed
	Failed    []Group // Reason explains why no ticket can be created
	Left      []int64 // beyond the limit, ascending
}

// Group contains the findings of one ticket.
type Group struct {
	IDs      []int64
	TicketID int64
	Reason   string // for display
}

// Submit requests tickets. A job creates them, and their findings show them afterwards. Findings with
// a ticket are skipped. A failed ticket is retried with the same id.
func Submit(ctx context.Context, s Store, r Request) (out Outcome, err error) {
	had, err := s.TicketsOfLineages(ctx, lineagesOf(r.Findings))
	if err != nil {
		return out, err
	}
	var open []model.Finding
	for _, f := range r.Findings {
		t, linked := had[f.LineageID]
		switch {
		case linked && t.State == model.TicketRequested:
			out.Skipped = append(out.Skipped, Group{[]int64{f.ID}, t.ID, "A ticket is already being created."})
		case linked && t.State != model.TicketFailed:
			out.Skipped = append(out.Skipped, Group{[]int64{f.ID}, t.ID, "Already linked to " + t.Slug + "."})
		default:
			open = append(open, f)
		}
	}
	open, out.Left = newest(open, r.Limit)
	if len(open) == 0 {
		return out, nil
	}
	where, err := newDestinations(ctx, s, r.Globs, open)
	if err != nil {
		return out, err
	}
	retried, fresh := byFailed(open, had)
	var requests []request
	for _, group := range append(retried, grouped(fresh, r.Group)...) {
		was := had[group[0].LineageID]
		at, err := r.destination(ctx, where, group[0].ProjectID, was)
		ids := idsOf(group)
		if invalid, is := errors.AsType[*model.InvalidError](err); is {
			out.Failed = append(out.Failed, Group{IDs: ids, Reason: invalid.Fields[0].Message})
			continue
		}
		if err != nil {
			return out, err
		}
		requests = append(requests, requested(at, group, was))
	}
	if len(requests) == 0 {
		return out, nil
	}
	tickets, err := store(ctx, s, requests)
	for i, id := range tickets {
		out.Requested = append(out.Requested, Group{IDs: idsOf(requests[i].about), TicketID: id})
	}
	return out, err
}

// newest returns the newest findings up to a limit, and the ids of the others.
func newest(findings []model.Finding, limit int) (selected []model.Finding, left []int64) {
	if limit == 0 || len(findings) <= limit {
		return findings, nil
	}
	sorted := slices.SortedFunc(slices.Values(findings), func(a, b model.Finding) int { return cmp.Compare(b.ID, a.ID) })
	return sorted[:limit], idsOf(sorted[limit:])
}

// byFailed groups findings by their failed ticket, which is retried once. fresh are those without
// one.
func byFailed(findings []model.Finding, had map[int64]model.Ticket) (retried [][]model.Finding, fresh []model.Finding) {
	at := map[int64]int{}
	for _, f := range findings {
		t, failed := had[f.LineageID]
		if !failed {
			fresh = append(fresh, f)
			continue
		}
		i, exists := at[t.ID]
		if !exists {
			i = len(retried)
			at[t.ID], retried = i, append(retried, nil)
		}
		retried[i] = append(retried[i], f)
	}
	return retried, fresh
}

// grouped groups the findings of one ticket each, in the given order.
func grouped(findings []model.Finding, byRule bool) (groups [][]model.Finding) {
	type key struct {
		project, lineage int64
		rule             string
	}
	at, of := map[key]int{}, map[int64]key{}
	for _, f := range findings {
		k := key{project: f.ProjectID, lineage: f.LineageID}
		if byRule {
			k = key{project: f.ProjectID, rule: f.RuleName}
		}
		if first, seen := of[f.LineageID]; seen { // a lineage has one ticket for all refs
			k = first
		}
		of[f.LineageID] = k
		i, exists := at[k]
		if !exists {
			i = len(groups)
			at[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

func idsOf(findings []model.Finding) []int64 {
	ids := model.Map(findings, func(f model.Finding) int64 { return f.ID })
	slices.Sort(ids)
	return ids
}

// request is a ticket to be created and its findings.
type request struct {
	ticket model.Ticket // without an id: a new one
	about  []model.Finding
}

// requested returns a request for a ticket at a destination, or a retry of a failed ticket. A retry
// at another destination gets another marker, because the earlier one is not searched for there.
func requested(at model.Ticket, about []model.Finding, was model.Ticket) request {
	at.State, at.Marker = model.TicketRequested, "redoubt-"+strings.ToLower(rand.Text())
	if was.ID == 0 {
		return request{at, about}
	}
	if at.ConnectionID == was.ConnectionID && at.Project == was.Project {
		at.Marker = was.Marker
	}
	was.State, was.Problem = at.State, ""
	was.ConnectionID, was.Project, was.Marker = at.ConnectionID, at.Project, at.Marker
	return request{was, about}
}

// store stores the requested tickets, enqueues their creation, and returns their ids.
func store(ctx context.Context, s Store, requests []request) ([]int64, error) {
	var fresh, retried []model.Ticket
	for _, r := range requests {
		if r.ticket.ID == 0 {
			fresh = append(fresh, r.ticket)
		} else {
			retried = append(retried, r.ticket)
		}
	}
	added, err := s.AddTickets(ctx, fresh)
	if err != nil {
		return nil, err
	}
	if err := s.UpdateTickets(ctx, retried); err != nil {
		return nil, err
	}
	ids, about := make([]int64, len(requests)), map[int64][]model.Finding{}
	for i, r := range requests {
		if r.ticket.ID == 0 {
			r.ticket, added = added[0], added[1:]
		}
		ids[i] = r.ticket.ID
		about[ids[i]] = r.about
	}
	if _, err := attach(ctx, s, about); err != nil {
		return nil, err
	}
	return ids, s.QueueTickets(ctx, ids)
}

// IsPublic reports whether an issue of a repository would be public without permission.
// Tickets at GitLab are confidential.
func IsPublic(c model.Connection, r model.Repository, setting model.TicketSetting) bool {
	return !r.Private && c.Kind != model.HostGitLab && !setting.Public
}

// PublicReason explains to users why a public repository gets no ticket.
func PublicReason(project string) string {
	return fmt.Sprintf("The issues of %.200s are public. An administrator of the server can allow public tickets "+
		"with redoubt connections tickets --public.", project)
}

// Created records that a ticket was created in its tracker, and shows it at its findings.
func Created(ctx context.Context, s Store, t model.Ticket) error {
	if err := s.UpdateTickets(ctx, []model.Ticket{t}); err != nil {
		return fmt.Errorf("record a ticket: %w", err)
	}
	return Show(ctx, s, t)
}
