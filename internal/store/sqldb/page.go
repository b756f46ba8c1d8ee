package sqldb

import (
	"context"
	"errors"
	"math"

	"github.com/redoubt/redoubt/internal/model"
)

var errEnough = errors.New("enough rows were read")

// UpTo reads the rows of a query that keep lets pass, limit of them at most, and
// tells whether there are more. What comes after these is not read, so neither
// memory nor statements grow with what the query finds.
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

// UnlessKept is the LIMIT of a query for upTo: one row more than are wanted, or
// none where globs leave rows out that only Go can tell.
func UnlessKept(limit int, globs model.ProjectGlobs) int64 {
	if len(globs) > 0 {
		return math.MaxInt64
	}
	return int64(limit) + 1
}
