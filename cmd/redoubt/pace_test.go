package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// paced serves h at a pace suitable for tests, and returns a connection.
func paced(t *testing.T, h http.HandlerFunc) net.Conn {
	t.Helper()
	srv := httptest.NewServer(pace{clock: time.Now, grace: 200 * time.Millisecond, second: 1 << 20}.handler(h))
	t.Cleanup(srv.Close)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func TestSilentBodyIsCutOff(t *testing.T) {
	for name, reads := range map[string]bool{"read": true, "not read": false} {
		t.Run(name, func(t *testing.T) {
			conn := paced(t, func(w http.ResponseWriter, r *http.Request) {
				if !reads {
					return
				}
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					t.Error("a body without an end had one")
				}
			})
			fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("the connection stayed open: %v", err)
			}
		})
	}
}

func TestUnreadResponseIsDisconnected(t *testing.T) {
	failed := make(chan error, 1)
	conn := paced(t, func(w http.ResponseWriter, _ *http.Request) {
		chunk := []byte(strings.Repeat("x", 1<<16))
		for range 1 << 12 { // exceeds all buffers
			if _, err := w.Write(chunk); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	})
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if err := <-failed; err == nil {
		t.Error("a response to a client that does not read was written")
	}
}

// TestProcessingTimeIsNotPaced checks that neither the time of processing after the body was read nor the
// time between requests counts.
func TestProcessingTimeIsNotPaced(t *testing.T) {
	conn := paced(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/silent" {
			return
		}
		outlast(t, r.Host)
		if err := r.Context().Err(); err != nil {
			t.Errorf("the request was given up: %v", err)
		}
		fmt.Fprint(w, "done")
	})
	answers := bufio.NewReader(conn)
	for range 2 {
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc", conn.RemoteAddr())
		answer, err := http.ReadResponse(answers, nil)
		for err == nil && answer.StatusCode == http.StatusContinue {
			answer, err = http.ReadResponse(answers, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(answer.Body); string(body) != "done" {
			t.Errorf("%d %s", answer.StatusCode, body)
		}
		outlast(t, conn.RemoteAddr().String())
	}
}

// outlast waits until the server has disconnected a client that became silent after the call.
func outlast(t *testing.T, server string) {
	t.Helper()
	conn, err := net.Dial("tcp", server)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /silent HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
	_, _ = io.Copy(io.Discard, conn) // ends with the connection, with or without an error
}

// TestServerPausesAreNotCounted checks that a received body is read to its end, regardless of
// pauses of the server between reads.
func TestServerPausesAreNotCounted(t *testing.T) {
	conn := paced(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		piece := make([]byte, 1000)
		for range 4 {
			if _, err := io.ReadFull(r.Body, piece); err != nil {
				t.Errorf("the body was cut off: %v", err)
				return
			}
			outlast(t, r.Host)
		}
		if rest, err := io.ReadAll(r.Body); err != nil || len(rest) != 12000 {
			t.Errorf("the rest: %d bytes, %v", len(rest), err)
		}
		fmt.Fprint(w, "done")
	})
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 16000\r\n\r\n%s", conn.RemoteAddr(), strings.Repeat("x", 16000))
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, _ := io.ReadAll(answer.Body); string(body) != "done" {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

// TestSlowClientIsDisconnected checks that pauses of the client are added up, excluding
// those of the server.
func TestSlowClientIsDisconnected(t *testing.T) {
	done := make(chan error, 1)
	conn := paced(t, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		done <- err
	})
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	for {
		select {
		case err := <-done:
			if err == nil {
				t.Error("a body that dripped was read to its end")
			}
			return
		case <-time.After(20 * time.Millisecond):
			fmt.Fprint(conn, "x") // fails once the connection is closed
		}
	}
}
