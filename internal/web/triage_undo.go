package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// maxNamed is how many findings a notice names one by one.
const maxNamed = 20

// decision is what was decided a moment ago, as the page behind it says.
type decision struct {
	Count    int // lineages changed
	What     string
	Left     []int64 // findings that changed meanwhile and were left alone
	MoreLeft int
	Token    string // names it to undo; empty when it is not the viewer's
	Back     string // where undoing leads
	Action   string // address of undoing
	org      string
}

// LeftCount is how many were left alone.
func (d *decision) LeftCount() int { return len(d.Left) + d.MoreLeft }

// Named reports whether it is known which.
func (d *decision) Named() bool { return len(d.Left) > 0 }

// Own is the page of a finding.
func (d *decision) Own(id int64) string { return d.org + "/findings/" + decimal(id) }

// withDone adds to an address what was decided: which stretch of the trail, and
// what was left alone. The page behind reads the rest from the trail.
func withDone(address string, first, last int64, left []int64) string {
	path, query, _ := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		q = url.Values{}
	}
	parts := []string{decimal(first), decimal(last), strconv.Itoa(len(left))}
	for _, id := range left[:min(len(left), maxNamed)] {
		parts = append(parts, decimal(id))
	}
	q.Set("done", strings.Join(parts, "-"))
	return path + "?" + q.Encode()
}

// decided reads what withDone wrote; anything else says nothing.
func (req *request) decided(done, back string) (*decision, error) {
	var numbers []int64
	for part := range strings.SplitSeq(done, "-") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil || n < 0 {
			return nil, nil // an address that says something else decided nothing
		}
		numbers = append(numbers, n)
	}
	if len(numbers) < 3 || len(numbers) > 3+maxNamed {
		return nil, nil
	}
	events, err := req.eventsOf(numbers[0], numbers[1])
	if err != nil {
		return nil, err
	}
	d := &decision{Count: len(events), Left: numbers[3:], MoreLeft: max(int(numbers[2])-len(numbers[3:]), 0), Back: back, Action: req.to("/triage/undo"), org: req.to("")}
	if len(events) == 0 {
		d.What = "Nothing was changed: everything was so already."
		return d, nil
	}
	last := events[len(events)-1]
	d.What = plural(len(events), "finding") + " set to " + last.After.State.String()
	if day := redoubt.LastDay(last.After.Until); day != "" {
		d.What += " until " + day + " (UTC)"
	}
	switch {
	case last.Before.State == last.After.State && last.Before.Assignee != last.After.Assignee && last.After.Assignee == "":
		d.What = plural(len(events), "finding") + " assigned to nobody"
	case last.Before.State == last.After.State && last.Before.Assignee != last.After.Assignee:
		d.What = plural(len(events), "finding") + " assigned to " + last.After.Assignee
	case last.Note != "" && last.Before.State == last.After.State:
		d.What = "Note added to " + plural(len(events), "finding")
	case last.After.State == redoubt.TriageUntriaged:
		d.What = "Taken back for " + plural(len(events), "finding")
	}
	d.Token = decimal(numbers[0]) + "-" + decimal(numbers[1])
	return d, nil
}

// eventsOf reads a stretch of the trail as far as it is one decision of the
// viewer's: a forged address shows and undoes nothing of others.
func (req *request) eventsOf(after, through int64) (events []redoubt.TriageEvent, err error) {
	if through <= after || through-after > maxDecision*4 {
		return nil, nil
	}
	err = req.view(func(ctx context.Context, tx *store.Tx) (err error) {
		events, err = tx.TriageEvents(ctx, after, through)
		return err
	})
	for _, e := range events {
		if e.By != req.viewer.Actor() || !e.At.Equal(events[0].At) {
			return nil, err
		}
	}
	return events, err
}

// undo takes a decision of the viewer's back.
func (req *request) undo() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	first, second, _ := strings.Cut(form.Get("decision"), "-")
	after, err1 := strconv.ParseInt(first, 10, 64)
	through, err2 := strconv.ParseInt(second, 10, 64)
	if err1 != nil || err2 != nil {
		return redoubt.Invalid("decision", "is none that can be taken back")
	}
	events, err := req.eventsOf(after, through)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		return redoubt.Invalid("decision", "is none of yours, or none that can be taken back")
	}
	var left int
	var from, to int64
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		if from, err = tx.LastTriageEvent(ctx); err != nil {
			return err
		}
		undone, err := triage.Undo(ctx, tx, events)
		if err != nil {
			return err
		}
		left = len(undone.Kept)
		to, err = tx.LastTriageEvent(ctx)
		return err
	})
	if err != nil {
		return err
	}
	req.redirect(withLeft(req.backTo(form, redoubt.SAST), from, to, left))
	return nil
}

// withLeft is withDone where only the number of those left alone is known.
func withLeft(address string, first, last int64, left int) string {
	return strings.Replace(withDone(address, first, last, nil), decimal(first)+"-"+decimal(last)+"-0", decimal(first)+"-"+decimal(last)+"-"+strconv.Itoa(left), 1)
}
