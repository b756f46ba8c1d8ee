package core

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestWhatIsReadOn: after a refusal a body is read on, unless there is too much to do or it
// is too large.
func TestWhatIsReadOn(t *testing.T) {
	for _, test := range []struct {
		status int
		length int64 // as announced, -1 where it is not
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
			t.Errorf("after %d, a body of %d bytes is read on: %v", test.status, test.length, read)
		}
	}
}
