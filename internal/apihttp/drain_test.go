package apihttp

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// TestRejectedUploadResponseIsReadable checks that a client can read the response after it sent the
// whole rejected body, with and without a Content-Length.
func TestRejectedUploadResponseIsReadable(t *testing.T) {
	h := newHarness(t, func(c *core.Config) { c.Limits.Upload = 1 << 20 })
	const size = 24 << 20 // more than the socket buffers
	for _, test := range []struct {
		chunked bool
		begin   string // start of the body, followed by spaces
		want    int
	}{
		{false, "", http.StatusRequestEntityTooLarge},
		{true, "", http.StatusBadRequest}, // spaces alone are not read to the end
		{true, `{"version":"2.1.0","runs":[`, http.StatusRequestEntityTooLarge},
	} {
		chunked, want := test.chunked, test.want
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		length := fmt.Sprintf("Content-Length: %d", size)
		if chunked {
			length = "Transfer-Encoding: chunked"
		}
		fmt.Fprintf(conn, "POST /api/v1/deployments/acme/imports?project=acme/a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n\r\n", h.token, length)
		body := test.begin + strings.Repeat(" ", 1<<20-len(test.begin))
		for range size >> 20 {
			text := body
			if chunked {
				text = fmt.Sprintf("%x\r\n%s\r\n", len(body), body)
			}
			if _, err := conn.Write([]byte(text)); err != nil {
				t.Fatalf("chunked %v: the body is not read: %v", chunked, err)
			}
			body = strings.Repeat(" ", 1<<20)
		}
		if chunked {
			fmt.Fprint(conn, "0\r\n\r\n")
		}
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("chunked %v: no response: %v", chunked, err)
		}
		if answer.StatusCode != want || answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("chunked %v: %s %s, want %d", chunked, answer.Status, answer.Header.Get("Content-Type"), want)
		}
		if err := answer.Body.Close(); err != nil {
			t.Error(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
