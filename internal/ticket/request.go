package ticket

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// Request asks for tickets about findings.
type Request struct {
	Findings []redoubt.Finding
	Group    bool // one ticket for the findings of a rule in a project; else one for each
	// Limit is how many findings get a ticket at most, newest first; those that have one do
	// not count. 0 is no limit.
	Limit int
	// Connection and Project name where they are made; empty takes the deployment's
	// setting, and then the repository of each finding's project.
	Connection string
	Project    string
	// Globs are those that the caller is bound to: then the place is one that they reach
	// (see places).
	Globs redoubt.ProjectGlobs
}

// Outcome is what became of a request, group by group.
type Outcome struct {
	Requested []Group // TicketID is that of the ticket, which is created soon
	Skipped   []Group // Reason says why no ticket is needed
	Failed    []Group // Reason says why none can be made
	Left      []int64 // beyond the limit, ascending
}

// Group are the findings that one ticket is about.
type Group struct {
	IDs      []int64
	TicketID int64
	Reason   string // for people
}

// Ask asks for tickets. They are created by a job, which outlives the process; their
// findings show them once they are. A finding with a ticket gets no other one. A ticket
// that could not be created is tried again, and stays the same.
func Ask(ctx context.Context, s Store, r Request) (out Outcome, err error) {
	had, err := s.TicketsOfLineages(ctx, lineagesOf(r.Findings))
	if err != nil {
		return out, err
	}
	var open []redoubt.Finding
	for _, f := range r.Findings {
		t, linked := had[f.LineageID]
		switch {
		case linked && t.State == redoubt.TicketRequested:
			out.Skipped = append(out.Skipped, Group{[]int64{f.ID}, t.ID, "A ticket about it is being created."})
		case linked && t.State != redoubt.TicketFailed:
			out.Skipped = append(out.Skipped, Group{[]int64{f.ID}, t.ID, "It is linked to " + t.Slug + " already."})
		default:
			open = append(open, f)
		}
	}
	open, out.Left = newest(open, r.Limit)
	if len(open) == 0 {
		return out, nil
	}
	where, err := newPlaces(ctx, s, r.Globs, open)
	if err != nil {
		return out, err
	}
	again, fresh := byFailed(open, had)
	for _, group := range append(again, grouped(fresh, r.Group)...) {
		was := had[group[0].LineageID]
		at, err := r.place(ctx, where, group[0].ProjectID, was)
		ids := idsOf(group)
		if invalid, is := errors.AsType[*redoubt.InvalidError](err); is {
			out.Failed = append(out.Failed, Group{IDs: ids, Reason: invalid.Fields[0].Message})
			continue
		}
		if err != nil {
			return out, err
		}
		id, err := request(ctx, s, at, group, was)
		if err != nil {
			return out, err
		}
		out.Requested = append(out.Requested, Group{IDs: ids, TicketID: id})
	}
	return out, nil
}

// newest takes as many findings as a limit allows, newest first, and the ids of the others.
func newest(findings []redoubt.Finding, limit int) (taken []redoubt.Finding, left []int64) {
	if limit == 0 || len(findings) <= limit {
		return findings, nil
	}
	sorted := slices.SortedFunc(slices.Values(findings), func(a, b redoubt.Finding) int { return cmp.Compare(b.ID, a.ID) })
	return sorted[:limit], idsOf(sorted[limit:])
}

// byFailed puts together the findings of each ticket that could not be created, which is
// tried again once, however it was asked for; the others are fresh.
func byFailed(findings []redoubt.Finding, had map[int64]redoubt.Ticket) (again [][]redoubt.Finding, fresh []redoubt.Finding) {
	at := map[int64]int{}
	for _, f := range findings {
		t, failed := had[f.LineageID]
		if !failed {
			fresh = append(fresh, f)
			continue
		}
		i, there := at[t.ID]
		if !there {
			i = len(again)
			at[t.ID], again = i, append(again, nil)
		}
		again[i] = append(again[i], f)
	}
	return again, fresh
}

// grouped puts together what one ticket is about, in the order in which findings come.
func grouped(findings []redoubt.Finding, byRule bool) (groups [][]redoubt.Finding) {
	type key struct {
		project, lineage int64
		rule             string
	}
	at := map[key]int{}
	for _, f := range findings {
		k := key{project: f.ProjectID, lineage: f.LineageID}
		if byRule {
			k = key{project: f.ProjectID, rule: f.RuleName}
		}
		i, there := at[k]
		if !there {
			i = len(groups)
			at[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

func idsOf(findings []redoubt.Finding) []int64 {
	ids := make([]int64, len(findings))
	for i, f := range findings {
		ids[i] = f.ID
	}
	slices.Sort(ids)
	return ids
}

// request keeps a ticket that is to be created, or has one tried again that could not be.
// In another place that one gets another mark: nobody looks for the first there.
func request(ctx context.Context, s Store, at redoubt.Ticket, group []redoubt.Finding, was redoubt.Ticket) (int64, error) {
	at.State, at.Marker = redoubt.TicketRequested, "redoubt-"+strings.ToLower(rand.Text())
	var err error
	t := was
	if was.ID == 0 {
		t, err = s.AddTicket(ctx, at)
	} else {
		if at.ConnectionID != was.ConnectionID || at.Project != was.Project {
			t.Marker = at.Marker
		}
		t.State, t.Problem, t.ConnectionID, t.Project = redoubt.TicketRequested, "", at.ConnectionID, at.Project
		err = s.UpdateTicket(ctx, t)
	}
	if err == nil {
		_, err = attach(ctx, s, t, group)
	}
	if err == nil {
		err = s.QueueTicket(ctx, t.ID)
	}
	return t.ID, err
}

// TellsEverybody reports whether an issue of a repository would tell everybody, and nobody
// allowed that. At GitLab tickets are confidential.
func TellsEverybody(c redoubt.Connection, r redoubt.Repository, setting redoubt.TicketSetting) bool {
	return !r.Private && c.Kind != redoubt.HostGitLab && !setting.Public
}

// PublicReason says why a public repository gets no ticket, for people.
func PublicReason(project string) string {
	return fmt.Sprintf("Everybody can read the issues of %.200s, as it is public. Whoever runs the server may allow it with redoubt connection tickets --public.", project)
}

// Created notes that a ticket is in its tracker, and has its findings show it.
func Created(ctx context.Context, s Store, t redoubt.Ticket) error {
	if err := s.UpdateTicket(ctx, t); err != nil {
		return fmt.Errorf("note a ticket: %w", err)
	}
	return Show(ctx, s, t)
}
