package exceptions

import (
	"context"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// batch is the number of lineages that are read at a time.
const batch = 2000

// Reevaluate applies exceptions and VEX statements to lineages, and to all findings ignored by
// expired exceptions. It first reopens decisions whose end has passed, because an exception may
// cover them.
func Reevaluate(ctx context.Context, s Store, lineages []int64) error {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return err
	}
	touched, ignored := anyOf(list), decidedByExpired(list, s.Now())
	touched.Lineages = append([]int64{}, lineages...) // never nil, which means all
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

// Due lists changes that are pending without an upload.
type Due struct {
	Lineages []int64             // lineages whose triage must change
	Judged   int                 // number of evaluated lineages
	Mark     model.ExceptionMark // end of the evaluated changes
	Moved    bool                // whether there were changes since the last mark
}

// FindDue evaluates lineages that may have changed since the last mark without an upload. Causes
// are expired exceptions, renamed, merged or deleted projects and refs, new aliases of
// vulnerabilities, and ended or reverted decisions. Without a mark it evaluates everything that
// exceptions can cover. It only reads.
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

// ApplyDue applies the result of FindDue and of exceptions that expired since, and saves the mark.
// It returns the number of changed lineages.
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

// changedScopes returns the scopes that changes can affect. It is empty without changes.
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

// anyOf returns the scope of everything that exceptions and VEX statements may cover, or did cover.
func anyOf(list []model.Exception) model.ExceptionScope {
	scope := scopeOf(list...)
	return model.ExceptionScope{Rules: scope.Rules, Names: scope.Names, Dependencies: true, Named: true, Exempted: true}
}

// decidedByExpired returns the scope of findings that inactive exceptions still ignore.
func decidedByExpired(list []model.Exception, now time.Time) (scope model.ExceptionScope) {
	for i := range list {
		if e := &list[i]; !e.Active(now) {
			scope.Actors = append(scope.Actors, e.Actor())
		}
	}
	return scope
}

// apply updates the lineages of scopes and returns the changes.
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

// judge returns the changes that exceptions cause to the lineages of scopes.
func judge(
	ctx context.Context, s Store, list []model.Exception, scopes ...model.ExceptionScope,
) ([]model.TriageEvent, error) {
	ids, err := candidates(ctx, s, scopes)
	if err != nil {
		return nil, err
	}
	return judgeAll(ctx, s, list, ids)
}

// candidates returns the distinct lineages of scopes.
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

// judgeAll returns the changes that exceptions cause to lineages.
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
