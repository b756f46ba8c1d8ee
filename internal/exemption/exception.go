package exemption

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// AddException makes an exception, which ignores what it covers in the same
// transaction, and returns it with its id and how many lineages' triage changed.
// One that will not do, or is one too many, is a *redoubt.InvalidError.
func AddException(ctx context.Context, s Store, e redoubt.Exception) (_ redoubt.Exception, changed int, err error) {
	if err := e.Check(s.Now()); err != nil {
		return e, 0, err
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return e, 0, err
	}
	if len(list) >= redoubt.MaxExceptions {
		return e, 0, redoubt.Invalid("target", "there are %d exceptions, as many as there may be: remove one first, such as an expired one", len(list))
	}
	said := e.Bytes()
	for i := range list {
		said += list[i].Bytes()
	}
	if said > redoubt.MaxExceptionBytes {
		return e, 0, redoubt.Invalid("target", "the %d exceptions that there are and this one would have %d bytes of reasons and globs, and %d may be: remove some first, or write shorter ones", len(list), said, redoubt.MaxExceptionBytes)
	}
	e.CreatedAt, e.CreatedBy = s.Now(), s.Actor().String()
	if e.ID, err = s.InsertException(ctx, e); err != nil {
		return e, 0, fmt.Errorf("add an exception: %w", err)
	}
	changed, err = applyException(ctx, s, append(list, e), e)
	return e, changed, err
}

// RemoveException ends an exception, and reopens what it ignored in the same
// transaction. An unknown one is redoubt.ErrNotFound.
func RemoveException(ctx context.Context, s Store, id int64) (_ redoubt.Exception, changed int, err error) {
	e, err := s.Exception(ctx, id)
	if err != nil {
		return e, 0, err
	}
	if err := s.DeleteException(ctx, e); err != nil {
		return e, 0, err
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return e, 0, err
	}
	changed, err = applyException(ctx, s, list, e)
	return e, changed, err
}

// applyException brings in line what an exception can cover and returns how many
// lineages changed; then, uncounted, what an expired one still ignores.
func applyException(ctx context.Context, s Store, list []redoubt.Exception, e redoubt.Exception) (changed int, err error) {
	if changed, err = apply(ctx, s, list, scopeOf(e)); err != nil {
		return 0, err
	}
	_, err = apply(ctx, s, list, decidedByExpired(list, s.Now()))
	return changed, err
}

// PreviewAdding tells how many lineages AddException would change. It only reads.
func PreviewAdding(ctx context.Context, s Store, e redoubt.Exception) (int, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return 0, err
	}
	e.ID = math.MaxInt64 // those that are there come first, as they will
	events, err := judge(ctx, s, append(list, e), scopeOf(e))
	return len(events), err
}

// PreviewRemoving tells how many lineages RemoveException would change. It only
// reads.
func PreviewRemoving(ctx context.Context, s Store, e redoubt.Exception) (int, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return 0, err
	}
	list = slices.DeleteFunc(list, func(other redoubt.Exception) bool { return other.ID == e.ID })
	events, err := judge(ctx, s, list, scopeOf(e))
	return len(events), err
}

// scopeOf is all that an exception can cover, or does.
func scopeOf(list ...redoubt.Exception) (scope redoubt.ExemptionScope) {
	for _, e := range list {
		scope.Rules = append(scope.Rules, e.Target)
		scope.Names = append(scope.Names, strings.ToUpper(e.Target))
		scope.Actors = append(scope.Actors, e.Actor())
	}
	return scope
}
