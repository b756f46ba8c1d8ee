package notify

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// pages maps issue types to their lists of findings. A page without a query opens the user's
// default view.
var pages = map[model.IssueType]string{
	0:             "/overview",
	model.SAST:    "/findings",
	model.SCA:     "/supply-chain/vulnerabilities",
	model.Secrets: "/secrets",
}

// overdueOf returns the list of overdue findings of an issue type.
func overdueOf(t model.IssueType) string {
	q := url.Values{
		"due":    {string(model.DueOverdue)},
		"status": {model.StatusOpen.String(), model.StatusReviewing.String(), model.StatusFixing.String()},
	}
	return pages[t] + "?" + q.Encode()
}

// listOf returns the list of open findings of an issue type, or those assigned to a user.
func listOf(t model.IssueType, assignee string) string {
	switch {
	case assignee != "":
		return pages[t] + "?assignees=" + url.QueryEscape(assignee)
	case t == 0:
		return pages[t]
	}
	return pages[t] + "?status=" + model.StatusOpen.String()
}

// title describes an event in a sentence.
func (p matchSummary) title(h model.Happening, r model.NotificationRule) string {
	n := counted(p.count, "finding", "findings")
	switch h.Event {
	case model.EventNewFinding:
		return counted(p.count, "new finding", "new findings") + p.rated() + p.where()
	case model.EventBuildBlocked:
		if len(p.findings) == 0 {
			return "A build was blocked" + p.where()
		}
		return "A build was blocked by " + n + p.where()
	case model.EventAdvisory:
		return "New advisories affect dependencies in use: " + n + p.rated() + p.where()
	case model.EventScanFailed:
		return "A scan failed" + p.where()
	case model.EventScanMissing:
		return fmt.Sprintf("%s without a scan for %s",
			counted(p.count, "project", "projects"), counted(r.MissingDays, "day", "days"))
	case model.EventDecisionEnded:
		return counted(p.count, "decision", "decisions") + " ended; the findings are open again" + p.where()
	case model.EventAssigned:
		return n + " assigned to " + h.Assignee + p.where()
	case model.EventOverdue:
		if p.count == 1 {
			return n + " is overdue" + p.rated() + p.where()
		}
		return n + " are overdue" + p.rated() + p.where()
	case model.EventExceptionRequested:
		return cmp.Or(h.Requester, "A user") + " requested an exception for " + n + p.where()
	case model.EventExceptionDecided:
		return "The exception requested by " + cmp.Or(h.Requester, "a user") + " was " +
			decisionText(h.RequestState) + ", for " + n + p.where()
	case model.EventComment:
		return cmp.Or(h.Author, "A user") + " commented on a finding" + p.where()
	}
	return n
}

// personalTitle describes an event in a sentence to the person concerned.
func (p matchSummary) personalTitle(h model.Happening) string {
	if h.Event == model.EventComment {
		return cmp.Or(h.Author, "A user") + " mentioned you on a finding" + p.where()
	}
	return "The exception you requested was " + decisionText(h.RequestState) + ", for " +
		counted(p.count, "finding", "findings") + p.where()
}

// decisionText describes the decision about a request. A request that is pending again was approved
// before.
func decisionText(s model.ExceptionState) string {
	switch s {
	case model.ExceptionRequested:
		return "reset to pending after an approval by mistake"
	case model.ExceptionActive:
		return "approved"
	}
	return s.String()
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// rated returns the counts by severity, highest first, as in " (1 critical, 2 high)".
func (p matchSummary) rated() string {
	var parts []string
	for s := model.SeverityCritical; s >= model.SeverityLow; s-- {
		if n := p.severities[s.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// where returns the name or the number of projects.
func (p matchSummary) where() string {
	switch len(p.projects) {
	case 0:
		return ""
	case 1:
		for name := range p.projects {
			return " in " + name
		}
	}
	return fmt.Sprintf(" in %d projects", len(p.projects))
}

// called adds the current names of projects to former ones in a filter
// (docs/reference/projects.md).
func called(ctx context.Context, tx *store.Tx, names []string) ([]string, error) {
	out := slices.Clone(names)
	for _, name := range names {
		p, err := tx.ProjectByName(ctx, name)
		if err == nil {
			out = append(out, p.Name)
		}
		if err := gone(err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// matchesProject returns a predicate that applies the project names and tags of a rule's filter.
func (m *matcher) matchesProject(
	ctx context.Context, tx *store.Tx, e model.NotificationEvent, r model.NotificationRule,
) (func(model.Project) bool, error) {
	f, _, err := m.filterOf(productsOf(r)[0], e, r)
	if err != nil {
		return nil, err
	}
	if f.Projects, err = called(ctx, tx, f.Projects); err != nil {
		return nil, err
	}
	var except model.FindingFilter
	if f.Except != nil {
		except = *f.Except
	}
	if except.Projects, err = called(ctx, tx, except.Projects); err != nil {
		return nil, err
	}
	in := func(list []string, s string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, s) })
	}
	tagged := func(list []string, p model.Project) bool {
		return slices.ContainsFunc(p.Tags, func(tag string) bool { return in(list, tag) })
	}
	return func(p model.Project) bool {
		switch {
		case len(f.Projects) > 0 && !in(f.Projects, p.Name), len(f.ProjectTags) > 0 && !tagged(f.ProjectTags, p):
			return false
		case in(except.Projects, p.Name), tagged(except.ProjectTags, p):
			return false
		}
		return true
	}, nil
}
