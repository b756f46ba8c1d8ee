package scm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

const head = "1111111111111111111111111111111111111111"

// played is a server with the published responses of a host. It records requests.
type played struct {
	answers  map[string]string // by method and path
	requests []string
	header   http.Header
}

func (p *played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	p.header = r.Header.Clone()
	key := r.Method + " " + r.URL.Path
	if r.Method != http.MethodGet {
		p.requests = append(p.requests, strings.TrimSpace(key+" "+string(body)))
	}
	answer, is := p.answers[key]
	switch {
	case !is:
		w.WriteHeader(http.StatusNotFound)
	case r.URL.Query().Get("page") > "1":
		_, _ = w.Write([]byte("[]"))
	default:
		_, _ = w.Write([]byte(answer))
	}
}

func play(t *testing.T, answers map[string]string) (*played, string) {
	t.Helper()
	p := &played{answers: answers}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return p, s.URL
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

var hostile = quoted("pay\x1b[31m\nments")

// hosts are the responses of each kind of host about the same repository.
var hosts = map[model.HostKind]map[string]string{
	model.HostGitea: {
		"GET /api/v1/user": `{"id":7,"login":"bot"}`,
		"GET /api/v1/user/repos": `[{"id":3,"full_name":"acme/payments","default_branch":"trunk","private":true,"clone_url":"https://evil.example/x","html_url":"https://git.example/acme/payments"},
			{"id":4,"full_name":"acme/../etc"},{"id":5,"full_name":"one"}]`,
		"GET /api/v1/repositories/3":                                      `{"id":3,"full_name":"acme/renamed","archived":true,"html_url":"javascript:x"}`,
		"GET /api/v1/repos/acme/payments/branches/release/2":              `{"name":"release/2","commit":{"id":"` + head + `"}}`,
		"GET /api/v1/repos/acme/payments/branches/odd":                    `{"commit":{"id":"--upload-pack=x"}}`,
		"GET /api/v1/repos/acme/payments/pulls":                           `[{"number":9,"title":` + hostile + `,"state":"open","user":{"login":"ada"},"head":{"ref":"fix","sha":"` + head + `","repo_id":8},"base":{"ref":"trunk","repo_id":3}},{"number":10,"head":{"sha":"--upload-pack=x"},"base":{"repo_id":3}}]`,
		"GET /api/v1/repos/acme/payments/pulls/9":                         `{"number":9,"state":"closed","merged":true,"head":{"sha":"` + head + `"},"base":{"repo_id":3}}`,
		"GET /api/v1/repos/acme/payments/issues/9/comments":               `[{"id":21,"body":"whole","user":{"login":"bot"}}]`,
		"GET /api/v1/repos/acme/payments/pulls/9/reviews":                 `[{"id":31,"comments_count":1},{"id":32}]`,
		"GET /api/v1/repos/acme/payments/pulls/9/reviews/31/comments":     `[{"id":22,"body":"line","user":{"login":"bot"},"path":"a.go","position":4}]`,
		"GET /api/v1/repos/acme/payments/collaborators/ada/permission":    `{"permission":"admin","user":{"id":99,"login":"ada"}}`, // of the repository that has this name now
		"GET /api/v1/repos/acme/renamed/collaborators/ada/permission":     `{"permission":"write","user":{"id":50,"login":"ada"}}`,
		"GET /api/v1/users/ada":                                           `{"id":50,"login":"ada"}`,
		"GET /api/v1/repos/acme/payments/collaborators/..%2Fx/permission": `{"permission":"admin"}`,
		"POST /api/v1/repos/acme/payments/statuses/" + head:               `{}`,
		"POST /api/v1/repos/acme/payments/issues/9/comments":              `{"id":23}`,
		"POST /api/v1/repos/acme/payments/pulls/9/reviews":                `{"id":31}`,
		"PATCH /api/v1/repos/acme/payments/issues/comments/22":            `{}`,
		"POST /api/v1/repos/acme/payments/hooks":                          `{"id":41}`,
		"GET /api/v1/repos/acme/payments/hooks": `[{"id":40,"type":"slack","active":false,"config":{},"events":["push","pull_request","pull_request_sync","pull_request_comment"]},
			{"id":41,"active":true,"config":{"url":"https://redoubt.example/hook"},"events":["create","push","pull_request","pull_request_sync","issue_comment","pull_request_comment","repository"]}]`,
	},
	model.HostGitHub: {
		"GET /api/v3/user": `{"id":7,"login":"bot"}`,
		"GET /api/v3/user/repos": `[{"id":3,"full_name":"acme/payments","default_branch":"trunk","private":true,"clone_url":"https://evil.example/x","html_url":"https://git.example/acme/payments"},
			{"id":4,"full_name":"acme/../etc"},{"id":5,"full_name":"one"}]`,
		"GET /api/v3/repositories/3":                                   `{"id":3,"full_name":"acme/renamed","archived":true,"html_url":"javascript:x"}`,
		"GET /api/v3/repos/acme/payments/git/ref/heads/release/2":      `{"ref":"refs/heads/release/2","object":{"sha":"` + head + `"}}`,
		"GET /api/v3/repos/acme/payments/git/ref/heads/odd":            `{"object":{"sha":"--upload-pack=x"}}`,
		"GET /api/v3/repos/acme/payments/pulls":                        `[{"number":9,"title":` + hostile + `,"state":"open","user":{"login":"ada"},"head":{"ref":"fix","sha":"` + head + `","repo":{"id":8}},"base":{"ref":"trunk","repo":{"id":3}}},{"number":10,"head":{"sha":"--upload-pack=x"},"base":{"repo":{"id":3}}}]`,
		"GET /api/v3/repos/acme/payments/pulls/9":                      `{"number":9,"state":"closed","merged":true,"head":{"sha":"` + head + `"},"base":{"repo":{"id":3}}}`,
		"GET /api/v3/repos/acme/payments/issues/9/comments":            `[{"id":21,"body":"whole","user":{"login":"bot"}}]`,
		"GET /api/v3/repos/acme/payments/pulls/9/comments":             `[{"id":22,"body":"line","user":{"login":"bot"},"path":"a.go","line":4}]`,
		"GET /api/v3/repos/acme/payments/collaborators/ada/permission": `{"permission":"admin","user":{"id":99,"login":"ada"}}`, // of the repository that has this name now
		"GET /api/v3/repos/acme/renamed/collaborators/ada/permission":  `{"permission":"write","user":{"id":50,"login":"ada"}}`,
		"GET /api/v3/users/ada":                                        `{"id":50,"login":"ada"}`,
		"POST /api/v3/repos/acme/payments/statuses/" + head:            `{}`,
		"POST /api/v3/repos/acme/payments/issues/9/comments":           `{"id":23}`,
		"POST /api/v3/repos/acme/payments/pulls/9/comments":            `{"id":24}`,
		"PATCH /api/v3/repos/acme/payments/pulls/comments/22":          `{}`,
		"POST /api/v3/repos/acme/payments/hooks":                       `{"id":41}`,
		"GET /api/v3/repos/acme/payments/hooks":                        `[{"id":40,"active":false,"config":{},"events":["push","pull_request","pull_request_review_comment"]},{"id":41,"active":true,"config":{"url":"https://redoubt.example/hook"},"events":["*"]}]`,
	},
	model.HostGitLab: {
		"GET /api/v4/user": `{"id":7,"username":"bot"}`,
		"GET /api/v4/projects": `[{"id":3,"path_with_namespace":"acme/payments","default_branch":"trunk","visibility":"internal","http_url_to_repo":"https://evil.example/x","web_url":"https://git.example/acme/payments"},
			{"id":4,"path_with_namespace":"acme/../etc"},{"id":5,"path_with_namespace":"one"}]`,
		"GET /api/v4/projects/3":                                          `{"id":3,"path_with_namespace":"acme/renamed","archived":true,"visibility":"public","web_url":"javascript:x"}`,
		"GET /api/v4/projects/3/repository/branches/release/2":            `{"name":"release/2","commit":{"id":"` + head + `"}}`,
		"GET /api/v4/projects/3/repository/branches/odd":                  `{"commit":{"id":"--upload-pack=x"}}`,
		"GET /api/v4/projects/3/merge_requests":                           `[{"iid":9,"title":` + hostile + `,"state":"opened","author":{"username":"ada"},"sha":"` + head + `","source_branch":"fix","target_branch":"trunk","source_project_id":8,"target_project_id":3},{"iid":10,"sha":"--upload-pack=x"}]`,
		"GET /api/v4/projects/3/merge_requests/9":                         `{"iid":9,"state":"merged","sha":"` + head + `","source_project_id":1,"diff_refs":{"base_sha":"b","head_sha":"h","start_sha":"s"}}`,
		"GET /api/v4/projects/3/merge_requests/9/discussions":             `[{"id":"d1","notes":[{"id":21,"body":"whole","author":{"username":"bot"}},{"id":20,"system":true}]},{"id":"d2","notes":[{"id":22,"body":"line","author":{"username":"bot"},"position":{"new_path":"a.go","new_line":4}}]}]`,
		"GET /api/v4/users":                                               `[{"id":50,"username":"ada"}]`,
		"GET /api/v4/projects/3/members/all/50":                           `{"access_level":30}`,
		"POST /api/v4/projects/3/statuses/" + head:                        `{}`,
		"POST /api/v4/projects/3/merge_requests/9/discussions":            `{"id":"d3","notes":[{"id":23}]}`,
		"PUT /api/v4/projects/3/merge_requests/9/discussions/d2/notes/22": `{}`,
		"PUT /api/v4/projects/3/merge_requests/9/discussions/d2":          `{}`,
		"POST /api/v4/projects/3/hooks":                                   `{"id":41}`,
		"GET /api/v4/projects/3/hooks":                                    `[{"id":40,"url":"","push_events":true,"alert_status":"disabled"},{"id":41,"url":"https://redoubt.example/hook","push_events":true,"merge_requests_events":true,"note_events":true,"alert_status":"executable"}]`,
	},
}

// lacks are the events that are disabled in the first webhook of each host.
var lacks = map[model.HostKind]string{
	model.HostGitea: "issue_comment, repository", model.HostGitHub: "issue_comment, repository", model.HostGitLab: "merge_requests_events, note_events",
}

func TestHostsReturnEqualResults(t *testing.T) {
	for kind, answers := range hosts {
		t.Run(kind.String(), func(t *testing.T) {
			p, base := play(t, answers)
			h := opened(t, loopback, kind, base)
			ctx := t.Context()
			who, err := h.Who(ctx)
			equal(t, "who", err, who, scm.Account{ID: "7", Login: "bot"})
			if p.header.Get("User-Agent") != "redoubt/test" || !strings.Contains(fmt.Sprint(p.header), "t0ken") {
				t.Errorf("asked with %v", p.header)
			}
			var list []model.Repository
			err = h.Repositories(ctx, func(part []model.Repository) error { list = append(list, part...); return nil })
			mine := model.Repository{HostID: "3", FullName: "acme/payments", DefaultBranch: "trunk", Private: true, CloneURL: base + "/acme/payments.git", WebURL: "https://git.example/acme/payments"}
			equal(t, "repositories", err, list, []model.Repository{mine})
			one, err := h.Repository(ctx, "3")
			equal(t, "one, renamed", err, one, model.Repository{HostID: "3", FullName: "acme/renamed", Archived: true, CloneURL: base + "/acme/renamed.git"})
			if _, err := h.Repository(ctx, "99"); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("one that is not there: %v", err)
			}
			newest, err := h.Branch(ctx, mine, "release/2")
			equal(t, "the newest commit of a branch", err, newest, head)
			if _, err := h.Branch(ctx, mine, "gone"); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("a branch that is gone: %v", err)
			}
			if commit, err := h.Branch(ctx, mine, "odd"); err == nil {
				t.Errorf("the commit of a branch is %q", commit)
			}
			open, err := h.ChangeRequests(ctx, mine)
			if err != nil || len(open) != 1 {
				t.Fatalf("open are %+v, %v", open, err)
			}
			c := open[0]
			if c.Number != 9 || c.Author != "ada" || c.HeadCommit != head || c.HeadRef != "fix" || c.BaseRef != "trunk" || !c.Fork || c.State != model.ChangeOpen ||
				strings.ContainsAny(c.Title, "\x1b\n") || !strings.HasSuffix(c.FetchRef, "/9/head") {
				t.Errorf("the change request is %+v", c)
			}
			merged, err := h.ChangeRequest(ctx, mine, 9)
			equal(t, "its state", err, merged.State, model.ChangeMerged)
			comments, err := h.Comments(ctx, mine, 9)
			if err != nil || len(comments) != 2 || comments[0].Body != "whole" || comments[0].Path != "" || comments[1].Path != "a.go" || comments[1].Line != 4 || comments[1].Author != "bot" {
				t.Fatalf("comments are %+v, %v", comments, err)
			}
			ada := scm.Account{ID: "50", Login: "ada"}
			may, of, err := h.Permission(ctx, mine, "ada")
			equal(t, "what ada may", err, may, scm.MayWrite)
			equal(t, "who ada is", err, of, ada)
			of, err = h.User(ctx, "ada")
			equal(t, "who ada is", err, of, ada)
			if of, err := h.User(ctx, "mallory"); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("an unknown user is %+v, %v", of, err)
			}
			hooks, err := h.Hooks(ctx, mine)
			equal(t, "the hooks", err, hooks, []scm.Hook{{ID: "40", Off: true, Lacks: lacks[kind]}, {ID: "41", Address: "https://redoubt.example/hook"}})
			writes(t, h, mine, c, comments[1])
		})
	}
}

// writes calls every operation that writes to a host.
func writes(t *testing.T, h scm.Host, r model.Repository, c model.ChangeRequest, line scm.Comment) {
	t.Helper()
	ctx := t.Context()
	line.Body = "fixed"
	id, err := h.AddHook(ctx, r, "https://redoubt.example/hook", "s")
	equal(t, "the hook", err, id, "41")
	comment, commentErr := h.AddComment(ctx, r, c, scm.Comment{Body: "b"})
	onLine, onLineErr := h.AddComment(ctx, r, c, scm.Comment{Body: "b", Path: "a.go", Line: 4})
	for what, n := range map[string]scm.Comment{"a comment": comment, "a comment on a line": onLine} {
		if n.ID == "" || n.ID == "0" {
			t.Errorf("%s has no id: %+v", what, n)
		}
	}
	for what, err := range map[string]error{
		"a status":             h.SetStatus(ctx, r, c.HeadCommit, scm.Status{State: scm.StatusFailure, Context: "redoubt", Text: "3 blocking", URL: "https://redoubt.example/x"}),
		"a comment":            commentErr,
		"a comment on a line":  onLineErr,
		"another text":         h.EditComment(ctx, r, c.Number, line),
		"a hook that was gone": h.RemoveHook(ctx, r, "77"),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := h.ResolveComment(ctx, r, c.Number, line); err != nil && !errors.Is(err, scm.ErrUnsupported) {
		t.Errorf("resolve: %v", err)
	}
}

func equal[T any](t *testing.T, what string, err error, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
	}
}

// TestReusedRepositoryName checks that a repository that reuses a name is not mistaken
// for the original one.
func TestReusedRepositoryName(t *testing.T) {
	for _, kind := range []model.HostKind{model.HostGitea, model.HostGitHub} {
		t.Run(kind.String(), func(t *testing.T) {
			_, base := play(t, hosts[kind])
			h := opened(t, loopback, kind, base)
			r := model.Repository{HostID: "77", FullName: "acme/payments"}
			if list, err := h.ChangeRequests(t.Context(), r); !errors.Is(err, model.ErrNotFound) || len(list) > 0 {
				t.Errorf("change requests are %+v, %v", list, err)
			}
			if c, err := h.ChangeRequest(t.Context(), r, 9); !errors.Is(err, model.ErrNotFound) || c.Number != 0 {
				t.Errorf("the change request is %+v, %v", c, err)
			}
			if may, _, err := h.Permission(t.Context(), r, "ada"); !errors.Is(err, model.ErrNotFound) || may != scm.MayNothing {
				t.Errorf("ada may %v, %v", may, err)
			}
		})
	}
}

func TestInvalidLoginsAreNotRequested(t *testing.T) {
	p, base := play(t, hosts[model.HostGitea])
	h := opened(t, loopback, model.HostGitea, base)
	for _, login := range []string{"../../../user", "..", "a/b", "x?page=2", "x#"} {
		if may, _, err := h.Permission(t.Context(), model.Repository{HostID: "3", FullName: "acme/payments"}, login); may != scm.MayNothing || err == nil {
			t.Errorf("%q may %v, %v", login, may, err)
		}
	}
	if len(p.requests) > 0 {
		t.Errorf("asked %v", p.requests)
	}
}
