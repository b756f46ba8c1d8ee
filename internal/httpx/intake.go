package httpx

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/redoubt/redoubt/internal/model"
)

// Intake limits the memory of concurrent uploads. Without a limit, a few uploads could exhaust the
// memory of the process. It is safe for concurrent use.
type Intake struct {
	Each int64 // bytes of one request, decompressed
	All  int64 // bytes of all requests, and of the memory for their contents
	used atomic.Int64
}

// InUse returns the number of reserved bytes.
func (i *Intake) InUse() int64 { return i.used.Load() }

// Reservation is the reserved memory of one request, until it is released.
type Reservation struct {
	of    *Intake
	size  int64 // bytes read and built
	built int64
}

// Reserve returns an empty reservation.
func (i *Intake) Reserve() *Reservation { return &Reservation{of: i} }

// Add reserves bytes that were read. It returns model.ErrTooLarge if the request exceeds its limit,
// and model.ErrUnavailable if other requests use the memory.
func (r *Reservation) Add(bytes int) error {
	r.size += int64(bytes)
	all := r.of.used.Add(int64(bytes))
	switch {
	case r.size-r.built > r.of.Each:
		return fmt.Errorf("the upload is %w (limit %d bytes, all files together, after decompression)",
			model.ErrTooLarge, r.of.Each)
	case all > r.of.All:
		return r.full()
	}
	return nil
}

// Build reserves memory for the contents, in bytes. It returns model.ErrUnavailable if other
// requests use the memory.
func (r *Reservation) Build(bytes int) error {
	r.size += int64(bytes)
	r.built += int64(bytes)
	if all := r.of.used.Add(int64(bytes)); all > r.of.All {
		return r.full()
	}
	return nil
}

// May reserves memory for an optimization, and reports whether there was enough.
func (r *Reservation) May(bytes int) bool {
	if r.of.used.Add(int64(bytes)) > r.of.All {
		r.of.used.Add(-int64(bytes))
		return false
	}
	r.size += int64(bytes)
	r.built += int64(bytes)
	return true
}

// Free releases memory that May reserved.
func (r *Reservation) Free(bytes int) {
	r.of.used.Add(-int64(bytes))
	r.size -= int64(bytes)
	r.built -= int64(bytes)
}

// full returns the error for exhausted memory. It is model.ErrTooLarge if the request alone exceeds
// the limit, so that waiting would not help, and otherwise model.ErrUnavailable.
func (r *Reservation) full() error {
	if r.size > r.of.All {
		return fmt.Errorf("the content of the upload is %w: the memory of all uploads is limited to %d bytes",
			model.ErrTooLarge, r.of.All)
	}
	return fmt.Errorf("%w: other uploads use all available memory", model.ErrUnavailable)
}

// longUpload is the number of bytes, read and built, from which storing an upload takes seconds.
const longUpload = 8 << 20

// Long reports whether storing the upload takes so long that small uploads go first.
func (r *Reservation) Long() bool { return r.size > longUpload }

// Release releases the whole reservation.
func (r *Reservation) Release() {
	r.of.used.Add(-r.size)
	r.size, r.built = 0, 0
}

// Body returns a body that reserves memory as it is read.
func (r *Reservation) Body(body io.Reader) io.ReadCloser { return reserving{body, r} }

// Build returns the method that reserves memory for the contents of a body of a Reservation. It
// returns nil for any other body.
func Build(body io.Reader) func(bytes int) error {
	if b, ok := body.(reserving); ok {
		return b.reservation.Build
	}
	return nil
}

type reserving struct {
	io.Reader
	reservation *Reservation
}

// Close does nothing: the server closes the underlying body.
func (b reserving) Close() error { return nil }

// Read implements io.Reader.
func (b reserving) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if full := b.reservation.Add(n); full != nil {
		return n, full
	}
	return n, err
}
