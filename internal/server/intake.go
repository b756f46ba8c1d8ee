package server

import (
	"fmt"
	"sync/atomic"

	"github.com/redoubt/redoubt"
)

// intake bounds the reports that are worked on at a time, in bytes after
// inflating: a report takes some ten times its size in memory, so without a
// bound a few uploads at once would end the process for everybody.
type intake struct {
	each, all int64 // bytes of one request, and of all together
	used      atomic.Int64
}

// reservation is what one request has of an intake, until it is released.
type reservation struct {
	of   *intake
	held int64
}

// reserve adds bytes to the reservation. It refuses a request that has had its share,
// and one that finds too much of others at work.
func (r *reservation) reserve(bytes int) error {
	r.held += int64(bytes)
	all := r.of.used.Add(int64(bytes))
	switch {
	case r.held > r.of.each:
		return fmt.Errorf("the upload is %w (limit %d bytes, all files together, after inflating)", redoubt.ErrTooLarge, r.of.each)
	case all > r.of.all:
		return fmt.Errorf("%w: the reports of other uploads take all the room that there is", redoubt.ErrUnavailable)
	}
	return nil
}

func (r *reservation) release() { r.of.used.Add(-r.held) }
