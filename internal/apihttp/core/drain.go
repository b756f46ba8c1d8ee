package core

import (
	"io"
	"net/http"
	"time"
)

// What is read and thrown away of a body that was refused: so many bytes, for so long
// in all, from a client that sends a part of it every so often.
const (
	drained   = 512 << 20
	drainFor  = time.Minute
	drainIdle = 5 * time.Second
	drainPart = 4 << 20
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
	end := func() { _ = connection.SetReadDeadline(time.Unix(1, 0)) } // a connection that is gone needs none
	enough, idle := time.AfterFunc(drainFor, end), time.AfterFunc(drainIdle, end)
	defer enough.Stop()
	defer idle.Stop()
	for range drained / drainPart {
		if _, err := io.CopyN(io.Discard, r.Body, drainPart); err != nil {
			return // at its end, or cut off: nobody is told
		}
		idle.Reset(drainIdle)
	}
}
