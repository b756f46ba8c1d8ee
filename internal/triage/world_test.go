package triage

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// world implements Store and Selector for a list of findings.
type world struct {
	now      time.Time
	actor    model.Actor
	findings []model.Finding
	lineages map[int64]model.Lineage
	trail    []model.TriageEvent
	fail     string // the method that fails
	members  []model.Member
}

var errBroken = errors.New("broken on purpose")

func (w *world) broken(method string) error {
	if w.fail == method {
		return errBroken
	}
	return nil
}

func (w *world) Now() time.Time     { return w.now }
func (w *world) Actor() model.Actor { return w.actor }

func (w *world) Lineages(_ context.Context, ids []int64) (map[int64]model.Lineage, error) {
	out := map[int64]model.Lineage{}
	for _, id := range ids {
		if l, ok := w.lineages[id]; ok {
			out[id] = l
		}
	}
	return out, w.broken("Lineages")
}

func (w *world) Member(_ context.Context, name string) (model.Member, error) {
	for _, m := range w.members {
		if m.Name == model.NormalUserName(name) {
			return m, w.broken("Member")
		}
	}
	return model.Member{}, model.ErrNotFound
}

func (w *world) UpdateTriage(_ context.Context, events []model.TriageEvent) error {
	if err := w.broken("UpdateTriage"); err != nil {
		return err
	}
	for _, e := range events {
		l := w.lineages[e.LineageID]
		if l.Triage != e.Before {
			return errors.New("the event's before is not what stands")
		}
		l.Triage = e.After
		w.lineages[e.LineageID] = l
	}
	w.trail = append(w.trail, events...)
	return nil
}

func (w *world) Newest(_ context.Context, f model.FindingFilter, limit int) (out []model.Target, _ error) {
	matches := slices.Clone(w.findings)
	slices.SortFunc(matches, func(a, b model.Finding) int {
		if c := b.RelevantSince.Compare(a.RelevantSince); c != 0 {
			return c
		}
		return int(b.ID - a.ID)
	})
	for _, m := range matches {
		if w.selects(f, m) && len(out) < limit {
			out = append(out, model.Target{FindingID: m.ID, LineageID: m.LineageID})
		}
	}
	return out, w.broken("Newest")
}

func (w *world) selects(f model.FindingFilter, m model.Finding) bool {
	status := model.StatusOf(m.State, w.lineages[m.LineageID].Triage.State)
	return status != 0 && m.IssueType == f.IssueType && (f.Ref == "" || f.Ref == m.Ref) &&
		(!f.HasIDs || slices.Contains(f.IDs, m.ID)) &&
		(len(f.Severities) == 0 || slices.Contains(f.Severities, m.Severity)) &&
		(len(f.Statuses) == 0 || slices.Contains(f.Statuses, status))
}

func (w *world) Occurrences(_ context.Context, t model.IssueType, lineages []int64) (out []int64, _ error) {
	for _, m := range w.findings {
		if m.IssueType == t && m.State != model.StateRemoved && slices.Contains(lineages, m.LineageID) {
			out = append(out, m.ID)
		}
	}
	return out, w.broken("Occurrences")
}
