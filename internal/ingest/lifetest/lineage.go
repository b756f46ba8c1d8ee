package lifetest

import (
	"time"

	"github.com/redoubt/redoubt"
)

// End reopens what was decided until a time that is over.
func (m *Model) End(now time.Time) {
	for _, l := range m.Lineages {
		if !l.Until.IsZero() && !l.Until.After(now) {
			l.Triage, l.Human, l.Until = redoubt.TriageReopened, false, time.Time{}
		}
	}
}

// reopen takes what people were at from findings that came back.
func (m *Model) reopen(back []*Finding) {
	for _, f := range back {
		if l := f.Lineage; f.State == redoubt.Unresolved && (l.Triage == redoubt.TriageReviewing || l.Triage == redoubt.TriageFixing) {
			l.Triage, l.Human, l.Until = redoubt.TriageReopened, false, time.Time{}
		}
	}
	for _, l := range m.Lineages {
		l.from, l.assigned = l.Born, l.Born
	}
}

// join puts an identity into the lineage of a finding, and makes one of the two
// lineages where it has one already.
func (m *Model) join(f *Finding, id string) {
	other := m.Lineages[id]
	if other == nil {
		m.Lineages[id] = f.Lineage
	}
	if other == nil || other == f.Lineage {
		return
	}
	stays, goes := f.Lineage, other
	if goes.Born < stays.Born {
		stays, goes = goes, stays
	}
	better := weight(goes) - weight(stays)
	if better > 0 || better == 0 && goes.from < stays.from {
		stays.Triage, stays.Human, stays.Until, stays.from = goes.Triage, goes.Human, goes.Until, goes.from
	}
	if goes.Assignee != "" && (stays.Assignee == "" || goes.assigned < stays.assigned) {
		stays.Assignee, stays.assigned = goes.Assignee, goes.assigned
	}
	goes.into = stays
	for id, l := range m.Lineages {
		if l == goes {
			m.Lineages[id] = stays
		}
	}
	for _, s := range m.Streams {
		for _, f := range s.Findings {
			if f.Lineage == goes {
				f.Lineage = stays
			}
		}
	}
}

func weight(l *Lineage) int {
	switch {
	case l.Triage == redoubt.TriageUntriaged:
		return 0
	case l.Human:
		return 2
	}
	return 1
}
