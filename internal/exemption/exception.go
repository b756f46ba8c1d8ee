package exemption

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/redact"
)

// Effect is what an exception or its end changes: an event a lineage, by the ids of
// those.
type Effect []redoubt.TriageEvent

// Selection names the lineages and what was decided about them before, in hex. It
// is the same for an exception that is tried and one that is made.
func (f Effect) Selection() string {
	sum := sha256.New()
	for _, e := range f {
		fmt.Fprintf(sum, "%d %d %s\n", e.LineageID, e.After.State, e.Before.Line())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// AddException makes an exception, which ignores what it covers in the same
// transaction, and returns it with its id and what it changed. One that will not
// do, or is one too many, is a *redoubt.InvalidError.
func AddException(ctx context.Context, s Store, e redoubt.Exception) (_ redoubt.Exception, changed Effect, err error) {
	e.Reason = redact.Text(e.Reason)
	if err := e.Check(s.Now()); err != nil {
		return e, nil, err
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return e, nil, err
	}
	if len(list) >= redoubt.MaxExceptions {
		return e, nil, redoubt.Invalid("target", "there are %d exceptions, as many as there may be: remove one first, such as an expired one", len(list))
	}
	said := e.Bytes()
	for i := range list {
		said += list[i].Bytes()
	}
	if said > redoubt.MaxExceptionBytes {
		return e, nil, redoubt.Invalid("target", "the %d exceptions that there are and this one would have %d bytes of reasons and globs, and %d may be: remove some first, or write shorter ones", len(list), said, redoubt.MaxExceptionBytes)
	}
	e.CreatedAt, e.CreatedBy = s.Now(), s.Actor().String()
	if e.ID, err = s.InsertException(ctx, e); err != nil {
		return e, nil, fmt.Errorf("add an exception: %w", err)
	}
	changed, err = applyException(ctx, s, append(list, e), e)
	return e, changed, err
}

// RemoveException ends an exception, and reopens what it ignored in the same
// transaction. An unknown one is redoubt.ErrNotFound.
func RemoveException(ctx context.Context, s Store, id int64) (_ redoubt.Exception, changed Effect, err error) {
	e, err := s.Exception(ctx, id)
	if err != nil {
		return e, nil, err
	}
	if err := s.DeleteException(ctx, e); err != nil {
		return e, nil, err
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return e, nil, err
	}
	changed, err = applyException(ctx, s, list, e)
	return e, changed, err
}

// applyException brings in line what an exception can cover and returns what that
// changed; then, untold, what an expired one still ignores.
func applyException(ctx context.Context, s Store, list []redoubt.Exception, e redoubt.Exception) (changed Effect, err error) {
	if changed, err = apply(ctx, s, list, scopeOf(e)); err != nil {
		return nil, err
	}
	_, err = apply(ctx, s, list, decidedByExpired(list, s.Now()))
	return changed, err
}

// PreviewAdding tells what AddException would change. It only reads.
func PreviewAdding(ctx context.Context, s Store, e redoubt.Exception) (Effect, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	e.ID = math.MaxInt64 // those that are there come first, as they will
	return judge(ctx, s, append(list, e), scopeOf(e))
}

// PreviewRemoving tells what RemoveException would change. It only reads.
func PreviewRemoving(ctx context.Context, s Store, e redoubt.Exception) (Effect, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(other redoubt.Exception) bool { return other.ID == e.ID })
	return judge(ctx, s, list, scopeOf(e))
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
