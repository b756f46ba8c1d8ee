package exceptions

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/glob"
	"github.com/redoubt/redoubt/internal/model"
)

// Judge evaluates lineages against all exceptions of a deployment and VEX claims.
type Judge struct {
	byRule, byName map[string][]*model.Exception // active ones by target; names in upper case
	byID           map[int64]*model.Exception    // active ones for findings
	now            time.Time
}

// NewJudge returns a judge with the exceptions that are active at the time.
func NewJudge(exceptions []model.Exception, now time.Time) *Judge {
	j := &Judge{
		byRule: map[string][]*model.Exception{},
		byName: map[string][]*model.Exception{},
		byID:   map[int64]*model.Exception{},
		now:    now,
	}
	for i := range exceptions {
		switch e := &exceptions[i]; {
		case !e.Active(now):
		case e.OfFindings():
			j.byID[e.ID] = e
		default:
			name := strings.ToUpper(e.Target)
			j.byRule[e.Target] = append(j.byRule[e.Target], e)
			j.byName[name] = append(j.byName[name], e)
		}
	}
	return j
}

// Decide returns the triage change of a lineage, and whether there is one. A lineage is ignored
// while an exception lists it, or while exceptions cover all its active occurrences. Partial
// coverage has no effect, so that no exception hides occurrences elsewhere.
//
// The exception that first ignored a lineage takes precedence, then those that list it, then older
// ones. VEX claims apply if no exception does. Without either, a lineage that one of them decided
// is reopened.
//
// Decisions of people remain, unless an exception that lists the finding was granted later and the
// person did not ignore the finding. Findings ignored by another worker remain ignored.
func (j *Judge) Decide(c *model.ExceptionCase) (model.TriageEvent, bool) {
	before := c.Lineage.Triage
	naming := j.naming(c)
	if before.DecidedByPerson() { // a person's decision overrules earlier approvals
		naming = slices.DeleteFunc(naming, func(e *model.Exception) bool { return !e.DecidedAt.After(before.At) })
	}
	if ignoredByOthers(before) || before.DecidedByPerson() && (before.State == model.TriageIgnored || len(naming) == 0) {
		return model.TriageEvent{}, false
	}
	after, note := j.triage(c, naming)
	after.Automatic, after.At, after.Assignee = true, before.At, before.Assignee
	if note == "" || after == before {
		return model.TriageEvent{}, false
	}
	after.At = j.now
	return model.TriageEvent{
		LineageID: c.Lineage.ID,
		At:        j.now,
		By:        after.By,
		Before:    before,
		After:     after,
		Note:      note,
	}, true
}

// triage returns the new triage of a lineage and the note for its history. The note is empty if the
// triage does not change.
func (j *Judge) triage(c *model.ExceptionCase, naming []*model.Exception) (after model.Triage, note string) {
	before := c.Lineage.Triage
	active := activeOccurrences(c)
	if by := slices.Concat(naming, j.covering(c.Project, active)); len(by) > 0 {
		if before.State == model.TriageIgnored &&
			slices.ContainsFunc(by, func(e *model.Exception) bool { return e.Actor() == before.By }) {
			return before, ""
		}
		first := by[0]
		comment := cmp.Or(first.Answer, first.Reason)
		return model.Triage{
			State:   model.TriageIgnored,
			Reason:  first.TriageReason,
			Comment: comment,
			By:      first.Actor(),
		}, noteOf(first, comment)
	}
	if best := claimed(c.Project, active); best != nil {
		t := best.Statement.Triage()
		return model.Triage{State: t.State, Reason: t.Reason, Comment: t.Comment, By: best.Document.Actor()}, best.note()
	}
	switch {
	case reopened(before):
		return before, ""
	case before.By.Kind == model.ActorVEX:
		return model.Triage{State: model.TriageReopened, By: before.By}, "VEX statements no longer cover it."
	case before.By.Kind == model.ActorException:
		return model.Triage{
			State:   model.TriageReopened,
			Comment: before.Comment,
			By:      before.By,
		}, "The exception expired or no longer covers it."
	}
	return before, ""
}

// noteOf returns the note of an exception for the history. It includes the approver, even after the
// exception ended.
func noteOf(e *model.Exception, comment string) string {
	if !e.OfFindings() {
		return comment
	}
	return model.Shorten("Approved by "+cmp.Or(e.DecidedBy.Label(), e.DecidedBy.String())+": "+comment, model.MaxNote)
}

// ignoredByOthers reports whether a worker other than an exception or a VEX statement ignored the
// finding.
func ignoredByOthers(t model.Triage) bool {
	return t.Automatic && t.State == model.TriageIgnored && t.By.Kind != model.ActorException &&
		t.By.Kind != model.ActorVEX
}

// reopened reports whether a triage is the result of an ended exception or VEX statement. The
// latter has no comment, unlike a statement "affected".
func reopened(t model.Triage) bool {
	return t.State == model.TriageReopened && (t.By.Kind == model.ActorException || t.Comment == "")
}

// naming returns the active exceptions that list the lineage, by id.
func (j *Judge) naming(c *model.ExceptionCase) (list []*model.Exception) {
	for _, id := range c.NamedBy {
		if e := j.byID[id]; e != nil {
			list = append(list, e)
		}
	}
	return list
}

// covering returns the exceptions that cover the occurrences, by id. It is nil unless each
// occurrence is covered.
func (j *Judge) covering(p model.Project, active []*model.ExceptionOccurrence) (by []*model.Exception) {
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
	slices.SortFunc(by, func(a, b *model.Exception) int { return cmp.Compare(a.ID, b.ID) })
	return by
}

// named returns the exceptions whose target is an occurrence's rule or a name of its vulnerability.
func (j *Judge) named(o *model.ExceptionOccurrence) []*model.Exception {
	list := slices.Clip(j.byRule[o.Rule])
	for _, name := range o.Names {
		list = append(list, j.byName[name]...)
	}
	return list
}

// covers reports whether an exception covers the paths and the project of an occurrence of its
// target.
func covers(e *model.Exception, p model.Project, o *model.ExceptionOccurrence) bool {
	return (len(e.Paths) == 0 || slices.ContainsFunc(o.Paths, func(path string) bool {
		return glob.Match(e.Paths, path)
	})) &&
		model.PolicyScope{Projects: e.Projects}.Covers(p)
}

// activeOccurrences returns the unresolved and muted occurrences, or all if there are none.
func activeOccurrences(c *model.ExceptionCase) (list []*model.ExceptionOccurrence) {
	for _, o := range c.Occurrences {
		if o.State == model.Unresolved || o.State == model.Muted {
			list = append(list, o)
		}
	}
	if len(list) == 0 {
		return c.Occurrences
	}
	return list
}
