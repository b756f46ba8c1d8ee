package storetest

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// frontend reads what a client of PostgreSQL says on one connection, piece by piece, and
// counts what it waits for. Counting how often the two sides take turns would count a long
// batch several times on a busy machine: the server answers its start before its end was read.
type frontend struct {
	started bool
	rest    []byte // of a message whose end has not come
}

// probe starts what a pool asks of a connection that was idle.
const probe = "-- ping"

// read returns how many of the messages that end in a piece are waited for: the start of a
// session, passwords, simple queries, the ends of batches and of copies.
func (f *frontend) read(piece []byte) int {
	f.rest = append(f.rest, piece...)
	waits := 0
	for {
		kind, header := byte('p'), 0 // the start of a session has no kind, and is waited for
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
