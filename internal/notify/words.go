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

// pages are where the findings of an issue type are listed; a page without a query opens
// as whoever looks has chosen.
var pages = map[model.IssueType]string{
	0:             "/overview",
	model.SAST:    "/findings",
	model.SCA:     "/supply-chain/vulnerabilities",
	model.Secrets: "/secrets",
}

// overdueOf is the list of what is overdue of an issue type.
func overdueOf(t model.IssueType) string {
	q := url.Values{
		"due":    {string(model.DueOverdue)},
		"status": {model.StatusOpen.String(), model.StatusReviewing.String(), model.StatusFixing.String()},
	}
	return pages[t] + "?" + q.Encode()
}

// listOf is the list of what is open of an issue type, of a user or of all.
func listOf(t model.IssueType, assignee string) string {
	switch {
	case assignee != "":
		return pages[t] + "?assignees=" + url.QueryEscape(assignee)
	case t == 0:
		return pages[t]
	}
	return pages[t] + "?status=" + model.StatusOpen.String()
}

// title says in a sentence what happened.
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
		return "New advisories affect what is in use: " + n + p.rated() + p.where()
	case model.EventScanFailed:
		return "A scan failed" + p.where()
	case model.EventScanMissing:
		return fmt.Sprintf("%s without a scan for %s",
			counted(p.count, "project", "projects"), counted(r.MissingDays, "day", "days"))
	case model.EventDecisionEnded:
		return counted(p.count, "decision", "decisions") + " ended, and the findings are open again" + p.where()
	case model.EventAssigned:
		return n + " assigned to " + h.Assignee + p.where()
	case model.EventOverdue:
		if p.count == 1 {
			return n + " is overdue" + p.rated() + p.where()
		}
		return n + " are overdue" + p.rated() + p.where()
	case model.EventExceptionAsked:
		return cmp.Or(h.Asker, "Somebody") + " asked for an exception for " + n + p.where()
	case model.EventExceptionDecided:
		return "The exception that " + cmp.Or(h.Asker, "somebody") + " asked for was " +
			became(h.RequestState) + ", for " + n + p.where()
	case model.EventComment:
		return cmp.Or(h.Author, "Somebody") + " commented on a finding" + p.where()
	}
	return n
}

// personalTitle says in a sentence what happened, to whom it is about.
func (p matchSummary) personalTitle(h model.Happening) string {
	if h.Event == model.EventComment {
		return cmp.Or(h.Author, "Somebody") + " mentioned you on a finding" + p.where()
	}
	return "The exception that you asked for was " + became(h.RequestState) + ", for " +
		counted(p.count, "finding", "findings") + p.where()
}

// became is what was decided about a request; one that waits again had been approved.
func became(s model.ExceptionState) string {
	switch s {
	case model.ExceptionRequested:
		return "approved by mistake and waits again"
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

// rated is how severe the findings are, the worst first, as " (1 critical, 2 high)".
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

// where names the project, or counts them.
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

// called adds to names of projects in a filter what those are called now that had one
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

// keepsProject is what a rule's filter says of projects: their names and tags.
func (m *matcher) keepsProject(
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
