package exceptions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// Effect contains the changes caused by an exception or its end, one event for each lineage,
// ordered by lineage id.
type Effect []model.TriageEvent

// Selection returns a hash, in hexadecimal, of the lineages and their previous decisions. It is
// equal for a preview of an exception and for the exception itself.
func (f Effect) Selection() string {
	sum := sha256.New()
	for _, e := range f {
		fmt.Fprintf(sum, "%d %d %s\n", e.LineageID, e.After.State, e.Before.Line())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Add stores an active exception for a target and ignores the covered findings in the same
// transaction. It returns the exception with its id, and the changes. It returns a
// *model.InvalidError for an invalid exception, or if the limit is reached.
func Add(ctx context.Context, s Store, e model.Exception) (_ model.Exception, changed Effect, err error) {
	e.Reason, e.State = redact.Text(e.Reason), model.ExceptionActive
	if err := e.Check(s.Now()); err != nil {
		return e, nil, err
	}
	list, err := checkLimits(ctx, s, e)
	if err != nil {
		return e, nil, err
	}
	if e, err = s.AddException(ctx, e); err != nil {
		return e, nil, fmt.Errorf("add an exception: %w", err)
	}
	changed, err = applyException(ctx, s, append(list, e), scopeOf(e))
	return e, changed, err
}

// checkLimits returns the active exceptions. It returns a *model.InvalidError if the limits permit no
// further one.
func checkLimits(ctx context.Context, s Store, e model.Exception) ([]model.Exception, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	n, size := 0, e.Length()
	for i := range list {
		if list[i].Active(s.Now()) {
			n, size = n+1, size+list[i].Length()
		}
	}
	if n >= model.MaxExceptions {
		return nil, model.Invalid("target", "%d exceptions are active, which is the limit: remove one first", n)
	}
	if size > model.MaxExceptionBytes {
		return nil, model.Invalid("target", "the texts of the %d active exceptions and this one have %d bytes; "+
			"the limit is %d: remove exceptions, or shorten reasons and globs", n, size, model.MaxExceptionBytes)
	}
	return list, nil
}

// Remove ends an active exception and reopens the findings that it ignored in the same transaction.
// It returns model.ErrNotFound for an unknown or inactive exception.
func Remove(ctx context.Context, s Store, id int64) (_ model.Exception, changed Effect, err error) {
	before, err := s.Exception(ctx, id)
	if err != nil {
		return before, nil, err
	}
	if before.State != model.ExceptionActive {
		return before, nil, fmt.Errorf("exception %d is %s, not active: %w", id, before.State, model.ErrNotFound)
	}
	if before.Document != nil {
		if changed, err = removeVEX(ctx, s, id); err != nil {
			return before, nil, err
		}
		e, err := s.Exception(ctx, id)
		return e, changed, err
	}
	e := before
	e.State = model.ExceptionEnded
	if e, err = s.DecideException(ctx, "delete", before, e); err != nil {
		return e, nil, err
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return e, nil, err
	}
	changed, err = applyException(ctx, s, list, scopeOf(e))
	return e, changed, err
}

// applyException updates the lineages that an exception can cover, and returns the changes. It also
// updates lineages that expired exceptions still ignore.
func applyException(
	ctx context.Context, s Store, list []model.Exception, scope model.ExceptionScope,
) (changed Effect, err error) {
	if changed, err = apply(ctx, s, list, scope); err != nil {
		return nil, err
	}
	if _, err = apply(ctx, s, list, decidedByExpired(list, s.Now())); err != nil {
		return nil, err
	}
	return changed, s.EndExpiredExceptions(ctx)
}

// PreviewAdding returns the changes of Add. It only reads.
func PreviewAdding(ctx context.Context, s Store, e model.Exception) (Effect, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	e.ID, e.State = math.MaxInt64, model.ExceptionActive // existing exceptions come first, as in Add
	return judge(ctx, s, append(list, e), scopeOf(e))
}

// PreviewRemoving returns the changes of Remove. It only reads.
func PreviewRemoving(ctx context.Context, s Store, e model.Exception) (Effect, error) {
	if e.Document != nil {
		return previewRemovingVEX(ctx, s, e)
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(other model.Exception) bool { return other.ID == e.ID })
	return judge(ctx, s, list, scopeOf(e))
}

// scopeOf returns the scope of all findings that exceptions for targets can cover, or that the
// exceptions decided.
func scopeOf(list ...model.Exception) (scope model.ExceptionScope) {
	for _, e := range list {
		scope.Actors = append(scope.Actors, e.Actor())
		if e.Target != "" {
			scope.Rules = append(scope.Rules, e.Target)
			scope.Names = append(scope.Names, strings.ToUpper(e.Target))
		}
	}
	return scope
}

// scopeOfNamed returns the scope of the lineages that an exception for findings lists.
func scopeOfNamed(e model.Exception) model.ExceptionScope {
	return model.ExceptionScope{Named: true, Lineages: e.Lineages}
}
