package hosts

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

// Limits of webhook bodies. The signature can be verified only after the whole body was read, so
// the sender is unauthenticated until then. Nearly all webhooks are small and are read like other
// bodies. Larger ones are limited in time and number.
const (
	maxWebhook   = 25 << 20  // bytes; GitHub's own limit
	smallWebhook = 256 << 10 // bytes that are read without a slot
	largeAtOnce  = 4
	largeFor     = time.Minute
)

// largeBodySlots limits concurrent reads of large webhook bodies. The zero value is ready to use;
// safe for concurrent use.
type largeBodySlots struct {
	mu   sync.Mutex
	used map[int64]bool // by connection, whose ids are unique across deployments
}

// acquire reserves the slot of a connection and reports whether it was free.
func (s *largeBodySlots) acquire(connection int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used = map[int64]bool{}
	}
	if s.used[connection] || len(s.used) >= largeAtOnce {
		return false
	}
	s.used[connection] = true
	return true
}

func (s *largeBodySlots) leave(connection int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, connection)
}

// read reads a webhook of a connection and verifies its signature. Without a well-formed signature
// it returns scm.ErrSignature before it reads the body.
func (k *Service) read(r *http.Request, c model.Connection, secret string) (e scm.Event, body []byte, err error) {
	if !scm.MayBeSigned(c.Kind, secret, r.Header) {
		return e, nil, scm.ErrSignature
	}
	if body, err = k.body(r, c.ID); err != nil {
		return e, nil, err
	}
	e, err = scm.ReadWebhook(c.Kind, secret, r.Header, body)
	if err != nil && !errors.Is(err, scm.ErrSignature) {
		err = model.Invalid("body", "%v", err)
	}
	return e, body, err
}

// body reads the body of a webhook before its signature is verified.
func (k *Service) body(r *http.Request, connection int64) ([]byte, error) {
	long := model.Invalid("body", "the webhook is larger than %d MiB", maxWebhook>>20)
	if r.ContentLength > maxWebhook {
		return nil, long
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, smallWebhook+1))
	if err != nil || len(body) <= smallWebhook {
		return body, err
	}
	if !k.seats.acquire(connection) {
		return nil, &model.BusyError{Text: "Another large webhook is being read. Retry later.", Wait: largeFor}
	}
	defer k.seats.leave(connection)
	all := bytes.NewBuffer(body)
	rest := timed{io.LimitReader(r.Body, int64(maxWebhook+1-len(body))), k.Clock, k.Clock().Add(largeFor)}
	if _, err := all.ReadFrom(rest); err != nil {
		return nil, err
	}
	if all.Len() > maxWebhook {
		return nil, long
	}
	return all.Bytes(), nil
}

// timed is a reader with a deadline.
type timed struct {
	io.Reader
	clock func() time.Time
	until time.Time
}

// Read implements io.Reader.
func (t timed) Read(p []byte) (int, error) {
	if t.clock().After(t.until) {
		return 0, model.Invalid("body", "a webhook larger than %d KiB must arrive within %v", smallWebhook>>10, largeFor)
	}
	return t.Reader.Read(p)
}
