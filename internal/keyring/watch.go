package keyring

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// checkInterval is the minimum interval between checks of a watched file. Checks occur only when keys
// are requested.
const checkInterval = time.Second

// Watched is a ring whose signing keys are reloaded when its file changes, so that a rotation needs
// no restart. It is safe for concurrent use.
type Watched struct {
	path   string
	clock  func() time.Time
	report func(error)

	mu      sync.Mutex
	ring    Ring
	checked time.Time
	seen    stamp
}

// stamp detects changes of a file.
type stamp struct {
	modified time.Time
	size     int64
}

// Watch watches the file of a ring that was read before. It calls report after each change, with nil
// or with the reason why the keys were not reloaded.
func Watch(path string, ring Ring, clock func() time.Time, report func(error)) *Watched {
	w := &Watched{path: path, clock: clock, report: report, ring: ring}
	w.seen, _ = stampOf(path) // if this fails, the next check reads the file
	if reread, err := Read(path); err == nil && reread.Matches(ring.Check()) {
		w.ring = reread
	}
	return w
}

// SigningKeys returns the signing keys of the current file.
func (w *Watched) SigningKeys() (use []byte, old [][]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock()
	if since := now.Sub(w.checked); since >= checkInterval || since < 0 {
		w.checked = now
		w.reload()
	}
	return w.ring.SigningKeys(now)
}

func (w *Watched) reload() {
	found, err := stampOf(w.path)
	if err != nil || found == w.seen {
		return // a file that is missing, for example during a replacement, changes nothing
	}
	w.seen = found
	next, err := Read(w.path)
	switch {
	case err != nil:
		err = fmt.Errorf("the keys were not reloaded: %w", err)
	case !next.Matches(w.ring.Check()):
		err = errors.New("the keys were not reloaded: the key file belongs to another database")
	case sameSigning(next, w.ring):
		return
	default:
		w.ring = next
	}
	w.report(err)
}

// sameSigning reports whether two rings have the same signing keys with the same times.
func sameSigning(a, b Ring) bool {
	return slices.EqualFunc(a.Signing, b.Signing, func(x, y SigningKey) bool {
		return bytes.Equal(x.Key, y.Key) && x.Made.Equal(y.Made) && x.Until.Equal(y.Until)
	})
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.ModTime(), info.Size()}, nil
}
