package storetest

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/store"
)

// Proxy stands between a store and its PostgreSQL and does to the network what a
// test asks for. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	target   string // a socket's path

	mu      sync.Mutex
	moved   *sync.Cond // tells that stalled or closed changed
	stalled bool
	refuses bool
	closed  bool
	delay   time.Duration
	poison  []byte // what a client must not say; nil: it may say everything
	lasts   bool   // what happens when it does: everything is refused from then on
	breaks  int    // of connections on which it was said
	conns   map[net.Conn]bool
	trips   int
}

// Through returns a configuration that reaches a PostgreSQL database of the
// cluster through a proxy, which ends with the test.
func Through(t testing.TB, c store.Config) (*Proxy, store.Config) {
	t.Helper()
	u, err := url.Parse(c.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{target: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432"), conns: map[net.Conn]bool{}}
	p.moved = sync.NewCond(&p.mu)
	if p.listener, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	go p.accept()
	t.Cleanup(p.close)
	c.DatabaseURL = fmt.Sprintf("postgres://redoubt@%s%s?sslmode=disable", p.listener.Addr(), u.Path)
	return p, c
}

// Stall passes nothing on, in either direction, and accepts connections all the
// same, until Resume.
func (p *Proxy) Stall() { p.set(func() { p.stalled = true }) }

// Resume passes on what was held back.
func (p *Proxy) Resume() { p.set(func() { p.stalled, p.refuses = false, false }) }

// Delay holds back what each side says for half a round trip.
func (p *Proxy) Delay(roundTrip time.Duration) { p.set(func() { p.delay = roundTrip / 2 }) }

// Cut resets all connections.
func (p *Proxy) Cut() { p.set(p.cut) }

// cut is Cut with the lock held.
func (p *Proxy) cut() {
	for conn := range p.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // which makes the close a reset
		}
		_ = conn.Close()
	}
}

// Refuse resets all connections, and new ones as they come, until Resume.
func (p *Proxy) Refuse() { p.set(p.refuse) }

// refuse is Refuse with the lock held.
func (p *Proxy) refuse() {
	p.refuses = true
	p.cut()
}

// CutAt resets each connection on which a client says something, as a statement that
// crashes its server's process does, before it is passed on. Nothing ends that.
func (p *Proxy) CutAt(text string) {
	p.set(func() { p.poison, p.lasts, p.breaks = []byte(text), false, 0 })
}

// RefuseAt does what Refuse does as soon as a client says something, which is not passed
// on, until Resume; after that it may be said.
func (p *Proxy) RefuseAt(text string) {
	p.set(func() { p.poison, p.lasts, p.breaks = []byte(text), true, 0 })
}

// Breaks counts the connections that CutAt or RefuseAt has reset for what was said on
// them, since it was called.
func (p *Proxy) Breaks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.breaks
}

// RoundTrips counts how often a client had to wait for an answer before it could go on. A
// pool's probe of a connection that was idle does not count: when it comes is up to the clock.
func (p *Proxy) RoundTrips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

func (p *Proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.moved.Broadcast()
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.set(func() { p.closed = true })
	p.Cut()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.mu.Lock()
		refuses := p.refuses || p.closed
		p.mu.Unlock()
		if refuses {
			_ = client.(*net.TCPConn).SetLinger(0) //nolint:forcetypeassert // the listener is one of TCP
			_ = client.Close()
			continue
		}
		server, err := net.Dial("unix", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.set(func() { p.conns[client], p.conns[server] = true, true })
		waits := new(frontend)
		go p.pass(client, server, func(said []byte) bool {
			p.trips += waits.read(said)
			return !p.poisons(said)
		})
		go p.pass(server, client, func([]byte) bool { return true })
	}
}

// poisons reports whether a client says what it must not, and does what the test asked
// for then. The lock is held.
func (p *Proxy) poisons(said []byte) bool {
	if p.poison == nil || !bytes.Contains(said, p.poison) {
		return false
	}
	p.breaks++
	if p.lasts {
		p.poison = nil
		p.refuse()
	}
	return true
}

// pass copies one direction, and ends both with it. note is called for each piece, with
// the lock held, and says whether it may pass.
func (p *Proxy) pass(from, to net.Conn, note func(piece []byte) bool) {
	defer func() {
		p.set(func() { delete(p.conns, from) })
		_, _ = from.Close(), to.Close()
	}()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if !p.hold(func() bool { return note(piece[:n]) }) {
				return
			}
			_, err = to.Write(piece[:n])
		}
		if err != nil {
			return
		}
	}
}

// hold waits as the test asked for, and reports whether the piece may pass and there is
// still somebody to pass it on to.
func (p *Proxy) hold(note func() bool) bool {
	p.mu.Lock()
	delay, passes := p.delay, note()
	p.mu.Unlock()
	if !passes {
		return false
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.stalled && !p.closed {
		p.moved.Wait()
	}
	return !p.closed
}
