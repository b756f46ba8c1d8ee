package httpx

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/redoubt/redoubt/internal/model"
)

// Intake bounds the reports that are worked on at a time: without a bound a few
// uploads at once would end the process for everybody. It is safe for concurrent
// use.
type Intake struct {
	Each int64 // bytes of one request, after inflating
	All  int64 // bytes of all requests together, and of the memory that is built of them
	used atomic.Int64
}

// InUse is how many bytes are worked on now.
func (i *Intake) InUse() int64 { return i.used.Load() }

// Reservation is what one request has of an intake, until it is released.
type Reservation struct {
	of    *Intake
	held  int64 // bytes read and built
	built int64
}

// Reserve begins a reservation of nothing yet.
func (i *Intake) Reserve() *Reservation { return &Reservation{of: i} }

// Add adds bytes. It answers model.ErrTooLarge to a request that has had its
// share, and model.ErrUnavailable where others leave no room.
func (r *Reservation) Add(bytes int) error {
	r.held += int64(bytes)
	all := r.of.used.Add(int64(bytes))
	switch {
	case r.held-r.built > r.of.Each:
		return fmt.Errorf("the upload is %w (limit %d bytes, all files together, after inflating)",
			model.ErrTooLarge, r.of.Each)
	case all > r.of.All:
		return r.full()
	}
	return nil
}

// Build adds memory that is built of what was read, in bytes, to what all uploads
// share. It answers model.ErrUnavailable where others leave no room.
func (r *Reservation) Build(bytes int) error {
	r.held += int64(bytes)
	r.built += int64(bytes)
	if all := r.of.used.Add(int64(bytes)); all > r.of.All {
		return r.full()
	}
	return nil
}

// May builds memory that saves work and is not needed, if others leave room for it.
func (r *Reservation) May(bytes int) bool {
	if r.of.used.Add(int64(bytes)) > r.of.All {
		r.of.used.Add(-int64(bytes))
		return false
	}
	r.held += int64(bytes)
	r.built += int64(bytes)
	return true
}

// Free releases memory that May reserved.
func (r *Reservation) Free(bytes int) {
	r.of.used.Add(-int64(bytes))
	r.held -= int64(bytes)
	r.built -= int64(bytes)
}

// full says why there is no room: others take it, or this one alone needs more
// than there is, so that waiting would not help.
func (r *Reservation) full() error {
	if r.held > r.of.All {
		return fmt.Errorf("what the upload holds is %w: more than the %d bytes of memory that all uploads have",
			model.ErrTooLarge, r.of.All)
	}
	return fmt.Errorf("%w: the reports of other uploads take all the room that there is", model.ErrUnavailable)
}

// longUpload is what an upload holds, in bytes as read and built, that takes seconds
// to be stored.
const longUpload = 8 << 20

// Long reports whether the upload takes so long to be stored that small ones go first.
func (r *Reservation) Long() bool { return r.held > longUpload }

// Release gives back all that was added.
func (r *Reservation) Release() {
	r.of.used.Add(-r.held)
	r.held, r.built = 0, 0
}

// Body is a body that reserves its room as it is read.
func (r *Reservation) Body(body io.Reader) io.ReadCloser { return reserving{body, r} }

// Build is where the memory is counted that is built of a body of a Reservation;
// nil for any other body.
func Build(body io.Reader) func(bytes int) error {
	if b, ok := body.(reserving); ok {
		return b.room.Build
	}
	return nil
}

type reserving struct {
	io.Reader
	room *Reservation
}

// Close does nothing: the server closes what it opened.
func (b reserving) Close() error { return nil }

// Read implements io.Reader.
func (b reserving) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if full := b.room.Add(n); full != nil {
		return n, full
	}
	return n, err
}
