package notify

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// pages are where the findings of an issue type are listed; a page without a query opens
// as whoever looks has chosen.
var pages = map[redoubt.IssueType]string{0: "/overview", redoubt.SAST: "/findings", redoubt.SCA: "/supply-chain/vulnerabilities", redoubt.Secrets: "/secrets"}

// overdueOf is the list of what is overdue of an issue type.
func overdueOf(t redoubt.IssueType) string {
	q := url.Values{"due": {string(redoubt.DueOverdue)}, "status": {redoubt.StatusOpen.String(), redoubt.StatusReviewing.String(), redoubt.StatusFixing.String()}}
	return pages[t] + "?" + q.Encode()
}

// listOf is the list of what is open of an issue type, of a user or of all.
func listOf(t redoubt.IssueType, assignee string) string {
	switch {
	case assignee != "":
		return pages[t] + "?assignees=" + url.QueryEscape(assignee)
	case t == 0:
		return pages[t]
	}
	return pages[t] + "?status=" + redoubt.StatusOpen.String()
}

// title says in a sentence what happened.
func (p picture) title(h redoubt.Happening, r redoubt.NotificationRule) string {
	n := counted(p.count, "finding", "findings")
	switch h.Event {
	case redoubt.EventNewFinding:
		return counted(p.count, "new finding", "new findings") + p.rated() + p.where()
	case redoubt.EventBuildBlocked:
		if len(p.findings) == 0 {
			return "A build was blocked" + p.where()
		}
		return "A build was blocked by " + n + p.where()
	case redoubt.EventAdvisory:
		return "New advisories affect what is in use: " + n + p.rated() + p.where()
	case redoubt.EventScanFailed:
		return "A scan failed" + p.where()
	case redoubt.EventScanMissing:
		return fmt.Sprintf("%s without a scan for %s", counted(p.count, "project", "projects"), counted(r.MissingDays, "day", "days"))
	case redoubt.EventDecisionEnded:
		return counted(p.count, "decision", "decisions") + " ended, and the findings are open again" + p.where()
	case redoubt.EventAssigned:
		return n + " assigned to " + h.Assignee + p.where()
	case redoubt.EventOverdue:
		if p.count == 1 {
			return n + " is overdue" + p.rated() + p.where()
		}
		return n + " are overdue" + p.rated() + p.where()
	case redoubt.EventExceptionAsked:
		return cmp.Or(h.Asker, "Somebody") + " asked for an exception for " + n + p.where()
	case redoubt.EventExceptionDecided:
		return "The exception that " + cmp.Or(h.Asker, "somebody") + " asked for was " + became(h.RequestState) + ", for " + n + p.where()
	case redoubt.EventComment:
		return cmp.Or(h.Author, "Somebody") + " commented on a finding" + p.where()
	}
	return n
}

// personalTitle says in a sentence what happened, to whom it is about.
func (p picture) personalTitle(h redoubt.Happening) string {
	if h.Event == redoubt.EventComment {
		return cmp.Or(h.Author, "Somebody") + " mentioned you on a finding" + p.where()
	}
	return "The exception that you asked for was " + became(h.RequestState) + ", for " + counted(p.count, "finding", "findings") + p.where()
}

// became is what was decided about a request; one that waits again had been approved.
func became(s redoubt.ExceptionState) string {
	switch s {
	case redoubt.ExceptionRequested:
		return "approved by mistake and waits again"
	case redoubt.ExceptionActive:
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
func (p picture) rated() string {
	var parts []string
	for s := redoubt.SeverityCritical; s >= redoubt.SeverityLow; s-- {
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
func (p picture) where() string {
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
// (semantics §7).
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
func (m *matcher) keepsProject(ctx context.Context, tx *store.Tx, e redoubt.NotificationEvent, r redoubt.NotificationRule) (func(redoubt.Project) bool, error) {
	f, _, err := m.filterOf(productsOf(r)[0], e, r)
	if err != nil {
		return nil, err
	}
	if f.Projects, err = called(ctx, tx, f.Projects); err != nil {
		return nil, err
	}
	var except redoubt.FindingFilter
	if f.Except != nil {
		except = *f.Except
	}
	if except.Projects, err = called(ctx, tx, except.Projects); err != nil {
		return nil, err
	}
	in := func(list []string, s string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, s) })
	}
	tagged := func(list []string, p redoubt.Project) bool {
		return slices.ContainsFunc(p.Tags, func(tag string) bool { return in(list, tag) })
	}
	return func(p redoubt.Project) bool {
		switch {
		case len(f.Projects) > 0 && !in(f.Projects, p.Name), len(f.ProjectTags) > 0 && !tagged(f.ProjectTags, p):
			return false
		case in(except.Projects, p.Name), tagged(except.ProjectTags, p):
			return false
		}
		return true
	}, nil
}
