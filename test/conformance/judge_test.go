package conformance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestJudge checks that the judge accepts the server's responses and rejects the same responses
// with a fault.
func TestJudge(t *testing.T) {
	s := newSite(t, storetest.Engines[0])
	smallSite(t, s)
	for _, c := range []struct {
		method, path string
		body         any
		status       int
		faults       []string // alternating texts and their replacements
	}{
		{"GET", "projects", nil, 200, []string{
			`"tags":[]`, `"tags":null`, `"tags":[]`, `"tags":"a"`, `"tags":[]`, `"tag":[]`, `"id":`, `"ID":`, `"created_at":"`, `"created_at":"x`, `"visibility":"unknown"`, `"visibility":"hidden"`,
		}},
		{"GET", "findings?page_size=100", nil, 200, []string{
			`"severity":"high"`, `"severity":"info"`, `"severity":"high"`, `"severity":null`, `"categories":["security"]`, `"categories":null`, `"scaFindings"`, `"scaFinding"`, `"triaged_at":null`, `"triaged":null`, `"line":10`, `"line":"10"`,
		}},
		{"POST", "dependencies", object{}, 200, []string{`"dependencies":[]`, `"dependencies":null`, `"hasMore":false`, `"hasMore":0`, `"cursor":""`, `"cursor":0`}},
		{"GET", "findings?page=-1", nil, 400, []string{`"errors":[`, `"errors":null,"x":[`, `"error":"`, `"error":"other `, `"status":400`, `"status":401`, `"code":"invalid_argument"`, `"code":"bad"`, `"request_id":"`, `"request_id":"x`}},
	} {
		a := s.send(t, request{method: c.method, path: c.path, body: c.body})
		if a.status != c.status {
			t.Fatalf("%s answers %d", c.path, a.status)
		}
		req, err := http.NewRequestWithContext(t.Context(), c.method, s.address(c.path), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(c.faults); i += 2 {
			text := string(a.body)
			faulty := strings.Replace(text, c.faults[i], c.faults[i+1], 1)
			if faulty == text {
				t.Errorf("%s contains no %s: %.300s", c.path, c.faults[i], text)
			}
			if checkResponse(req, &http.Response{StatusCode: a.status, Header: a.header}, []byte(faulty)) == nil {
				t.Errorf("%s allows %s", c.path, c.faults[i+1])
			}
		}
	}
}
