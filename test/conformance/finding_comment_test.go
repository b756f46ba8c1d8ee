package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// commented adds a comment to a finding and returns both ids.
func (s *site) commented(t testing.TB, finding int64) map[string]string {
	t.Helper()
	made := post[api.FindingCommentResponse](t, s, commentsOf(finding), object{"text": "is it reachable?"})
	return map[string]string{"findingId": fmt.Sprint(finding), "commentId": fmt.Sprint(made.Comment.ID)}
}

func commentsOf(finding int64) string { return fmt.Sprintf("findings/%d/comments", finding) }

// commentWrites adds the writes of comments, by operation.
func commentWrites(t testing.TB, w *world, writes map[string]keyedWrite) {
	t.Helper()
	on := commentsOf(w.allCode(t)[8].ID)
	writes["addFindingComment"] = keyedWrite{request{method: "POST", path: on, body: object{"text": "x"}}, object{"text": "y"}}
	writes["withdrawFindingComment"] = keyedWrite{request: request{method: "POST", path: on + "/" + w.commented(t, w.allCode(t)[8].ID)["commentId"] + "/withdraw"}}
}

// TestFindingCommentsByAPI adds comments as a viewer, and withdraws them as the author, as another
// user and as an administrator.
func TestFindingCommentsByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		dev, other, chief := s.as(t, "dev", model.RoleViewer), s.as(t, "eve", model.RoleTriager), s.as(t, "chief", model.RoleAdmin)
		on := commentsOf(code[0].ID)
		c := post[api.FindingCommentResponse](t, dev, on, object{"text": " @eve, @chief: is it <b>reachable</b>? @unknown "}).Comment
		if c.Text != "@eve, @chief: is it <b>reachable</b>? @unknown" || !slices.Equal(c.Mentions, []string{"chief", "eve"}) || c.WithdrawnAt != nil || c.WrittenBy != "token:dev" {
			t.Errorf("written: %+v", c)
		}
		for what, text := range map[string]any{"nothing": " \n", "too long": strings.Repeat("x", model.MaxNote+1), "no text": 5, "a NUL": "a\x00b"} {
			t.Run(what, func(t *testing.T) {
				refused(t, dev.send(t, request{method: "POST", path: on, body: object{"text": text}}), 400, api.CodeInvalidArgument)
			})
		}
		refused(t, dev.send(t, request{method: "POST", path: on, body: object{"text": "x", "until": "x"}}), 400, api.CodeInvalidArgument)
		refused(t, dev.send(t, request{method: "POST", path: commentsOf(4000000000), body: object{"text": "x"}}), 404, api.CodeNotFound)

		second := post[api.FindingCommentResponse](t, other, on, object{"text": "no"}).Comment
		first := get[api.ListFindingCommentsResponse](t, dev, on, url.Values{"limit": {"1"}})
		if len(first.Comments) != 1 || first.Comments[0].ID != c.ID || first.Cursor == "" {
			t.Errorf("the first page is %+v", first)
		}
		next := get[api.ListFindingCommentsResponse](t, dev, on, url.Values{"limit": {"1"}, "cursor": {first.Cursor}})
		if len(next.Comments) != 1 || next.Comments[0].ID != second.ID || next.Cursor != "" {
			t.Errorf("the second page is %+v", next)
		}
		refused(t, dev.send(t, request{method: "GET", path: commentsOf(code[1].ID) + "?cursor=" + url.QueryEscape(first.Cursor)}), 400, api.CodeInvalidArgument)

		withdraw := func(id int64) request { return request{method: "POST", path: on + "/" + fmt.Sprint(id) + "/withdraw"} }
		refused(t, other.send(t, withdraw(c.ID)), 400, api.CodeInvalidArgument)
		refused(t, chief.send(t, request{method: "POST", path: commentsOf(code[1].ID) + "/" + fmt.Sprint(c.ID) + "/withdraw"}), 404, api.CodeNotFound)
		gone := read[api.FindingCommentResponse](t, dev.send(t, withdraw(c.ID))).Comment
		if gone.Text != "" || len(gone.Mentions) != 0 || gone.WithdrawnAt == nil || gone.WithdrawnBy != "token:dev" {
			t.Errorf("withdrawn: %+v", gone)
		}
		refused(t, dev.send(t, withdraw(c.ID)), 409, api.CodeConflict)
		if gone := read[api.FindingCommentResponse](t, chief.send(t, withdraw(second.ID))).Comment; gone.WithdrawnBy != "token:chief" {
			t.Errorf("withdrawn by an administrator: %+v", gone)
		}
		post[api.FindingCommentResponse](t, other, on, object{"text": "third"})
		events := []string{}
		for _, e := range get[api.FindingHistoryResponse](t, s, "findings/"+fmt.Sprint(code[0].ID)+"/history").Events[1:] {
			events = append(events, e.Kind+" "+e.By.Name+" "+e.Note)
		}
		if want := []string{"commented dev ", "commented eve ", "comment_withdrawn dev ", "comment_withdrawn chief ", "commented eve third"}; !slices.Equal(events, want) {
			t.Errorf("the history shows %q, want %q", events, want)
		}
	})
}

// TestIdempotencyKeyStoresNoCommentText checks that a repeated request returns the current comment.
func TestIdempotencyKeyStoresNoCommentText(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		on := commentsOf(code[0].ID)
		add := keyedWrite{request: request{method: "POST", path: on, body: object{"text": "the key is hunter2"}}}
		made := read[api.FindingCommentResponse](t, s.send(t, add.with("a-comment"))).Comment
		post[api.FindingCommentResponse](t, s, on+"/"+itoa(made.ID)+"/withdraw", object{})
		repeated := s.send(t, add.with("a-comment"))
		comment := read[api.FindingCommentResponse](t, repeated).Comment
		if repeated.header.Get("Idempotency-Replayed") != "true" || comment.ID != made.ID || comment.Text != "" || comment.WithdrawnAt == nil {
			t.Errorf("answered again: %s", repeated.body)
		}
		if list := get[api.ListFindingCommentsResponse](t, s, on, nil).Comments; len(list) != 1 {
			t.Errorf("there are %+v", list)
		}
	})
}
