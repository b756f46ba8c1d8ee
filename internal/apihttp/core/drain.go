package core

import (
	"io"
	"net/http"
	"time"
)

// Limits of reading a rejected body: bytes, total time, time between parts and bytes of a part.
const (
	drained   = 512 << 20
	drainFor  = time.Minute
	drainIdle = 5 * time.Second
	drainPart = 4 << 20
)

// drain reads the rest of a rejected body. Most clients read the response only after they sent the
// whole body; if the connection closes first, they get a reset instead of the error. Bodies that
// are announced as larger than the limit are not read, and neither are bodies of requests that were
// rejected due to load.
func drain(w http.ResponseWriter, r *http.Request, status int) {
	busy := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if status < http.StatusBadRequest || busy || r.ContentLength == 0 || r.ContentLength > drained {
		return
	}
	connection := http.NewResponseController(w)
	if connection.Flush() != nil {
		return
	}
	end := func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) } // ignored for a closed connection
	enough, idle := time.AfterFunc(drainFor, end), time.AfterFunc(drainIdle, end)
	defer enough.Stop()
	defer idle.Stop()
	for range drained / drainPart {
		if _, err := io.CopyN(io.Discard, r.Body, drainPart); err != nil {
			return // end of the body, or connection lost
		}
		idle.Reset(drainIdle)
	}
}
