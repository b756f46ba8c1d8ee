package edge

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/redoubt/redoubt"
)

// Intake bounds the reports that are worked on at a time, in bytes after
// inflating: a report takes some ten times its size in memory, so without a
// bound a few uploads at once would end the process for everybody. It is safe
// for concurrent use.
type Intake struct {
	Each int64 // bytes of one request
	All  int64 // bytes of all requests together
	used atomic.Int64
}

// InUse is how many bytes are worked on now.
func (i *Intake) InUse() int64 { return i.used.Load() }

// Reservation is what one request has of an intake, until it is released.
type Reservation struct {
	of   *Intake
	held int64
}

// Reserve begins a reservation of nothing yet.
func (i *Intake) Reserve() *Reservation { return &Reservation{of: i} }

// Add adds bytes. It answers redoubt.ErrTooLarge to a request that has had its
// share, and redoubt.ErrUnavailable where others leave no room.
func (r *Reservation) Add(bytes int) error {
	r.held += int64(bytes)
	all := r.of.used.Add(int64(bytes))
	switch {
	case r.held > r.of.Each:
		return fmt.Errorf("the upload is %w (limit %d bytes, all files together, after inflating)", redoubt.ErrTooLarge, r.of.Each)
	case all > r.of.All:
		return fmt.Errorf("%w: the reports of other uploads take all the room that there is", redoubt.ErrUnavailable)
	}
	return nil
}

// Release gives back all that was added.
func (r *Reservation) Release() { r.of.used.Add(-r.held) }

// Body is a body that reserves its room as it is read.
func (r *Reservation) Body(body io.Reader) io.ReadCloser { return io.NopCloser(reserving{body, r}) }

type reserving struct {
	io.Reader
	room *Reservation
}

// Read implements io.Reader.
func (b reserving) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if full := b.room.Add(n); full != nil {
		return n, full
	}
	return n, err
}
