package model

import "time"

// AnswerKept is how long the answer to a write is kept under its key.
const AnswerKept = 24 * time.Hour

// KeptAnswer is what a write answered. It is kept under the key that the client
// gave the request, so that the same request again is answered and not done
// again (semantics §3).
type KeptAnswer struct {
	Key     string    // the client's, of 1 to 200 visible ASCII characters
	Request []byte    // a digest of all that was asked for
	Answer  []byte    // in whatever form its owner packs it
	At      time.Time // of the commit
}
