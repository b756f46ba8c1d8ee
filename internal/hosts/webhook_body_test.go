package hosts_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// counted counts the bytes read of a body. It calls call once, after at bytes.
type counted struct {
	io.Reader
	read int
	at   int
	call func()
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	if c.call != nil && c.read >= c.at {
		call := c.call
		c.call = nil
		call()
	}
	return n, err
}

// deliver sends a webhook with a signature header to the service.
func (w *world) deliver(c model.Connection, signature string, body io.Reader, length int64) error {
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, "/", body)
	r.ContentLength = length
	r.SetPathValue("deploymentId", fmt.Sprint(w.d.ID))
	r.SetPathValue("connectionId", fmt.Sprint(c.ID))
	r.Header.Set("X-Gitea-Event", "star")
	if signature != "" {
		r.Header.Set("X-Gitea-Signature", signature)
	}
	return w.keeper.Routes()[0].Handle(httptest.NewRecorder(), r, auth.Caller{})
}

// signed returns a body of size bytes and its signature.
func signed(secret string, size int) (body, signature string) {
	body = `{"x":"` + strings.Repeat("x", size-8) + `"}`
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return body, hex.EncodeToString(mac.Sum(nil))
}

func TestUnsignedWebhooksAreNotRead(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	c := w.connect()
	for what, signature := range map[string]string{
		"none": "", "no sum": "x", "a short sum": strings.Repeat("a", 62), "no digits": strings.Repeat("x", 64),
	} {
		body := &counted{Reader: strings.NewReader(strings.Repeat("x", 1<<20))}
		if err := w.deliver(c, signature, body, -1); !errors.Is(err, model.ErrNotFound) || body.read != 0 {
			t.Errorf("signature %s: %v, and %d bytes were read", what, err, body.read)
		}
	}
	body := &counted{Reader: strings.NewReader(strings.Repeat("x", 1<<20))}
	if err := w.deliver(c, strings.Repeat("a", 64), body, 25<<20+1); !invalid(err) || body.read != 0 {
		t.Errorf("one said to be too long: %v, and %d bytes were read", err, body.read)
	}
}

func TestConcurrentLargeWebhooksAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		secret, err := w.keeper.Vault.OpenWebhook(w.d.ID, c)
		w.must(err)
		small, smallSum := signed(secret, 256<<10)
		large, largeSum := signed(secret, 256<<10+1)
		largest, largestSum := signed(secret, 25<<20)
		over, overSum := signed(secret, 25<<20+1)

		inside := false
		first := &counted{Reader: strings.NewReader(strings.Repeat("x", 1<<20)), at: 300 << 10, call: func() {
			inside = true
			busy := &model.BusyError{}
			second := &counted{Reader: strings.NewReader(largest)}
			if err := w.deliver(c, largestSum, second, -1); !errors.As(err, &busy) || second.read > 300<<10 {
				t.Errorf("a large one beside a large one: %v, and %d bytes were read", err, second.read)
			}
			w.must(w.deliver(c, smallSum, strings.NewReader(small), -1))
		}}
		if err := w.deliver(c, strings.Repeat("a", 64), first, -1); !errors.Is(err, model.ErrNotFound) || !inside {
			t.Errorf("a large one that is not signed: %v", err)
		}

		w.must(w.deliver(c, largeSum, strings.NewReader(large), int64(len(large)))) // the slot is free again
		w.must(w.deliver(c, largestSum, strings.NewReader(largest), -1))
		if err := w.deliver(c, overSum, strings.NewReader(over), -1); !invalid(err) {
			t.Errorf("one that is too long: %v", err)
		}
		late := &counted{Reader: strings.NewReader(largest), at: 1 << 20, call: func() { w.now = w.now.Add(61 * time.Second) }}
		if err := w.deliver(c, largestSum, late, -1); !invalid(err) || late.read > 2<<20 {
			t.Errorf("one that comes slowly: %v, and %d bytes were read", err, late.read)
		}
	})
}

func TestLargeWebhooksOfAllConnections(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	var answers []string // the innermost first
	var deliver func(depth int)
	deliver = func(depth int) {
		c, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, model.Connection{Kind: model.HostGitea, Name: fmt.Sprint("ours ", depth), BaseURL: "https://git.example"}, credential)
		w.must(err)
		body := &counted{Reader: strings.NewReader(strings.Repeat("x", 1<<20)), at: 300 << 10, call: func() { deliver(depth + 1) }}
		if depth == 5 {
			body.call = nil
		}
		_, is := errors.AsType[*model.BusyError](w.deliver(c, strings.Repeat("a", 64), body, -1))
		answers = append(answers, fmt.Sprint(depth, " busy: ", is))
	}
	deliver(1)
	same(t, "of five connections", answers, []string{"5 busy: true", "4 busy: false", "3 busy: false", "2 busy: false", "1 busy: false"})
}

func invalid(err error) bool {
	_, is := errors.AsType[*model.InvalidError](err)
	return is
}
