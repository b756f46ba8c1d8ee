package scm_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

const marker = "redoubt-abc"

// trackers are the responses of each kind of tracker about the same issue.
var trackers = map[string]struct {
	kind    model.HostKind
	answers map[string]string
	project string
	slug    string
	path    string // path of the page; empty: as the host returns it
	written string // request that creates it
}{
	"gitea": {model.HostGitea, map[string]string{
		"GET /api/v1/repos/acme/app/labels":   `[{"id":4,"name":"security"},{"id":5,"name":"other"}]`,
		"GET /api/v1/repos/acme/app/issues":   `[{"number":6,"body":"x","html_url":"https://git.example/acme/app/issues/6"},{"number":7,"body":"<!-- redoubt-abc -->","state":"closed","html_url":"https://git.example/acme/app/issues/7"}]`,
		"POST /api/v1/repos/acme/app/issues":  `{"number":7,"state":"open","html_url":"https://git.example/acme/app/issues/7"}`,
		"GET /api/v1/repos/acme/app/issues/7": `{"number":7,"state":"closed","html_url":"https://git.example/acme/app/issues/7"}`,
	}, "acme/app", "acme/app#7", "", `POST /api/v1/repos/acme/app/issues {"body":"text","labels":[4],"title":"T"}`},
	"github": {model.HostGitHub, map[string]string{
		"GET /api/v3/repos/acme/app/issues":   `[{"number":6,"body":"x","html_url":"https://git.example/acme/app/issues/6"},{"number":7,"body":"<!-- redoubt-abc -->","state":"closed","html_url":"https://git.example/acme/app/issues/7"}]`,
		"POST /api/v3/repos/acme/app/issues":  `{"number":7,"state":"open","html_url":"https://git.example/acme/app/issues/7"}`,
		"GET /api/v3/repos/acme/app/issues/7": `{"number":7,"state":"closed","html_url":"https://git.example/acme/app/issues/7"}`,
	}, "acme/app", "acme/app#7", "", `POST /api/v3/repos/acme/app/issues {"title":"T","body":"text","labels":["security"]}`},
	"gitlab": {model.HostGitLab, map[string]string{
		"GET /api/v4/projects/acme/app/issues":   `[{"iid":6,"description":"x","web_url":"https://git.example/acme/app/-/issues/6"},{"iid":7,"description":"<!-- redoubt-abc -->","state":"closed","web_url":"https://git.example/acme/app/-/issues/7"}]`,
		"POST /api/v4/projects/acme/app/issues":  `{"iid":7,"state":"opened","web_url":"https://git.example/acme/app/-/issues/7"}`,
		"GET /api/v4/projects/acme/app/issues/7": `{"iid":7,"state":"closed","web_url":"https://git.example/acme/app/-/issues/7"}`,
	}, "acme/app", "acme/app#7", "", `POST /api/v4/projects/acme/app/issues {"confidential":true,"description":"text","labels":"security","title":"T"}`},
	"jira cloud": {model.HostJira, map[string]string{
		"GET /rest/api/2/serverInfo":      `{"deploymentType":"Cloud"}`,
		"POST /rest/api/3/search/jql":     `{"issues":[{"id":"1","key":"SEC-7","fields":{"status":{"statusCategory":{"key":"done"}}}}]}`,
		"POST /rest/api/3/issue":          `{"id":"10000","key":"SEC-7","self":"https://jira.example/rest/api/3/issue/10000"}`,
		"GET /rest/api/2/issue/SEC-7":     `{"key":"SEC-7","fields":{"status":{"name":"Fertig","statusCategory":{"key":"done"}}}}`,
		"GET /rest/api/2/issue/SEC-7/not": ``,
	}, "SEC", "SEC-7", "/browse/SEC-7", `POST /rest/api/3/issue {"fields":{"description":{"content":[{"content":[{"marks":[{"type":"strong"}],"text":"Rule: ","type":"text"},{"marks":[{"type":"code"}],"text":"a*b","type":"text"}],"type":"paragraph"},{"content":[{"marks":[{"attrs":{"href":"https://redoubt.example/1"},"type":"link"}],"text":"see","type":"text"}],"type":"paragraph"}],"type":"doc","version":1},"issuetype":{"name":"Task"},"labels":["security","redoubt-abc"],"project":{"key":"SEC"},"summary":"T"}}`},
	"jira data center": {model.HostJira, map[string]string{
		"GET /rest/api/2/serverInfo":  `{"deploymentType":"Server"}`,
		"POST /rest/api/2/search":     `{"issues":[{"id":"1","key":"SEC-7","fields":{"status":{"statusCategory":{"key":"done"}}}}]}`,
		"POST /rest/api/2/issue":      `{"id":"10000","key":"SEC-7"}`,
		"GET /rest/api/2/issue/SEC-7": `{"key":"SEC-7","fields":{"status":{"statusCategory":{"key":"done"}}}}`,
	}, "SEC", "SEC-7", "/browse/SEC-7", `POST /rest/api/2/issue {"fields":{"description":"*Rule:* {{a\\*b}}\n\n[see|https://redoubt.example/1]","issuetype":{"name":"Task"},"labels":["security","redoubt-abc"],"project":{"key":"SEC"},"summary":"T"}}`},
}

func TestTrackerTickets(t *testing.T) {
	for name, c := range trackers {
		t.Run(name, func(t *testing.T) {
			p, base := play(t, c.answers)
			h, is := opened(t, loopback, c.kind, base).(scm.Tracker)
			if !is {
				t.Fatal("it keeps no issues")
			}
			made, err := h.CreateTicket(t.Context(), c.project, scm.Draft{
				Title: "T", Markdown: "text", Marker: marker, Labels: []string{"security"}, Type: "Task",
				Parts: []scm.Part{{Name: "Rule", Text: "a*b", Code: true}, {Text: "see", URL: "https://redoubt.example/1"}},
			})
			if err != nil || made.Slug != c.slug || made.Closed || c.path != "" && made.URL != base+c.path || !strings.HasPrefix(made.URL, "http") {
				t.Fatalf("made %+v, %v", made, err)
			}
			if got := p.requests[len(p.requests)-1]; got != c.written {
				t.Errorf("it was sent\n%s, want\n%s", got, c.written)
			}
			found, exists, err := h.FindTicket(t.Context(), c.project, marker, time.Now())
			made.Closed = true
			if !exists {
				t.Error("it is not found by its marker")
			}
			equal(t, "found by its marker", err, found, made)
			second, err := h.Ticket(t.Context(), c.project, made.Key)
			equal(t, "read again", err, second, made)
			if _, err := h.Ticket(t.Context(), c.project, "99"); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("one that is not there: %v", err)
			}
			if c.kind == model.HostJira {
				return
			}
			if _, exists, err := h.FindTicket(t.Context(), c.project, "redoubt-other", time.Now()); exists || err != nil {
				t.Errorf("an unknown marker: %v, %v", exists, err)
			}
			if _, exists, err := h.FindTicket(t.Context(), "acme/gone", marker, time.Now()); exists || err == nil {
				t.Errorf("in a project that is not there: %v, %v", exists, err)
			}
			for _, project := range []string{"acme/..", "acme/app?x=", "acme/app#", "../app"} { // as in links that users enter
				if got, err := h.Ticket(t.Context(), project, made.Key); err == nil {
					t.Errorf("the project %s is %+v", project, got)
				}
			}
		})
	}
}

// TestTicketsWithoutValidURL checks that issues with an invalid URL or number are rejected.
func TestTicketsWithoutValidURL(t *testing.T) {
	for _, c := range []struct {
		kind model.HostKind
		path string
		text string
	}{
		{model.HostGitea, "POST /api/v1/repos/acme/app/issues", `{"number":7,"html_url":"javascript:alert(1)"}`},
		{model.HostGitea, "POST /api/v1/repos/acme/app/issues", `{"html_url":"https://git.example/7"}`},
		{model.HostGitHub, "POST /api/v3/repos/acme/app/issues", `{"number":7}`},
		{model.HostGitLab, "POST /api/v4/projects/acme/app/issues", `{"iid":7,"web_url":"https://me:pw@git.example/7"}`},
		{model.HostJira, "POST /rest/api/2/issue", `{"key":"../../x"}`},
		{model.HostJira, "POST /rest/api/2/issue", `{}`},
	} {
		_, base := play(t, map[string]string{c.path: c.text, "GET /rest/api/2/serverInfo": `{}`})
		h, _ := opened(t, loopback, c.kind, base).(scm.Tracker)
		if made, err := h.CreateTicket(t.Context(), "acme/app", scm.Draft{Title: "T"}); !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("%s %s: %+v, %v", c.kind, c.text, made, err)
		}
	}
}

// TestJiraMarkupIsEscaped checks that markup in untrusted text is escaped.
func TestJiraMarkupIsEscaped(t *testing.T) {
	evil := "[~admin] {noformat} !http://evil.example/x.png! [x|http://evil.example] *b* \\ {{code}} @ada h1. #1"
	for _, version := range []string{"Server", "Cloud"} {
		p, base := play(t, map[string]string{"GET /rest/api/2/serverInfo": `{"deploymentType":"` + version + `"}`, "POST /rest/api/2/issue": `{"key":"SEC-7"}`, "POST /rest/api/3/issue": `{"key":"SEC-7"}`})
		h, _ := opened(t, loopback, model.HostJira, base).(scm.Tracker)
		if _, err := h.CreateTicket(t.Context(), "SEC", scm.Draft{Title: "T", Parts: []scm.Part{{Text: evil}}}); err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(p.requests[len(p.requests)-1], "issue ")
		var sent struct {
			Fields struct{ Description any }
		}
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		if version == "Cloud" {
			text, _ := json.Marshal(sent.Fields.Description)
			if want := `{"content":[{"content":[{"text":` + quoted(evil) + `,"type":"text"}],"type":"paragraph"}],"type":"doc","version":1}`; string(text) != want {
				t.Errorf("Cloud is sent %s, want one text", text)
			}
			continue
		}
		text, _ := sent.Fields.Description.(string)
		for i, r := range text {
			if strings.ContainsRune("{}[]|!~*@#", r) && (i == 0 || text[i-1] != '\\') {
				t.Errorf("Data Center is sent a bare %c: %s", r, text)
			}
		}
		if plain := strings.NewReplacer(`\\`, `\`, `\`, "").Replace(text); plain != evil {
			t.Errorf("it says %s", plain)
		}
	}
}

func TestJiraCredentials(t *testing.T) {
	p, base := play(t, map[string]string{"GET /rest/api/2/myself": `{"accountId":"7","displayName":"Bot"}`})
	for want, credential := range map[string]model.HostCredential{
		"Bearer pat":                     {Kind: model.CredentialToken, Secret: "pat"},
		"Basic Ym90QGFjbWUuaW86dG9rZW4=": {Kind: model.CredentialPassword, Username: "bot@acme.io", Secret: "token"},
	} {
		h, err := config(loopback).Open(model.Connection{Kind: model.HostJira, BaseURL: base}, credential)
		if err != nil {
			t.Fatal(err)
		}
		who, err := h.Who(t.Context())
		equal(t, "who", err, who, scm.Account{ID: "7", Login: "Bot"})
		if got := p.header.Get("Authorization"); got != want {
			t.Errorf("it shows %s, want %s", got, want)
		}
	}
}

// TestJiraFieldErrors checks that Jira's errors per field are included in the error message.
func TestJiraFieldErrors(t *testing.T) {
	for body, want := range map[string]string{
		`{"errorMessages":["No project."],"errors":{"summary":"It is too long.","labels":"Not on the screen."}}`: "No project. labels: Not on the screen. summary: It is too long.",
		`{"errorMessages":[],"errors":{"issuetype":"Specify a valid issue type"}}`:                               "issuetype: Specify a valid issue type",
		`{"errorMessages":["x\u001b[31m"],"errors":[]}`:                                                          "x[31m",
		`{"message":"one text","errors":[{"code":"invalid"}]}`:                                                   "one text",
		`{"errors":null}`: "",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(body))
		}))
		_, err := opened(t, loopback, model.HostJira, s.URL).Who(t.Context())
		s.Close()
		if refusal, is := errors.AsType[*scm.HostError](err); !is || refusal.Text != want {
			t.Errorf("%s is returned as %v, want %q", body, err, want)
		}
	}
}
