package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// TestPlaybackMatchesRecordedResponses plays a recording to a server with the recorded responses,
// after some retries, and to servers with others.
func TestPlaybackMatchesRecordedResponses(t *testing.T) {
	complete := exchange{Method: "POST", URI: "/api/agent/scans/@@SCAN@@/complete", Body: `{"exit_code":1}`}
	later, done, broken := complete, complete, complete
	later.Answer, done.Answer, broken.Answer = `200 {"success":false}`, `200 {"success":true,"time":"@@TIME@@"}`, "0 "
	is := recording{Exchanges: []exchange{
		{Method: "POST", URI: "/api/cli/v2/scans", Body: `{"unique_id":"@@UUID@@","repository":"@@REPO@@"}`, Header: http.Header{"Authorization": {"Bearer @@TOKEN0@@"}}, Answer: `200 {"info":{"id":@@SCAN@@,"deployment_id":7}}`},
		broken, later, done,
	}}
	const finished = `{"success":true,"time":"2026-05-04T03:02:01.5Z"}`
	for what, c := range map[string]struct {
		answers  []string // responses to the completion of the scan; an empty one breaks the connection
		requests int
		fails    bool
	}{
		"as recorded":           {[]string{"", `{"success":false}`, finished}, 3, false},
		"later than recorded":   {[]string{`{"success":false}`, `{"success":false}`, `{"success":false}`, finished}, 4, false},
		"sooner than recorded":  {[]string{finished}, 1, false},
		"with another decision": {[]string{`{"success":true,"app_block_override":true}`}, 0, true},
	} {
		t.Run(what, func(t *testing.T) {
			requests := 0
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.URL.Path == "/api/cli/v2/scans" {
					if r.Header.Get("Authorization") != "Bearer rdt_1_mine" || strings.Contains(string(body), "@@") || !strings.Contains(string(body), `"acme/mine"`) {
						t.Errorf("it was sent %s as %s", body, r.Header.Get("Authorization"))
					}
					fmt.Fprint(w, `{"info":{"id":31,"deployment_id":7}}`)
					return
				}
				if r.URL.Path != "/api/agent/scans/31/complete" {
					t.Errorf("it requested %s", r.URL.Path)
				}
				answer := c.answers[min(requests, len(c.answers)-1)]
				if requests++; answer == "" {
					panic(http.ErrAbortHandler)
				}
				fmt.Fprint(w, answer)
			}))
			defer srv.Close()
			r := &recorder{patience: 1, values: volatileValues{"URL": srv.URL, "TOKEN0": "rdt_1_mine", "REPO": "acme/mine"}}
			if !c.fails {
				r.patience = programtest.WaitAtMost
			}
			err := r.play(is)
			if (err != nil) != c.fails || !c.fails && requests != c.requests {
				t.Errorf("%d requests, and then: %v", requests, err)
			}
		})
	}
}
