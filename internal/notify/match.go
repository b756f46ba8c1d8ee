package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// MatchAttempts is the number of attempts to match events. They span days.
const MatchAttempts = 1000

// Match runs a store.NotifyJob: it matches the events of a transaction against the rules and queues
// their messages. It is idempotent.
func (n *Notifier) Match(ctx context.Context, j model.Job, what store.Notifying) error {
	m := matcher{
		Notifier:   n,
		deployment: j.DeploymentID,
		at:         j.CreatedAt,
		seen:       map[question]matchSummary{},
		broken:     map[int64]fault{},
	}
	err := n.Store.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		if m.rules, err = tx.NotificationRules(ctx); err == nil {
			err = m.openViews(ctx, tx)
		}
		return err
	})
	if err == nil {
		m.view, err = n.Index.Deployment(ctx, j.DeploymentID)
	}
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%d_%s", j.ID, strconv.FormatInt(j.CreatedAt.UnixMicro(), 36))
	for i, h := range what.Happened {
		if err := m.appendMessages(ctx, fmt.Sprintf("%s_%d", key, i), h); err != nil {
			return err
		}
	}
	return m.queue(ctx)
}

// matcher matches the events of one job against rules.
type matcher struct {
	*Notifier
	deployment int64
	at         time.Time
	rules      []model.NotificationRule
	view       *index.View
	seen       map[question]matchSummary // cache for the current event
	list       []model.Notification
	broken     map[int64]fault // rules with an invalid filter
}

// appendMessages appends the messages about an event.
func (m *matcher) appendMessages(ctx context.Context, key string, h model.Happening) error {
	clear(m.seen)
	if h.CommentID != 0 {
		if exists, err := m.commentExists(ctx, h.CommentID); !exists {
			return err
		}
	}
	for _, r := range m.rules {
		if r.Paused || !r.Events.Has(h.Event) {
			continue
		}
		p, err := m.summarize(ctx, h, r)
		if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
			m.broken[r.ID] = invalidFilter(r, invalid)
			continue
		}
		if err != nil {
			return err
		}
		if p.count == 0 {
			continue
		}
		for _, to := range r.Receivers() {
			m.list = append(m.list, model.Notification{
				RuleID:   r.ID,
				Receiver: to,
				Key:      key,
				Message:  p.message(h, r, m.at),
				DueAt:    to.Digest.Next(m.at),
			})
		}
	}
	return m.appendPersonal(ctx, key, h)
}

// queue stores the messages of rules that still exist.
func (m *matcher) queue(ctx context.Context) error {
	if len(m.list)+len(m.broken) == 0 {
		return nil
	}
	return m.Store.Update(ctx, m.deployment, by, func(ctx context.Context, tx *store.Tx) error {
		rules, err := tx.NotificationRules(ctx)
		if err != nil {
			return err
		}
		current := map[int64]model.NotificationRule{}
		for _, r := range rules {
			current[r.ID] = r
		}
		var list []model.Notification
		for _, n := range m.list {
			if r, is := current[n.RuleID]; n.RuleID == 0 || is && r.Unwanted(n.Receiver) == "" {
				list = append(list, n)
			}
		}
		for id, f := range m.broken {
			if current[id].Filter != f.filter {
				continue // the filter was changed in the meantime
			}
			if err := tx.NoteNotificationProblem(ctx, id, f.problem, f.pause); err != nil {
				return err
			}
		}
		return tx.AddNotifications(ctx, list)
	})
}

// question is the key of rules that select the same findings.
type question struct {
	filter   string
	least    model.Severity
	products model.Products
}

// summarize returns the summary of an event for a rule.
func (m *matcher) summarize(ctx context.Context, h model.Happening, r model.NotificationRule) (matchSummary, error) {
	if h.Event == model.EventScanFailed {
		return m.project(ctx, h, r)
	}
	q := question{r.Filter, r.MinSeverity, r.Products}
	if p, known := m.seen[q]; known {
		return p, nil
	}
	p, err := m.findings(ctx, h, r)
	everything := question{} == q
	// recorded scans and deleted findings match nothing, but the build was blocked
	if err == nil && h.Event == model.EventBuildBlocked && p.count == 0 && everything {
		p.count = 1
	}
	if err == nil && h.Event == model.EventExceptionDecided && p.count == 0 {
		p, err = m.removed(ctx, h, r)
	}
	if err == nil && p.count > 0 && h.ScanID != 0 {
		err = m.name(ctx, &p, h)
	}
	if err == nil {
		m.seen[q] = p
	}
	return p, err
}

// triageIndependentEvents lists events sent regardless of triage state.
var triageIndependentEvents = []model.NotificationEvent{
	model.EventBuildBlocked, model.EventAssigned, model.EventExceptionRequested,
	model.EventExceptionDecided, model.EventOverdue, model.EventComment,
}

// filterOf returns a rule's filter for one issue type and event.
func (m *matcher) filterOf(
	t model.IssueType, e model.NotificationEvent, r model.NotificationRule,
) (f model.FindingFilter, selects bool, err error) {
	text := r.Filter
	if slices.Contains(triageIndependentEvents, e) {
		q, err := url.ParseQuery(text)
		if err == nil && !q.Has("status") && !q.Has("-status") {
			q.Set("status", "any")
			text = q.Encode()
		}
	}
	if f, selects, err = m.Filter(t, text, m.Clock()); err != nil || !selects {
		return f, false, err
	}
	// only on refs where the finding is overdue
	if e == model.EventOverdue && (f.DueBefore.IsZero() || f.DueBefore.After(m.Clock())) {
		f.DueBefore = m.Clock()
	}
	f.Dedup = false // the representative of a lineage may change before the query
	if r.MinSeverity > model.SeverityLow {
		wanted := f.Severities
		f.Severities = nil
		for s := r.MinSeverity; s <= model.SeverityCritical; s++ {
			if len(wanted) == 0 || slices.Contains(wanted, s) {
				f.Severities = append(f.Severities, s)
			}
		}
		selects = len(f.Severities) > 0
	}
	return f, selects, nil
}
