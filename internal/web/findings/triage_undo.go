package findings

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// maxNamed is the maximum number of findings that a notice lists.
const maxNamed = 20

// decision is the notice about a decision that was just made.
type decision struct {
	Count    int // number of changed lineages
	What     string
	Did      string  // the decision, for tests: a state, or another action
	Left     []int64 // findings that changed concurrently and were not included
	MoreLeft int
	Token    string // identifies the decision for undo; empty if the viewer may not undo it
	Back     string // page to open after undo
	Action   string // address of undo
	org      string
}

// LeftCount returns the number of findings that were not included.
func (d *decision) LeftCount() int { return len(d.Left) + d.MoreLeft }

// Named reports whether the ids of these findings are known.
func (d *decision) Named() bool { return len(d.Left) > 0 }

// Own returns the address of a finding.
func (d *decision) Own(id int64) string { return d.org + "/findings/" + ui.Decimal(id) }

// outcome is the result of a decision, as encoded in the address of the next page. It contains a
// range of the audit trail and the findings that were not included. All else is read from the
// trail.
type outcome struct {
	first, last int64   // events after first, through last
	left        int     // number of findings that changed concurrently and were not included
	named       []int64 // their ids, at most maxNamed
}

// addTo adds the outcome to an address below the deployment.
func (o outcome) addTo(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // cannot happen for local addresses
	}
	parts := []string{ui.Decimal(o.first), ui.Decimal(o.last), strconv.Itoa(o.left)}
	for _, id := range o.named[:min(len(o.named), maxNamed)] {
		parts = append(parts, ui.Decimal(id))
	}
	q := u.Query()
	q.Set("done", strings.Join(parts, "-"))
	u.RawQuery = q.Encode()
	return u.String()
}

// outcomeFrom parses the encoding of addTo.
func outcomeFrom(done string) (o outcome, ok bool) {
	var numbers []int64
	for part := range strings.SplitSeq(done, "-") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 {
			return o, false
		}
		numbers = append(numbers, n)
	}
	if len(numbers) < 3 || len(numbers) > 3+maxNamed || numbers[2] > maxDecision || numbers[1] < numbers[0] {
		return o, false
	}
	return outcome{first: numbers[0], last: numbers[1], left: int(numbers[2]), named: numbers[3:]}, true
}

// lastDecision returns the notice about the decision in an address, or nil if there is none. Other
// users see the notice, too, but only the actor may undo the decision.
func lastDecision(req *ui.Request, done, back string) (*decision, error) {
	o, ok := outcomeFrom(done)
	if !ok {
		return nil, nil
	}
	d := &decision{
		Left:     o.named,
		MoreLeft: max(o.left-len(o.named), 0),
		Back:     back,
		Action:   req.To("/triage/undo"),
		org:      req.To(""),
	}
	if o.first == o.last {
		d.What = "No changes"
		if o.left == 0 {
			d.What += ": the findings are already in this state"
		}
		return d, nil
	}
	events, err := eventsOf(req, o.first, o.last)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	d.Count = len(events)
	d.Did, d.What = whatWasDecided(events)
	if by := events[0].By; by != req.Viewer.Actor() {
		d.What += " (by " + actorTitle(by) + ", " + ui.Ago(req.Clock().Sub(events[0].At)) + ")"
		return d, nil
	}
	d.Token = ui.Decimal(o.first) + "-" + ui.Decimal(o.last)
	return d, nil
}

// whatWasDecided returns a code and a description of the events of one decision.
func whatWasDecided(events []model.TriageEvent) (did, what string) {
	last, findings := events[len(events)-1], ui.Plural(len(events), "finding")
	stays := last.Before.State == last.After.State
	switch {
	case stays && last.Before.Assignee != last.After.Assignee && last.After.Assignee == "":
		return "unassigned", "Unassigned " + findings
	case stays && last.Before.Assignee != last.After.Assignee:
		return "assigned", "Assigned " + findings + " to " + last.After.Assignee
	case stays && last.Note != "":
		return "note", "Commented on " + findings
	case last.After.State == model.TriageUntriaged:
		return "undone", "Restored " + findings
	}
	switch last.After.State {
	case model.TriageIgnored:
		what = "Ignored " + findings
	case model.TriageReopened:
		what = "Reopened " + findings
	default:
		what = "Set " + findings + " to " + last.After.State.String()
	}
	if day := model.LastDay(last.After.Until); day != "" {
		what += " until " + day + " (UTC)"
	}
	return last.After.State.String(), what
}

// eventsOf reads a range of the triage trail if it is one decision. It returns nil for other
// ranges, which a forged address may contain.
func eventsOf(req *ui.Request, after, through int64) (events []model.TriageEvent, err error) {
	if through <= after || through-after > maxDecision*4 {
		return nil, nil
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		events, err = tx.TriageEvents(ctx, after, through)
		return err
	})
	if slices.ContainsFunc(events, func(e model.TriageEvent) bool {
		return e.By != events[0].By || !e.At.Equal(events[0].At)
	}) {
		return nil, err
	}
	return events, err
}

// undo reverts a decision of the viewer.
func undo(req *ui.Request, form url.Values) error {
	first, second, _ := strings.Cut(form.Get("decision"), "-")
	after, err1 := strconv.ParseInt(first, 10, 64)
	through, err2 := strconv.ParseInt(second, 10, 64)
	if err1 != nil || err2 != nil {
		return model.Invalid("decision", "cannot be undone")
	}
	events, err := eventsOf(req, after, through)
	if err != nil {
		return err
	}
	if len(events) == 0 || events[0].By != req.Viewer.Actor() {
		return model.Invalid("decision", "cannot be undone, or was made by another user")
	}
	var o outcome
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		if o.first, err = tx.LastTriageEvent(ctx); err != nil {
			return err
		}
		undone, err := triage.Undo(ctx, tx, events)
		if err != nil {
			return err
		}
		o.left = len(undone.Skipped)
		o.last, err = tx.LastTriageEvent(ctx)
		return err
	})
	if err != nil {
		return err
	}
	req.Redirect(o.addTo(backTo(req, form, model.SAST)))
	return nil
}

// actorTitle returns the display name of an actor.
func actorTitle(by model.Actor) string { return cmp.Or(by.Label(), by.String()) }
