package exemption

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/glob"
)

// Judge decides about lineages at a time, by all exceptions of a deployment and
// by what VEX documents claim.
type Judge struct {
	byRule, byName map[string][]*redoubt.Exception // active ones by target; names in upper case
	now            time.Time
}

// NewJudge judges by the exceptions that are active at the time.
func NewJudge(exceptions []redoubt.Exception, now time.Time) *Judge {
	j := &Judge{byRule: map[string][]*redoubt.Exception{}, byName: map[string][]*redoubt.Exception{}, now: now}
	for i := range exceptions {
		e := &exceptions[i]
		if name := strings.ToUpper(e.Target); e.Active(now) {
			j.byRule[e.Target] = append(j.byRule[e.Target], e)
			j.byName[name] = append(j.byName[name], e)
		}
	}
	return j
}

// Decide tells what the triage of a lineage should be, and whether that is
// another than it has. It is ignored while exceptions cover all its active
// occurrences, so that none hides what moved elsewhere; the exception that
// ignored it first keeps it. Where none covers it, what VEX documents say of it
// counts. Where those say nothing either, what one of them decided is reopened.
// What a person or another worker decided stays.
func (j *Judge) Decide(c *redoubt.ExemptionCase) (redoubt.TriageEvent, bool) {
	before := c.Lineage.Triage
	if before.DecidedByPerson() || ignoredByOthers(before) {
		return redoubt.TriageEvent{}, false
	}
	after, note := j.triage(c)
	after.Automatic, after.At, after.Assignee = true, before.At, before.Assignee
	if note == "" || after == before {
		return redoubt.TriageEvent{}, false
	}
	after.At = j.now
	return redoubt.TriageEvent{LineageID: c.Lineage.ID, At: j.now, By: after.By, Before: before, After: after, Note: note}, true
}

// triage is what a lineage's triage should be, and the line for its trail; no
// line where it should stay.
func (j *Judge) triage(c *redoubt.ExemptionCase) (after redoubt.Triage, note string) {
	before := c.Lineage.Triage
	active := activeOccurrences(c)
	if by := j.covering(c.Project, active); len(by) > 0 {
		if before.State == redoubt.TriageIgnored && slices.ContainsFunc(by, func(e *redoubt.Exception) bool { return e.Actor() == before.By }) {
			return before, ""
		}
		first := by[0]
		return redoubt.Triage{State: redoubt.TriageIgnored, Reason: first.TriageReason, Comment: first.Reason, By: first.Actor()}, first.Reason
	}
	if best := claimed(c.Project, active); best != nil {
		t := best.Statement.Triage()
		return redoubt.Triage{State: t.State, Reason: t.Reason, Comment: t.Comment, By: best.Document.Actor()}, best.note()
	}
	switch {
	case reopened(before):
		return before, ""
	case before.By.Kind == redoubt.ActorVEX:
		return redoubt.Triage{State: redoubt.TriageReopened, By: before.By}, "No VEX statement covers it any more."
	case before.By.Kind == redoubt.ActorException:
		return redoubt.Triage{State: redoubt.TriageReopened, Comment: before.Comment, By: before.By}, "The exception expired or no longer covers it."
	}
	return before, ""
}

// ignoredByOthers reports whether a worker ignored it, by neither an exception nor a VEX statement.
func ignoredByOthers(t redoubt.Triage) bool {
	return t.Automatic && t.State == redoubt.TriageIgnored && t.By.Kind != redoubt.ActorException && t.By.Kind != redoubt.ActorVEX
}

// reopened reports whether a triage is what an exception or a VEX statement
// leaves behind: the latter without a comment, unlike one that says "affected".
func reopened(t redoubt.Triage) bool {
	return t.State == redoubt.TriageReopened && (t.By.Kind == redoubt.ActorException || t.Comment == "")
}

// covering lists the exceptions that cover one of the occurrences, by id; none
// where an occurrence is covered by none.
func (j *Judge) covering(p redoubt.Project, active []*redoubt.ExemptionOccurrence) (by []*redoubt.Exception) {
	for _, o := range active {
		before := len(by)
		for _, e := range j.named(o) {
			if covers(e, p, o) {
				by = append(by, e)
			}
		}
		if len(by) == before {
			return nil
		}
	}
	slices.SortFunc(by, func(a, b *redoubt.Exception) int { return cmp.Compare(a.ID, b.ID) })
	return by
}

// named lists the exceptions whose target is an occurrence's rule or one of the
// names of its vulnerability.
func (j *Judge) named(o *redoubt.ExemptionOccurrence) []*redoubt.Exception {
	list := slices.Clip(j.byRule[o.Rule])
	for _, name := range o.Names {
		list = append(list, j.byName[name]...)
	}
	return list
}

// covers reports whether an exception whose target the occurrence is covers its
// place.
func covers(e *redoubt.Exception, p redoubt.Project, o *redoubt.ExemptionOccurrence) bool {
	return (len(e.Paths) == 0 || slices.ContainsFunc(o.Paths, func(path string) bool { return glob.Match(e.Paths, path) })) &&
		redoubt.PolicyScope{Projects: e.Projects}.Covers(p)
}

// activeOccurrences lists the occurrences that count: those that are unresolved
// or muted, or all where none is.
func activeOccurrences(c *redoubt.ExemptionCase) (list []*redoubt.ExemptionOccurrence) {
	for _, o := range c.Occurrences {
		if o.State == redoubt.Unresolved || o.State == redoubt.Muted {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return c.Occurrences
	}
	return list
}
