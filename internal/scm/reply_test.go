package scm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

// conversations are the responses of each kind of host about the same comments. They are our
// comment on a line, a reply to it, an edited one by a bot on another line, and one on the whole
// change request.
var conversations = map[model.HostKind]map[string]string{
	model.HostGitea: {
		"GET /api/v1/repos/acme/payments/issues/9/comments": `[{"id":21,"body":"whole","user":{"id":50,"login":"ada"},"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}]`,
		"GET /api/v1/repos/acme/payments/pulls/9/reviews":   `[{"id":31,"comments_count":2},{"id":32,"comments_count":1}]`,
		"GET /api/v1/repos/acme/payments/pulls/9/reviews/31/comments": `[{"id":22,"body":"ours","user":{"login":"bot"},"path":"a.go","position":4,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"},
			{"id":23,"body":"answer","user":{"id":50,"login":"ada"},"path":"a.go","position":4,"created_at":"2026-01-01T00:01:00Z","updated_at":"2026-01-01T00:01:00Z"}]`,
		"GET /api/v1/repos/acme/payments/pulls/9/reviews/32/comments": `[{"id":24,"body":"other","user":{"login":"helper"},"path":"b.go","position":1,"created_at":"2026-01-01T00:01:00Z","updated_at":"2026-01-01T00:02:00Z"}]`,
		"POST /api/v1/repos/acme/payments/pulls/9/reviews":            `{"id":33}`,
		"POST /api/v1/repos/acme/payments/issues/9/comments":          `{"id":25}`,
	},
	model.HostGitHub: {
		"GET /api/v3/repos/acme/payments/issues/9/comments": `[{"id":21,"body":"whole","user":{"id":50,"login":"ada","type":"User"},"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}]`,
		"GET /api/v3/repos/acme/payments/pulls/9/comments": `[{"id":22,"body":"ours","user":{"login":"bot"},"path":"a.go","line":4,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"},
			{"id":23,"in_reply_to_id":22,"body":"answer","user":{"id":50,"login":"ada","type":"User"},"path":"a.go","line":4,"created_at":"2026-01-01T00:01:00Z","updated_at":"2026-01-01T00:01:00Z"},
			{"id":24,"body":"other","user":{"login":"helper[bot]","type":"Bot"},"path":"b.go","line":null,"created_at":"2026-01-01T00:01:00Z","updated_at":"2026-01-01T00:02:00Z"}]`,
		"POST /api/v3/repos/acme/payments/pulls/9/comments":  `{"id":26}`,
		"POST /api/v3/repos/acme/payments/issues/9/comments": `{"id":25}`,
	},
	model.HostGitLab: {
		"GET /api/v4/projects/3/merge_requests/9/discussions": `[{"id":"d1","notes":[{"id":21,"body":"whole","author":{"id":50,"username":"ada"},"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}]},
			{"id":"d2","notes":[{"id":22,"body":"ours","author":{"username":"bot"},"position":{"new_path":"a.go","new_line":4},"created_at":"2026-01-01T00:00:00.1Z","updated_at":"2026-01-01T00:00:00.4Z"},
				{"id":23,"body":"answer","author":{"id":50,"username":"ada"},"position":{"new_path":"a.go","new_line":4},"created_at":"2026-01-01T00:01:00Z","updated_at":"2026-01-01T00:01:00.2Z","resolved":true,"resolved_at":"2026-01-01T00:05:00Z"}]},
			{"id":"d3","notes":[{"id":24,"body":"other","author":{"username":"project_3_bot_1a2b"},"position":{"new_path":"b.go","new_line":1},"created_at":"2026-01-01T00:01:00Z","updated_at":"2026-01-01T00:02:00Z"}]}]`,
		"POST /api/v4/projects/3/merge_requests/9/discussions/d2/notes": `{"id":26}`,
		"POST /api/v4/projects/3/merge_requests/9/discussions/d1/notes": `{"id":27}`,
	},
}

// TestReplyThreads checks that all hosts report the threads, edits and bots of comments. A
// reply must be in the thread of its comment.
func TestReplyThreads(t *testing.T) {
	answers := map[model.HostKind][2]string{
		model.HostGitea:  {`POST /api/v1/repos/acme/payments/pulls/9/reviews {"comments":[{"path":"a.go","body":"done","new_position":4}],"commit_id":"` + head + `","event":"COMMENT"}`, `POST /api/v1/repos/acme/payments/issues/9/comments {"body":"done"}`},
		model.HostGitHub: {`POST /api/v3/repos/acme/payments/pulls/9/comments {"body":"done","in_reply_to":22}`, `POST /api/v3/repos/acme/payments/issues/9/comments {"body":"done"}`},
		model.HostGitLab: {`POST /api/v4/projects/3/merge_requests/9/discussions/d2/notes {"body":"done"}`, `POST /api/v4/projects/3/merge_requests/9/discussions/d1/notes {"body":"done"}`},
	}
	for kind, responses := range conversations {
		t.Run(kind.String(), func(t *testing.T) {
			p, base := play(t, responses)
			h := opened(t, loopback, kind, base)
			r := model.Repository{HostID: "3", FullName: "acme/payments"}
			list, err := h.Comments(t.Context(), r, 9)
			if err != nil || len(list) != 4 {
				t.Fatalf("comments are %+v, %v", list, err)
			}
			general, ours, answer, other := list[0], list[1], list[2], list[3]
			if ours.Thread == "" || answer.Thread != ours.Thread || other.Thread == ours.Thread || general.Thread == ours.Thread {
				t.Errorf("threads are %+v", list)
			}
			if general.Key() == ours.Key() || strings.HasPrefix(general.Key(), "line:") || !strings.HasPrefix(answer.Key(), "line:") {
				t.Errorf("keys are %q, %q, %q", general.Key(), ours.Key(), answer.Key())
			}
			if general.Edited || ours.Edited || answer.Edited || !other.Edited {
				t.Errorf("edited are %v, %v, %v, %v", general.Edited, ours.Edited, answer.Edited, other.Edited)
			}
			if answer.AuthorID != "50" || !answer.At.Equal(time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)) {
				t.Errorf("the answer is by %q at %s", answer.AuthorID, answer.At)
			}
			if answer.Bot || other.Bot != (kind != model.HostGitea) { // Gitea does not report bots
				t.Errorf("programs are %v, %v", answer.Bot, other.Bot)
			}
			at := model.ChangeRequest{Number: 9, HeadCommit: head}
			for i, to := range []scm.Comment{answer, general} {
				p.requests = nil
				if err := h.Reply(t.Context(), r, at, to, "done"); err != nil || len(p.requests) != 1 || p.requests[0] != answers[kind][i] {
					t.Errorf("answered with %q, %v; want %q", p.requests, err, answers[kind][i])
				}
			}
		})
	}
}

// TestEditDetection checks which updates count as edits. Some hosts need a tolerance of a second,
// and resolving a comment counts as an edit.
func TestEditDetection(t *testing.T) {
	list := map[model.HostKind]string{
		model.HostGitea:  `[{"id":1,"user":{"id":50,"login":"ada"},"created_at":"2026-01-01T00:00:00Z",%s}]`,
		model.HostGitHub: `[{"id":1,"user":{"id":50,"login":"ada"},"created_at":"2026-01-01T00:00:00Z",%s}]`,
		model.HostGitLab: `[{"id":"d1","notes":[{"id":1,"author":{"id":50,"username":"ada"},"created_at":"2026-01-01T00:00:00Z",%s}]}]`,
	}
	at := map[model.HostKind][2]string{
		model.HostGitea:  {"GET /api/v1/repos/acme/payments/issues/9/comments", "GET /api/v1/repos/acme/payments/pulls/9/reviews"},
		model.HostGitHub: {"GET /api/v3/repos/acme/payments/issues/9/comments", "GET /api/v3/repos/acme/payments/pulls/9/comments"},
		model.HostGitLab: {"GET /api/v4/projects/3/merge_requests/9/discussions"},
	}
	for _, c := range []struct {
		times string
		of    []model.HostKind // hosts at which it counts as edited
	}{
		{`"updated_at":"2026-01-01T00:00:00Z"`, nil},
		{`"updated_at":"2026-01-01T00:00:01Z"`, []model.HostKind{model.HostGitHub}},
		{`"updated_at":"2026-01-01T00:00:02Z"`, model.HostKinds()},
		{`"updated_at":"2026-01-01T00:05:00Z","resolved":true,"resolved_at":"2026-01-01T00:05:00Z"`, model.HostKinds()},
		{`"updated_at":"2026-01-01T00:05:00Z","resolved":true,"resolved_at":"2026-01-01T00:06:00Z"`, model.HostKinds()},
	} {
		for kind := range list {
			_, base := play(t, map[string]string{at[kind][0]: fmt.Sprintf(list[kind], c.times), at[kind][1]: `[]`})
			found, err := opened(t, loopback, kind, base).Comments(t.Context(), model.Repository{HostID: "3", FullName: "acme/payments"}, 9)
			if err != nil || len(found) != 1 || found[0].Edited != slices.Contains(c.of, kind) {
				t.Errorf("%s, %s: %+v, %v", kind, c.times, found, err)
			}
		}
	}
}

// TestReplyToRemovedLine checks that a reply to a removed line is added to the change
// request.
func TestReplyToRemovedLine(t *testing.T) {
	p, base := play(t, map[string]string{"POST /api/v1/repos/acme/payments/issues/9/comments": `{"id":25}`})
	h := opened(t, loopback, model.HostGitea, base)
	err := h.Reply(t.Context(), model.Repository{FullName: "acme/payments"}, model.ChangeRequest{Number: 9, HeadCommit: head}, scm.Comment{Path: "gone.go", Line: 3}, "done")
	if err != nil || len(p.requests) != 2 || !strings.HasSuffix(p.requests[1], `issues/9/comments {"body":"done"}`) {
		t.Errorf("asked %q, %v", p.requests, err)
	}
}
