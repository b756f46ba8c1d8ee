package notifications

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// NotifyJob is the kind of job that finds the recipients for the events of a transaction.
const NotifyJob = "notify"

// Notifying is the input of a NotifyJob: the events of a transaction that some rule uses.
type Notifying struct {
	Happened []model.Happening `json:"happened"`
}

// EmitEvent adds an event to the transaction, which commits with a job that finds the recipients.
// It has no effect if no rule uses the event and no user is addressed directly.
func (tx *Tx) EmitEvent(h model.Happening) {
	if tx.Notified().Has(h.Event) || len(h.Persons) > 0 {
		events := sqldb.Local[happenings](tx.Tx)
		events.list = append(events.list, h)
	}
}

// happening returns the event of a kind that collects findings during the whole transaction.
func (tx *Tx) happening(e model.NotificationEvent) *model.Happening {
	events := sqldb.Local[happenings](tx.Tx)
	i := slices.IndexFunc(events.list, func(h model.Happening) bool { return h.Event == e })
	if i < 0 {
		i, events.list = len(events.list), append(events.list, model.Happening{Event: e})
	}
	return &events.list[i]
}

// NotifyAdded adds events about findings that are new on their refs. New advisories create findings
// from the inventory without a scan.
func (tx *Tx) NotifyAdded(findings []model.FindingWrite) {
	for _, e := range []model.NotificationEvent{model.EventNewFinding, model.EventAdvisory} {
		if !tx.Notified().Has(e) {
			continue
		}
		for i := range findings {
			f := &findings[i]
			if f.State != model.Unresolved || e == model.EventAdvisory && !f.Unscanned {
				continue
			}
			h := tx.happening(e)
			h.Findings.Add(f.ID)
			if !f.Unscanned {
				h.ScanID = f.FirstScanID
			}
		}
	}
}

// NotifyReturned adds an event about a fixed finding that is open again, like that of a new one.
func (tx *Tx) NotifyReturned(before, after model.Finding) {
	if before.State == model.Fixed && after.State == model.Unresolved && tx.Notified().Has(model.EventNewFinding) {
		h := tx.happening(model.EventNewFinding)
		h.Findings.Add(after.ID)
		h.Lineages.Add(after.LineageID)
	}
}

// NotifyLineages adds new lineages to the events, which mark findings that no other ref has.
func (tx *Tx) NotifyLineages(lineages []model.Lineage) {
	for _, e := range []model.NotificationEvent{model.EventNewFinding, model.EventAdvisory} {
		if !tx.Notified().Has(e) {
			continue
		}
		for i := range lineages {
			tx.happening(e).Lineages.Add(lineages[i].ID)
		}
	}
}

// NotifyAssigned adds events for users who were assigned findings by another actor.
func (tx *Tx) NotifyAssigned(events []model.TriageEvent) {
	if !tx.Notified().Has(model.EventAssigned) {
		return
	}
	to := map[string]*model.IDRuns{}
	var names []string
	for _, e := range events {
		name := e.After.Assignee
		if name == "" || name == e.Before.Assignee || tx.Actor().Kind == "user" && tx.Actor().ID == name {
			continue
		}
		if to[name] == nil {
			to[name], names = &model.IDRuns{}, append(names, name)
		}
		to[name].Add(e.LineageID)
	}
	for _, name := range names {
		tx.EmitEvent(model.Happening{Event: model.EventAssigned, Lineages: *to[name], Assignee: name})
	}
}

// NotifyOfException adds an event about a requested exception or the decision about it. The
// requester gets mail about decisions of others and about expiry.
func (tx *Tx) NotifyOfException(
	ctx context.Context, e model.NotificationEvent, r model.Exception, reason string,
) error {
	if !tx.Notified().Has(e) && (r.CreatorID == 0 || e != model.EventExceptionDecided) {
		return nil
	}
	h := model.Happening{Event: e, ProjectID: r.ProjectID, RequestID: r.ID, RequestState: r.State, Reason: reason}
	for _, id := range r.Lineages {
		h.Lineages.Add(id)
	}
	if r.CreatorID != 0 {
		m, err := tx.MemberByID(ctx, r.CreatorID)
		if err != nil && !errors.Is(err, model.ErrNotFound) { // former members can be requesters
			return err
		}
		h.Requester = cmp.Or(m.Name, r.CreatedBy.Label())
		if own := tx.Actor().Kind == "user" && tx.Actor().ID == m.Name; e == model.EventExceptionDecided &&
			!own && m.MailTo() != "" {
			h.Persons = []int64{r.CreatorID}
		}
	}
	if !tx.Notified().Has(e) && len(h.Persons) == 0 {
		return nil
	}
	p, err := tx.Project(ctx, r.ProjectID)
	h.Project, h.Tags = p.Name, p.Tags
	tx.EmitEvent(h)
	return err
}

// NotifyComment adds an event about a comment on a finding. Mentioned users get mail, except the
// author.
func (tx *Tx) NotifyComment(ctx context.Context, c model.FindingComment) error {
	h := model.Happening{Event: model.EventComment, CommentID: c.ID, Author: c.WrittenBy.Label()}
	h.Lineages.Add(c.LineageID)
	if len(c.Mentions) == 0 && !tx.Notified().Has(h.Event) {
		return nil
	}
	if c.AuthorID != 0 {
		author, err := tx.MemberByID(ctx, c.AuthorID)
		if err != nil && !errors.Is(err, model.ErrNotFound) {
			return err
		}
		h.Author = cmp.Or(author.Name, h.Author)
	}
	for _, mentioned := range c.Mentions {
		if mentioned.UserID != c.AuthorID {
			h.Persons = append(h.Persons, mentioned.UserID)
		}
	}
	tx.EmitEvent(h)
	return nil
}

// NotifyBlocked adds an event about a scan that blocked its build.
func (tx *Tx) NotifyBlocked(scanID int64, gate *model.ScanGate) {
	if gate == nil {
		return
	}
	h := model.Happening{Event: model.EventBuildBlocked, ScanID: scanID, Reason: gate.Reason}
	for _, b := range gate.Blocking {
		if b.FindingID > 0 {
			h.Findings.Add(b.FindingID)
		}
	}
	tx.EmitEvent(h)
}

// NotifyFailed adds an event about a scan that ended with an error.
func (tx *Tx) NotifyFailed(s model.Scan) {
	if s.Status == model.ScanError {
		tx.EmitEvent(model.Happening{Event: model.EventScanFailed, ProjectID: s.ProjectID, ScanID: s.ID, Reason: s.Error})
	}
}

// NotifyRunFailed adds an event about a failed managed run, unless a failed scan of the run already
// added one. Canceled and superseded runs do not notify.
func (tx *Tx) NotifyRunFailed(ctx context.Context, r model.Run) error {
	if r.State != model.RunFailed && r.State != model.RunTimedOut || !tx.Notified().Has(model.EventScanFailed) {
		return nil
	}
	count, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM scan WHERE deployment_id = $1 AND `+
		`project_id = $2 AND status = $3 AND (id = $4 OR run_id = $5)`,
		r.ProjectID, model.ScanError, r.ScanID, r.ID)
	if err == nil && count == 0 {
		tx.EmitEvent(model.Happening{Event: model.EventScanFailed, ProjectID: r.ProjectID, RunID: r.ID, Reason: r.Reason})
	}
	return err
}

// happenings are the events collected by a transaction.
type happenings struct{ list []model.Happening }

// QueueHappened queues the job that finds the recipients of the transaction's events. It is a hook
// of the transaction.
func (tx *Tx) QueueHappened(ctx context.Context) error {
	// events with lineages but without findings have no recipients
	events := slices.DeleteFunc(sqldb.Local[happenings](tx.Tx).list, func(h model.Happening) bool {
		return (h.Event == model.EventNewFinding || h.Event == model.EventAdvisory) && len(h.Findings) == 0
	})
	if len(events) == 0 {
		return nil
	}
	input, err := json.Marshal(Notifying{events})
	if err != nil {
		return err
	}
	_, err = tx.Enqueue(ctx, model.Job{Kind: NotifyJob, Input: input})
	return err
}
