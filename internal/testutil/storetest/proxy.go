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

// Proxy is a network proxy between a store and PostgreSQL that simulates failures. It is safe for
// concurrent use.
type Proxy struct {
	listener net.Listener
	target   string // path of a socket

	mu      sync.Mutex
	moved   *sync.Cond // signals changes of stalled and closed
	stalled bool
	refuses bool
	closed  bool
	delay   time.Duration
	poison  []byte // forbidden text of a client; nil: none
	lasts   bool   // refuse all connections after the text occurs
	breaks  int    // connections with the text
	conns   map[net.Conn]bool
	trips   int
}

// Through returns a configuration that connects to a PostgreSQL database of the cluster through a
// proxy. The proxy is closed when the test ends.
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

// Stall stops forwarding in both directions until Resume. Connections are still accepted.
func (p *Proxy) Stall() { p.set(func() { p.stalled = true }) }

// Resume forwards delayed data and accepts connections again.
func (p *Proxy) Resume() { p.set(func() { p.stalled, p.refuses = false, false }) }

// Delay delays each direction by half of the round trip.
func (p *Proxy) Delay(roundTrip time.Duration) { p.set(func() { p.delay = roundTrip / 2 }) }

// Cut resets all connections.
func (p *Proxy) Cut() { p.set(p.cut) }

// cut implements Cut. The lock must be held.
func (p *Proxy) cut() {
	for conn := range p.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // makes the close a reset
		}
		_ = conn.Close()
	}
}

// Refuse resets all connections, including new ones, until Resume.
func (p *Proxy) Refuse() { p.set(p.refuse) }

// refuse implements Refuse. The lock must be held.
func (p *Proxy) refuse() {
	p.refuses = true
	p.cut()
}

// CutAt resets each connection on which a client sends a text, before the text is forwarded, like a
// statement that crashes the server process. It has no end.
func (p *Proxy) CutAt(text string) {
	p.set(func() { p.poison, p.lasts, p.breaks = []byte(text), false, 0 })
}

// RefuseAt acts like Refuse as soon as a client sends a text, which is not forwarded. After Resume
// the text is allowed.
func (p *Proxy) RefuseAt(text string) {
	p.set(func() { p.poison, p.lasts, p.breaks = []byte(text), true, 0 })
}

// Breaks returns the number of connections that CutAt or RefuseAt has reset because of the text,
// since it was called.
func (p *Proxy) Breaks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.breaks
}

// RoundTrips returns how often a client waited for a response. It omits the probes of idle
// connections by a pool, because they depend on the clock.
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

// poisons reports whether a client sent the forbidden text, and applies the configured effect. The
// lock must be held.
func (p *Proxy) poisons(data []byte) bool {
	if p.poison == nil || !bytes.Contains(data, p.poison) {
		return false
	}
	p.breaks++
	if p.lasts {
		p.poison = nil
		p.refuse()
	}
	return true
}

// pass copies one direction and closes both connections at its end. note is called for each piece,
// with the lock held, and reports whether the piece may pass.
func (p *Proxy) pass(from, to net.Conn, note func(piece []byte) bool) {
	defer func() {
		p.set(func() { delete(p.conns, from) })
		_, _ = from.Close(), to.Close()
	}()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			if !p.wait(func() bool { return note(piece[:n]) }) {
				return
			}
			_, err = to.Write(piece[:n])
		}
		if err != nil {
			return
		}
	}
}

// wait waits as configured. It reports whether the piece may pass and the proxy is still open.
func (p *Proxy) wait(note func() bool) bool {
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
