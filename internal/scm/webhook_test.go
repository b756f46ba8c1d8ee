package scm_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

// signedBy returns the headers of a signed webhook.
func signedBy(kind model.HostKind, secret, event, body string) http.Header {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	sum := hex.EncodeToString(mac.Sum(nil))
	h := http.Header{}
	switch kind {
	case model.HostGitea:
		h.Set("X-Gitea-Event", event)
		h.Set("X-Gitea-Signature", sum)
	case model.HostGitHub:
		h.Set("X-Github-Event", event)
		h.Set("X-Hub-Signature-256", "sha256="+sum)
	case model.HostGitLab:
		h.Set("X-Gitlab-Event", event)
		h.Set("X-Gitlab-Token", secret)
	}
	return h
}

func TestWebhookEvents(t *testing.T) {
	longBranch := strings.Repeat("b", 500) // the maximum length
	for _, c := range []struct {
		kind        model.HostKind
		event, body string
		want        scm.Event
	}{
		{model.HostGitea, "push", `{"ref":"refs/heads/trunk","after":"` + head + `","repository":{"id":3}}`, scm.Event{Kind: scm.EventPush, Name: "push", Repository: "3", Branch: "trunk", Commit: head}},
		{model.HostGitHub, "push", `{"ref":"refs/heads/gone","after":"` + strings.Repeat("0", 40) + `","repository":{"id":3}}`, scm.Event{Kind: scm.EventPush, Name: "push", Repository: "3", Branch: "gone"}},
		{model.HostGitHub, "push", `{"ref":"refs/tags/v1","after":"` + head + `","repository":{"id":3}}`, scm.Event{Name: "push", Repository: "3"}},
		{model.HostGitLab, "Push Hook", `{"ref":"refs/heads/trunk","after":"--x","project_id":3}`, scm.Event{Kind: scm.EventPush, Name: "Push Hook", Repository: "3", Branch: "trunk"}},
		{model.HostGitea, "pull_request_sync", `{"number":9,"repository":{"id":3}}`, scm.Event{Kind: scm.EventChange, Name: "pull_request_sync", Repository: "3", Number: 9}},
		{model.HostGitHub, "pull_request", `{"number":9,"pull_request":{"number":9},"repository":{"id":3}}`, scm.Event{Kind: scm.EventChange, Name: "pull_request", Repository: "3", Number: 9}},
		{model.HostGitLab, "Merge Request Hook", `{"object_attributes":{"iid":9},"project":{"id":3}}`, scm.Event{Kind: scm.EventChange, Name: "Merge Request Hook", Repository: "3", Number: 9}},
		{model.HostGitHub, "pull_request", `{"number":-1,"repository":{"id":-3}}`, scm.Event{Name: "pull_request", Number: -1}},
		{model.HostGitHub, "pull_request", `{"repository":{"id":0},"project_id":4}`, scm.Event{Name: "pull_request", Repository: "4"}},
		{model.HostGitHub, "pull_request", `{"number":8,"pull_request":{"number":1},"repository":{"id":3},"project_id":4}`, scm.Event{Kind: scm.EventChange, Name: "pull_request", Repository: "3", Number: 1}},
		{model.HostGitea, "push", `{"ref":"refs/heads/a\u001bb","after":"` + head + `","repository":{"id":3}}`, scm.Event{Name: "push", Repository: "3"}},
		{model.HostGitea, "push", `{"ref":"refs/heads/` + longBranch + `","repository":{"id":3}}`, scm.Event{Kind: scm.EventPush, Name: "push", Repository: "3", Branch: longBranch}},
		{model.HostGitea, "push", `{"ref":"refs/heads/` + longBranch + `x","repository":{"id":3}}`, scm.Event{Name: "push", Repository: "3"}},
		{model.HostGitHub, "installation_repositories", `{}`, scm.Event{Kind: scm.EventRepository, Name: "installation_repositories"}},
		{model.HostGitHub, strings.Repeat("e", 61), `{}`, scm.Event{Name: strings.Repeat("e", 59) + "…"}},
		{model.HostGitHub, "issue_comment", `{"action":"created","issue":{"number":9,"pull_request":{"url":"x"}},"comment":{"id":1,"body":"/redoubt ignore"},"repository":{"id":3}}`, scm.Event{Kind: scm.EventComment, Name: "issue_comment", Repository: "3", Number: 9}},
		{model.HostGitHub, "issue_comment", `{"issue":{"number":9,"pull_request":{}},"comment":{"body":"looks good"},"repository":{"id":3}}`, scm.Event{Name: "issue_comment", Repository: "3"}},
		{model.HostGitLab, "Note Hook", `{"object_attributes":{"note":"looks good"},"merge_request":{"iid":9},"project_id":3}`, scm.Event{Name: "Note Hook", Repository: "3"}},
		{model.HostGitLab, "Note Hook", `{"object_attributes":{"note":"\/redoubt fixing"},"merge_request":{"iid":9},"project_id":3}`, scm.Event{Kind: scm.EventComment, Name: "Note Hook", Repository: "3", Number: 9}},
		{model.HostGitHub, "pull_request_review_comment", `{"action":"created","comment":{"id":1,"in_reply_to_id":2},"pull_request":{"number":9},"repository":{"id":3}}`, scm.Event{Kind: scm.EventComment, Name: "pull_request_review_comment", Repository: "3", Number: 9}},
		{model.HostGitHub, "issue_comment", `{"issue":{"number":9},"repository":{"id":3}}`, scm.Event{Name: "issue_comment", Repository: "3"}},
		{model.HostGitea, "issue_comment", `{"action":"created","is_pull":true,"issue":{"number":9,"pull_request":{"merged":false}},"pull_request":{"number":9},"repository":{"id":3}}`, scm.Event{Kind: scm.EventComment, Name: "issue_comment", Repository: "3", Number: 9}},
		{model.HostGitea, "issue_comment", `{"is_pull":false,"issue":{"number":9,"pull_request":null},"pull_request":null,"repository":{"id":3}}`, scm.Event{Name: "issue_comment", Repository: "3"}},
		{model.HostGitea, "pull_request_comment", `{"action":"reviewed","number":9,"pull_request":{"number":9},"repository":{"id":3}}`, scm.Event{Kind: scm.EventComment, Name: "pull_request_comment", Repository: "3", Number: 9}},
		{model.HostGitLab, "Note Hook", `{"object_attributes":{"discussion_id":"d2"},"merge_request":{"iid":9},"project_id":3}`, scm.Event{Kind: scm.EventComment, Name: "Note Hook", Repository: "3", Number: 9}},
		{model.HostGitLab, "Note Hook", `{"object_attributes":{"iid":4},"issue":{"iid":4},"project_id":3}`, scm.Event{Name: "Note Hook", Repository: "3"}},
		{model.HostGitHub, "issue_comment", `{"issue":{"number":-9,"pull_request":{}},"pull_request":{"number":-1},"merge_request":{"iid":-2},"repository":{"id":3}}`, scm.Event{Name: "issue_comment", Repository: "3"}},
		{model.HostGitHub, "ping", `{"zen":"x","repository":{"id":3}}`, scm.Event{Name: "ping", Repository: "3"}},
		{model.HostGitea, "repository", `{"action":"created","repository":{"id":3}}`, scm.Event{Kind: scm.EventRepository, Name: "repository", Repository: "3"}},
	} {
		got, err := scm.ReadWebhook(c.kind, "s3cret", signedBy(c.kind, "s3cret", c.event, c.body), []byte(c.body))
		equal(t, c.kind.String()+" "+c.event, err, got, c.want)
	}
}

func TestWebhookSignatures(t *testing.T) {
	const body = `{"repository":{"id":3}}`
	for _, kind := range []model.HostKind{model.HostGitea, model.HostGitHub, model.HostGitLab} {
		for what, try := range map[string]func() (scm.Event, error){
			"another secret": func() (scm.Event, error) {
				return scm.ReadWebhook(kind, "s3cret", signedBy(kind, "other", "push", body), []byte(body))
			},
			"none": func() (scm.Event, error) { return scm.ReadWebhook(kind, "s3cret", http.Header{}, []byte(body)) },
			"no secret": func() (scm.Event, error) {
				return scm.ReadWebhook(kind, "", signedBy(kind, "", "push", body), []byte(body))
			},
		} {
			if _, err := try(); !errors.Is(err, scm.ErrSignature) {
				t.Errorf("%s at %s: %v", what, kind, err)
			}
		}
		if kind != model.HostGitLab { // GitLab's signature does not depend on the body
			if _, err := scm.ReadWebhook(kind, "s3cret", signedBy(kind, "s3cret", "push", body), []byte(body+" ")); !errors.Is(err, scm.ErrSignature) {
				t.Errorf("another body at %s: %v", kind, err)
			}
		}
		if _, err := scm.ReadWebhook(kind, "s3cret", signedBy(kind, "s3cret", "push", "x=1"), []byte("x=1")); err == nil || errors.Is(err, scm.ErrSignature) {
			t.Errorf("a form at %s: %v", kind, err)
		}
	}
	if _, err := scm.ReadWebhook(model.HostGit, "s3cret", signedBy(model.HostGitHub, "s3cret", "push", body), []byte(body)); !errors.Is(err, scm.ErrSignature) {
		t.Errorf("a remote of git: %v", err)
	}
}
