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

// portion is what one request has of an intake, until it is released.
type portion struct {
	of   *intake
	held int64
}

// take adds bytes to the portion. It refuses a request that has had its share,
// and one that finds too much of others at work.
func (p *portion) take(bytes int) error {
	p.held += int64(bytes)
	all := p.of.used.Add(int64(bytes))
	switch {
	case p.held > p.of.each:
		return fmt.Errorf("the upload is %w (limit %d bytes, all files together, after inflating)", redoubt.ErrTooLarge, p.of.each)
	case all > p.of.all:
		return fmt.Errorf("%w: the reports of other uploads take all the room that there is", redoubt.ErrUnavailable)
	}
	return nil
}

func (p *portion) release() { p.of.used.Add(-p.held) }
