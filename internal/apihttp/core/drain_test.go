package core

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDrain checks that the body of a rejected request is read, unless the server is
// overloaded or the body is too large.
func TestDrain(t *testing.T) {
	for _, test := range []struct {
		status int
		length int64 // Content-Length; -1 if unknown
		read   bool
	}{
		{http.StatusOK, 10, false},
		{http.StatusNotModified, -1, false},
		{http.StatusBadRequest, 10, true},
		{http.StatusRequestEntityTooLarge, -1, true},
		{http.StatusInternalServerError, 10, true},
		{http.StatusBadRequest, 0, false},
		{http.StatusRequestEntityTooLarge, drained, true},
		{http.StatusRequestEntityTooLarge, drained + 1, false},
		{http.StatusTooManyRequests, 10, false},
		{http.StatusServiceUnavailable, 10, false},
	} {
		body := strings.NewReader("0123456789")
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.ContentLength = test.length
		drain(httptest.NewRecorder(), r, test.status)
		if read := body.Len() == 0; read != test.read {
			t.Errorf("after %d, a body of %d bytes is drained: %v", test.status, test.length, read)
		}
	}
}
