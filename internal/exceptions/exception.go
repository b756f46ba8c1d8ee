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

// Effect is what an exception or its end changes: an event a lineage, by the ids of
// those.
type Effect []model.TriageEvent

// Selection names the lineages and what was decided about them before, in hex. It
// is the same for an exception that is tried and one that is made.
func (f Effect) Selection() string {
	sum := sha256.New()
	for _, e := range f {
		fmt.Fprintf(sum, "%d %d %s\n", e.LineageID, e.After.State, e.Before.Line())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Add makes an active exception of a target, which ignores what it covers in the same
// transaction, and returns it with its id and what it changed. One that will not
// do, or is one too many, is a *model.InvalidError.
func Add(ctx context.Context, s Store, e model.Exception) (_ model.Exception, changed Effect, err error) {
	e.Reason, e.State = redact.Text(e.Reason), model.ExceptionActive
	if err := e.Check(s.Now()); err != nil {
		return e, nil, err
	}
	list, err := roomFor(ctx, s, e)
	if err != nil {
		return e, nil, err
	}
	if e, err = s.AddException(ctx, e); err != nil {
		return e, nil, fmt.Errorf("add an exception: %w", err)
	}
	changed, err = applyException(ctx, s, append(list, e), scopeOf(e))
	return e, changed, err
}

// roomFor lists the active exceptions, or says as a *model.InvalidError that there may be no
// more beside them.
func roomFor(ctx context.Context, s Store, e model.Exception) ([]model.Exception, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	n, said := 0, e.Length()
	for i := range list {
		if list[i].Active(s.Now()) {
			n, said = n+1, said+list[i].Length()
		}
	}
	if n >= model.MaxExceptions {
		return nil, model.Invalid("target", "%d exceptions are active, as many as may be: remove one first", n)
	}
	if said > model.MaxExceptionBytes {
		return nil, model.Invalid("target", "the %d active exceptions and this one would have %d bytes of reasons and "+
			"globs, and %d may be: remove some first, or write shorter ones", n, said, model.MaxExceptionBytes)
	}
	return list, nil
}

// Remove ends an active exception, and reopens what it ignored in the same
// transaction. One that is unknown or not active is model.ErrNotFound.
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

// applyException brings in line what an exception can cover and returns what that
// changed; then, beside that, what expired ones still ignore.
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

// PreviewAdding returns what Add would change. It only reads.
func PreviewAdding(ctx context.Context, s Store, e model.Exception) (Effect, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	e.ID, e.State = math.MaxInt64, model.ExceptionActive // those that are there come first, as they will
	return judge(ctx, s, append(list, e), scopeOf(e))
}

// PreviewRemoving returns what Remove would change. It only reads.
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

// scopeOf is all that exceptions of targets can cover, and all that the exceptions decided.
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

// scopeOfNamed is what an exception of findings names.
func scopeOfNamed(e model.Exception) model.ExceptionScope {
	return model.ExceptionScope{Named: true, Lineages: e.Lineages}
}
