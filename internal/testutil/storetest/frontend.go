package storetest

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// frontend parses the messages of a PostgreSQL client on one connection and counts those that it
// waits for. Counting alternations between the two sides would be wrong on a busy machine. A long
// batch would count several times, because the server answers its start before its end was read.
type frontend struct {
	started bool
	rest    []byte // of an incomplete message
}

// probe is the start of the query that a pool sends on idle connections.
const probe = "-- ping"

// read returns the number of messages that end in a piece and require a response. These are the start
// of a session, passwords, simple queries, and the ends of batches and copies.
func (f *frontend) read(piece []byte) int {
	f.rest = append(f.rest, piece...)
	waits := 0
	for {
		kind, header := byte('p'), 0 // the start message has no kind and is waited for
		if f.started {
			header = 1
		}
		if len(f.rest) < header+4 {
			return waits
		}
		end := header + int(binary.BigEndian.Uint32(f.rest[header:]))
		if len(f.rest) < end {
			return waits
		}
		if f.started {
			kind = f.rest[0]
		}
		body := f.rest[header+4 : end]
		if strings.IndexByte("pQSc", kind) >= 0 && !bytes.HasPrefix(body, []byte(probe)) {
			waits++
		}
		f.started, f.rest = true, f.rest[end:]
	}
}
