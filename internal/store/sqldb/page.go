package sqldb

import (
	"context"
	"errors"
	"math"

	"github.com/redoubt/redoubt/internal/model"
)

var errEnough = errors.New("enough rows were read")

// UpTo returns at most limit rows of a query that keep accepts, and reports whether there are more.
// It stops reading after them, so memory does not grow with the result.
func UpTo[T any](
	ctx context.Context, q querier, limit int, keep func(T) bool, scan func(Row) (T, error), query string, args ...any,
) (list []T, more bool, err error) {
	list = []T{}
	err = Each(ctx, q, func(r Row) error {
		v, err := scan(r)
		switch {
		case err != nil:
			return err
		case !keep(v):
			return nil
		case len(list) == limit:
			more = true
			return errEnough
		}
		list = append(list, v)
		return nil
	}, query, args...)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, more, err
}

// QueryLimit returns the LIMIT of a query for UpTo: one row more than limit. With globs it is
// unlimited, because they are evaluated in Go.
func QueryLimit(limit int, globs model.ProjectGlobs) int64 {
	if len(globs) > 0 {
		return math.MaxInt64
	}
	return int64(limit) + 1
}
