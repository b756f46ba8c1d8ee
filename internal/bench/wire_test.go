package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// wire is one connection to the server under test. It is a minimal client that sends prepared
// requests and discards responses.
type wire struct {
	tb      testing.TB
	conn    net.Conn
	in      *bufio.Reader
	scratch []byte
}

func dial(tb testing.TB, address string) *wire {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	return &wire{tb: tb, conn: conn, in: bufio.NewReaderSize(conn, 64<<10), scratch: make([]byte, 256<<10)}
}

// request returns the bytes of a request. headers alternates names and values.
func (w *world) request(method, target string, body []byte, headers ...string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n", method, target, w.address, w.token, len(body))
	for i := 0; i+1 < len(headers); i += 2 {
		fmt.Fprintf(&out, "%s: %s\r\n", headers[i], headers[i+1])
	}
	out.WriteString("\r\n")
	out.Write(body)
	return out.Bytes()
}

// send sends a request and passes the body of the response to take. Any status but 200 fails the
// test.
func (c *wire) send(request []byte, consume func(io.Reader) error) {
	c.tb.Helper()
	if _, err := c.conn.Write(request); err != nil {
		c.tb.Fatal(err)
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.tb.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		c.tb.Fatalf("answer %s: %s", resp.Status, text)
	}
	if err := consume(resp.Body); err != nil {
		c.tb.Fatal(err)
	}
}

// discard sends a request and reads its response.
func (c *wire) discard(request []byte) {
	c.tb.Helper()
	c.send(request, func(body io.Reader) error {
		for {
			if _, err := body.Read(c.scratch); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}

// body sends a request and returns the body of the response.
func (c *wire) body(request []byte) (text []byte) {
	c.tb.Helper()
	c.send(request, func(body io.Reader) (err error) {
		text, err = io.ReadAll(body)
		return err
	})
	return text
}

// took measures a request until its response is read.
func (c *wire) took(request []byte) func() time.Duration {
	return timed(func() { c.discard(request) })
}
