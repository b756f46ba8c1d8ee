package exceptions

import (
	"context"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// batch is how many lineages are read at a time.
const batch = 2000

// Reevaluate brings lineages in line with what exempts them, and with them all
// that an exception ignores that has expired. What was decided until a time that
// is over is reopened before: an exception may cover it.
func Reevaluate(ctx context.Context, s Store, lineages []int64) error {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return err
	}
	touched, ignored := anyOf(list), decidedByExpired(list, s.Now())
	touched.Lineages = append([]int64{}, lineages...) // never nil, which would be all
	ended, err := s.ExpireDecisions(ctx)
	if err != nil {
		return err
	}
	touched.Lineages = append(touched.Lineages, ended...)
	if _, err = apply(ctx, s, list, touched, ignored); err != nil || len(ignored.Actors) == 0 {
		return err
	}
	return s.EndExpiredExceptions(ctx)
}

// Due is what is to be brought in line though no upload brought it.
type Due struct {
	Lineages []int64             // whose triage is not what it should be
	Judged   int                 // lineages that were looked at
	Mark     model.ExceptionMark // up to which that was found
	Moved    bool                // something happened since the last mark
}

// FindDue looks at what can have changed since the last mark without an upload:
// by exceptions that expired, by projects and refs that were renamed, merged or
// deleted, by other aliases of vulnerabilities, and by decisions that ended or
// were taken back. Where none was ever set it looks at all that exceptions can
// cover. It only reads.
func FindDue(ctx context.Context, s Store) (Due, error) {
	changes, err := s.ExceptionChanges(ctx)
	if err != nil {
		return Due{}, err
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return Due{}, err
	}
	scopes := changedScopes(list, changes)
	ids, err := candidates(ctx, s, scopes)
	if err != nil {
		return Due{}, err
	}
	events, err := judgeAll(ctx, s, list, ids)
	due := Due{Judged: len(ids), Mark: changes.Now, Moved: len(scopes) > 0 || changes.Moved()}
	for _, e := range events {
		due.Lineages = append(due.Lineages, e.LineageID)
	}
	return due, err
}

// ApplyDue brings in line what FindDue found and what exceptions ignore that expired
// since, notes how far that is, and returns how many lineages changed.
func ApplyDue(ctx context.Context, s Store, due Due) (changed int, err error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return 0, err
	}
	ids, err := candidates(ctx, s, []model.ExceptionScope{decidedByExpired(list, s.Now())})
	if err != nil {
		return 0, err
	}
	ids = append(ids, due.Lineages...)
	slices.Sort(ids)
	events, err := judgeAll(ctx, s, list, slices.Compact(ids))
	if err != nil {
		return 0, err
	}
	if err := write(ctx, s, events); err != nil {
		return 0, err
	}
	if err := s.EndExpiredExceptions(ctx); err != nil {
		return 0, err
	}
	return len(events), s.SaveExceptionMark(ctx, due.Mark)
}

// changedScopes are the scopes of all that changes can concern; none where there
// were no changes.
func changedScopes(list []model.Exception, changes model.ExceptionChanges) (scopes []model.ExceptionScope) {
	if changes.Unknown {
		return []model.ExceptionScope{anyOf(list)}
	}
	var expired []model.Exception
	for _, e := range list {
		if e.Active(changes.Since.At) && !e.Active(changes.Now.At) {
			expired = append(expired, e)
		}
	}
	if len(expired) > 0 {
		scopes = append(scopes, scopeOf(expired...))
	}
	if len(changes.Names) > 0 {
		scopes = append(scopes, model.ExceptionScope{Names: changes.Names})
	}
	if len(changes.Projects) > 0 {
		scope := anyOf(list)
		scope.Projects = changes.Projects
		scopes = append(scopes, scope)
	}
	if len(changes.Lineages) > 0 {
		scope := anyOf(list)
		scope.Lineages = changes.Lineages
		scopes = append(scopes, scope)
	}
	return scopes
}

// anyOf is all that anything may exempt, or did.
func anyOf(list []model.Exception) model.ExceptionScope {
	scope := scopeOf(list...)
	return model.ExceptionScope{Rules: scope.Rules, Names: scope.Names, Dependencies: true, Named: true, Exempted: true}
}

// decidedByExpired is what exceptions ignore that are not active any more.
func decidedByExpired(list []model.Exception, now time.Time) (scope model.ExceptionScope) {
	for i := range list {
		if e := &list[i]; !e.Active(now) {
			scope.Actors = append(scope.Actors, e.Actor())
		}
	}
	return scope
}

// apply brings the lineages of scopes in line, and returns what changed.
func apply(
	ctx context.Context, s Store, list []model.Exception, scopes ...model.ExceptionScope,
) ([]model.TriageEvent, error) {
	events, err := judge(ctx, s, list, scopes...)
	if err != nil {
		return nil, err
	}
	return events, write(ctx, s, events)
}

func write(ctx context.Context, s Store, events []model.TriageEvent) error {
	if len(events) == 0 {
		return nil
	}
	return s.UpdateTriage(ctx, events)
}

// judge lists what exceptions change of the lineages of scopes.
func judge(
	ctx context.Context, s Store, list []model.Exception, scopes ...model.ExceptionScope,
) ([]model.TriageEvent, error) {
	ids, err := candidates(ctx, s, scopes)
	if err != nil {
		return nil, err
	}
	return judgeAll(ctx, s, list, ids)
}

// candidates lists the lineages of scopes, each once.
func candidates(ctx context.Context, s Store, scopes []model.ExceptionScope) (ids []int64, err error) {
	for _, scope := range scopes {
		found, err := s.ExceptionCandidates(ctx, scope)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// judgeAll lists what exceptions change of lineages.
func judgeAll(
	ctx context.Context, s Store, list []model.Exception, ids []int64,
) (events []model.TriageEvent, err error) {
	j := NewJudge(list, s.Now())
	for part := range slices.Chunk(ids, batch) {
		cases, err := s.ExceptionCases(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range cases {
			if e, changed := j.Decide(&cases[i]); changed {
				events = append(events, e)
			}
		}
	}
	return events, nil
}
