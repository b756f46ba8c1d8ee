package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
)

// TicketAttempts is the number of attempts to create a ticket, over about ten minutes.
const TicketAttempts = 12

const (
	// ticketSkew is the tolerated difference between the clocks of a tracker and of this server.
	ticketSkew = time.Hour
	// ticketFor is the timeout of one attempt at a tracker.
	ticketFor = 2 * time.Minute
	// ticketWaits bounds the wait of a ticket for its tracker. It is less than the bound of its
	// job.
	ticketWaits = 23 * time.Hour
)

// order is a ticket to be created.
type order struct {
	deployment model.Deployment
	ticket     model.Ticket
	connection model.Connection
	setting    model.TicketSetting
	project    string
	items      []ticketItem
}

// CreateTicket runs a store.TicketJob: it creates a ticket in its tracker. It first searches for a
// ticket of an earlier attempt, so that a ticket is never created twice.
func (k *Service) CreateTicket(ctx context.Context, j model.Job, what store.TicketOrder) error {
	o := order{}
	err := k.Store.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) error {
		return o.read(ctx, tx, what.TicketID)
	})
	switch {
	case errors.Is(err, errNotWanted):
		return nil
	case errors.Is(err, model.ErrNotFound):
		return k.failTicket(ctx, j.DeploymentID, what.TicketID, "The connection or the findings were deleted.")
	case err != nil:
		return err
	}
	hostCtx, cancel := context.WithTimeout(ctx, ticketFor)
	defer cancel()
	made, err := k.create(hostCtx, o)
	_, busy := errors.AsType[*model.BusyError](err)
	old := k.Clock().Sub(j.CreatedAt) >= ticketWaits
	permanent, ends := errors.AsType[queue.PermanentError](err)
	switch {
	case err == nil:
		return k.noteTicket(ctx, o, made)
	case ctx.Err() != nil:
		return err
	case ends:
		return k.failTicket(ctx, j.DeploymentID, what.TicketID, permanent.Reason)
	case busy && old || refused(err) || errors.Is(err, scm.ErrUnsupported) || j.Attempt >= TicketAttempts:
		return k.failTicket(ctx, j.DeploymentID, what.TicketID, sentence(err))
	}
	return errors.Join(jobError(err), k.changeTicket(ctx, j.DeploymentID, what.TicketID, func(t *model.Ticket) {
		t.Problem = sentence(err)
	}))
}

// sentence formats an error for display.
func sentence(err error) string {
	s := []rune(model.Line(err.Error()))
	return "Creating the ticket failed: " + string(s[:min(len(s), 400)])
}

// errNotWanted means that a ticket no longer has to be created.
var errNotWanted = errors.New("the ticket was already created or was unlinked")

func (o *order) read(ctx context.Context, tx *store.Tx, id int64) (err error) {
	o.deployment = tx.Deployment()
	if o.ticket, err = tx.Ticket(ctx, id); errors.Is(err, model.ErrNotFound) ||
		err == nil && o.ticket.State != model.TicketRequested {
		return errNotWanted
	}
	if err != nil {
		return err
	}
	if o.connection, err = tx.Connection(ctx, o.ticket.ConnectionID); err != nil {
		return err
	}
	if o.setting, err = tx.TicketSetting(ctx); err != nil {
		return err
	}
	about, err := tx.TicketFindings(ctx, id, nil)
	if err != nil {
		return err
	}
	for _, f := range about {
		found, err := tx.Finding(ctx, f.FindingID)
		if errors.Is(err, model.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		i, err := readTicketItem(ctx, tx, found.Finding)
		if err != nil {
			return err
		}
		o.items = append(o.items, i)
	}
	if len(o.items) == 0 {
		return model.ErrNotFound
	}
	p, err := tx.Project(ctx, about[0].ProjectID)
	o.project = p.Name
	return err
}

// create creates the ticket in the tracker, or returns an existing one.
func (k *Service) create(ctx context.Context, o order) (scm.Ticket, error) {
	t, err := k.tracker(o.deployment.ID, o.connection)
	if err != nil {
		return scm.Ticket{}, err
	}
	found, exists, err := t.FindTicket(ctx, o.ticket.Project, o.ticket.Marker, o.ticket.CreatedAt.Add(-ticketSkew))
	if err != nil || exists {
		return found, err
	}
	if err := k.checkDisclosure(ctx, &o, t); err != nil {
		return scm.Ticket{}, err
	}
	d := o.draft(k.PublicURL() + "/orgs/" + o.deployment.Slug)
	d.Marker, d.Labels, d.Type = o.ticket.Marker, o.setting.Labels, cmp.Or(o.setting.IssueType, "Task")
	return t.CreateTicket(ctx, o.ticket.Project, d)
}

// checkDisclosure checks whether findings may be disclosed in the issues of a repository. Since the
// request, it may have become public, another repository may have its name, or the setting may have
// changed. A refusal is a queue.PermanentError.
func (k *Service) checkDisclosure(ctx context.Context, o *order, t scm.Tracker) error {
	if o.connection.Kind == model.HostJira {
		return nil
	}
	var known []model.Repository
	err := k.Store.View(ctx, o.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		known, err = tx.Repositories(ctx, o.connection.ID)
		return err
	})
	if err != nil {
		return err
	}
	i := slices.IndexFunc(known, func(r model.Repository) bool { return strings.EqualFold(r.FullName, o.ticket.Project) })
	if i < 0 {
		return queue.PermanentError{
			Reason: fmt.Sprintf("%s no longer has access to %.200s.", o.connection.Name, o.ticket.Project),
		}
	}
	now, err := t.Repository(ctx, known[i].HostID)
	if err != nil {
		return err
	}
	err = k.Store.View(ctx, o.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		o.setting, err = tx.TicketSetting(ctx)
		return err
	})
	switch {
	case err != nil:
		return err
	case !strings.EqualFold(now.FullName, o.ticket.Project):
		return queue.PermanentError{Reason: fmt.Sprintf("%.200s was renamed to %.200s.", o.ticket.Project, now.FullName)}
	case ticket.IsPublic(o.connection, now, o.setting):
		return queue.PermanentError{Reason: ticket.PublicReason(o.ticket.Project)}
	}
	return nil
}

// tracker opens the tracker of a connection.
func (k *Service) tracker(deploymentID int64, c model.Connection) (scm.Tracker, error) {
	h, err := k.host(deploymentID, c)
	if err != nil {
		return nil, err
	}
	t, is := h.(scm.Tracker)
	if !is {
		return nil, fmt.Errorf("%s has no issue tracker: %w", c.Name, scm.ErrUnsupported)
	}
	return t, nil
}

// noteTicket records that a ticket was created. The actor is the requester.
func (k *Service) noteTicket(ctx context.Context, o order, made scm.Ticket) error {
	return k.Store.Update(ctx, o.deployment.ID, o.ticket.CreatedBy, func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.Ticket(ctx, o.ticket.ID)
		if errors.Is(err, model.ErrNotFound) { // unlinked tickets stay in their tracker
			return nil
		}
		if err != nil {
			return err
		}
		applyTrackerState(&t, made, tx.Now())
		return ticket.Created(ctx, tx, t)
	})
}

// applyTrackerState updates a ticket from the response of its tracker.
func applyTrackerState(t *model.Ticket, now scm.Ticket, at time.Time) {
	t.State, t.Problem, t.CheckedAt = model.TicketOpen, "", at
	if now.Closed {
		t.State = model.TicketClosed
	}
	if t.URL == "" {
		t.URL, t.Slug, t.Key = now.URL, now.Slug, now.Key
	}
}

// failTicket records why a ticket cannot be created. It returns a queue.PermanentError.
func (k *Service) failTicket(ctx context.Context, deploymentID, id int64, reason string) error {
	err := k.changeTicket(ctx, deploymentID, id, func(t *model.Ticket) {
		if t.State == model.TicketRequested {
			t.State, t.Problem = model.TicketFailed, reason
		}
	})
	if err != nil {
		return err
	}
	return queue.PermanentError{Reason: reason}
}

func (k *Service) changeTicket(ctx context.Context, deploymentID, id int64, change func(*model.Ticket)) error {
	return k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		t, err := tx.Ticket(ctx, id)
		if errors.Is(err, model.ErrNotFound) {
			return nil
		}
		if err == nil {
			change(&t)
			err = tx.UpdateTicket(ctx, t)
		}
		return err
	})
}

// TicketAbandoned implements the Abandoned function of queue.Kind: it fails a ticket whose last
// attempt did not report an outcome.
func (k *Service) TicketAbandoned(ctx context.Context, j model.Job, reason string) error {
	var what store.TicketOrder
	if json.Unmarshal(j.Input, &what) != nil {
		return nil //nolint:nilerr // nothing waits for a job that cannot be read
	}
	err := k.failTicket(ctx, j.DeploymentID, what.TicketID, "It was "+reason+".")
	if _, ended := errors.AsType[queue.PermanentError](err); ended {
		return nil
	}
	return err
}
