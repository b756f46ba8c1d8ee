package server

import (
	"io"
	"net/http"
	"time"
)

// What is read and thrown away of a body that was refused.
const (
	drained  = 512 << 20
	drainFor = 5 * time.Second
)

// drain reads on after a refusal. Most clients read the answer only once they have
// sent all: one whose connection is closed meanwhile sees a reset, and not what
// was wrong. What is announced to be larger still is not read at all, nor what comes
// while there is too much to do.
func drain(w http.ResponseWriter, r *http.Request, status int) {
	busy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if status < http.StatusBadRequest || busy || r.ContentLength == 0 || r.ContentLength > drained {
		return
	}
	connection := http.NewResponseController(w)
	if connection.Flush() != nil {
		return
	}
	enough := time.AfterFunc(drainFor, func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) }) // a connection that is gone needs none
	defer enough.Stop()
	_, _ = io.CopyN(io.Discard, r.Body, drained) // nobody is told how it ends
}
