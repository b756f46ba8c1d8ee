//go:build faults && linux

package faults

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// hook is a receiver of webhooks. It records accepted messages in order, and their times.
type hook struct {
	*httptest.Server
	mu      sync.Mutex
	took    []string // names of rules, for each message
	at      map[string]time.Time
	accepts func() bool
	answer  func(w http.ResponseWriter, accepted bool)
}

func newHook(t *testing.T, accepts func() bool, answer func(w http.ResponseWriter, accepted bool)) *hook {
	h := &hook{at: map[string]time.Time{}, accepts: accepts, answer: answer}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var message struct {
			Data struct {
				Findings []struct {
					Rule string `json:"rule"`
				} `json:"findings"`
			} `json:"data"`
		}
		text, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(text, &message) != nil || len(message.Data.Findings) != 1 {
			return // the server was killed during the request
		}
		accepted := h.accepts()
		if accepted {
			h.note(message.Data.Findings[0].Rule)
		}
		h.answer(w, accepted)
	}))
	t.Cleanup(h.Server.Close)
	return h
}

func (h *hook) note(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.took = append(h.took, name)
	if h.at[name].IsZero() {
		h.at[name] = time.Now()
	}
}

// first returns the distinct messages in the order of their first arrival.
func (h *hook) first() (names []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range h.took {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func (h *hook) arrivedAt(name string) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at[name]
}

// TestFaultsQueue kills a server with healthy, slow, failing, disconnecting and unreachable
// receivers. Each message of an acknowledged import arrives at least once, in order per receiver.
// The healthy receiver is not delayed by others.
func TestFaultsQueue(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) { t.Parallel(); newFaulty(t, storageOn(t, engine)).killsWithReceivers() })
	}
}

func (f *faulty) killsWithReceivers() {
	always := func() bool { return true }
	mostly := func() func() bool { // never two failures in a row, which would cause a long delay
		var requests atomic.Int32
		return func() bool { return requests.Add(1)%5 != 2 }
	}
	nothing := func(http.ResponseWriter, bool) {}
	hooks := map[string]*hook{
		"healthy": newHook(f.t, always, nothing),
		"slow":    newHook(f.t, always, func(http.ResponseWriter, bool) { time.Sleep(1500 * time.Millisecond) }),
		"failing": newHook(f.t, mostly(), func(w http.ResponseWriter, accepted bool) {
			if !accepted {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}),
		"hanging up": newHook(f.t, mostly(), func(w http.ResponseWriter, accepted bool) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			if accepted {
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
			}
			_ = conn.Close()
		}),
		"away": newHook(f.t, always, nothing),
	}
	for name, h := range hooks {
		if name != "away" {
			h.Start()
		}
	}
	away := hooks["away"].Listener.Addr().String()
	_ = hooks["away"].Listener.Close()
	f.start("--notify-to", "127.0.0.0/8")
	first := f.client
	for name, h := range hooks {
		_, err := first.CreateNotificationRule(f.t.Context(), f.ready.DeploymentSlug, api.CreateNotificationRuleRequest{
			Name: name, Events: []string{"new_finding"}, Channel: "webhook",
			URL: "http://" + h.Listener.Addr().String() + "/hook",
		})
		if err != nil {
			f.t.Fatal(err)
		}
	}
	var acked []string
	imports := func(n int) {
		for range n {
			name := fmt.Sprintf("rule-%03d", len(acked))
			text := strings.ReplaceAll(programtest.Results(1, name), `"check_id":"eqeq"`, `"check_id":"`+name+`"`)
			into := api.ImportQuery{Project: "acme/" + name, Ref: "main"}
			_, err := f.client.ImportReport(f.t.Context(), f.ready.DeploymentSlug, into, strings.NewReader(text))
			if err != nil {
				f.t.Fatal(err)
			}
			acked = append(acked, name)
		}
	}
	token := f.ready.Token
	for i := range 5 {
		imports(3)
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		f.kill()
		f.start("--notify-to", "127.0.0.0/8")
		f.client.Token = token
		if i == 0 {
			listener, err := net.Listen("tcp", away)
			if err != nil {
				f.t.Fatal(err)
			}
			hooks["away"].Listener = listener
			hooks["away"].Start()
		}
	}
	// A killed server may have claimed the delivery. The next message then waits for its lease to
	// expire, which is not a delay by another receiver.
	imports(1)
	f.awaitHook(hooks["healthy"], acked)
	var waited []time.Duration
	for range 5 { // the slow one is busy, and others wait for their next attempt
		imports(1)
		name, committed := acked[len(acked)-1], time.Now()
		f.awaitHook(hooks["healthy"], acked)
		waited = append(waited, hooks["healthy"].arrivedAt(name).Sub(committed))
	}
	slices.Sort(waited)
	if median := waited[len(waited)/2]; median > 2*time.Second { // one may meet a busy machine
		f.t.Errorf("the healthy receiver waited %v", waited)
	}
	for name, h := range hooks {
		f.awaitHook(h, acked)
		if got := h.first(); !slices.IsSorted(got) {
			f.t.Errorf("%s got %v", name, got)
		}
	}
}

// awaitHook waits until a receiver has accepted all messages.
func (f *faulty) awaitHook(h *hook, names []string) {
	f.t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		got := h.first()
		if len(got) == len(names) {
			return
		}
		if time.Now().After(end) {
			f.t.Fatalf("of %d messages %d arrived: %v\n%s", len(names), len(got), got, f.output)
		}
	}
}
