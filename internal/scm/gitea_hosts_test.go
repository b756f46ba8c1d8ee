//go:build hosts && linux

package scm_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/testutil/hosttest"
)

// TestHostsGitea calls every operation on a real Gitea.
func TestHostsGitea(t *testing.T) {
	g := hosttest.StartGitea(t)
	ada := g.User(t, "ada")
	g.Call(t, http.MethodPost, "/orgs", map[string]string{"username": "acme"}, nil)
	g.Call(t, http.MethodPost, "/orgs/acme/repos", map[string]any{"name": "payments", "auto_init": true, "default_branch": "trunk", "private": true}, nil)
	g.Call(t, http.MethodPut, "/repos/acme/payments/collaborators/bot", map[string]string{"permission": "admin"}, nil)
	g.Call(t, http.MethodPut, "/repos/acme/payments/collaborators/ada", map[string]string{"permission": "write"}, nil)
	g.Put(t, "acme/payments", "a.go", "one\ntwo\nthree\n", "trunk", "")
	head := g.Put(t, "acme/payments", "a.go", "one\nBAD\nthree\n", "fix", "trunk")
	var pull struct{ Number int64 }
	g.Call(t, http.MethodPost, "/repos/acme/payments/pulls", map[string]string{"head": "fix", "base": "trunk", "title": "a fix"}, &pull)

	open := func(token string) scm.Host {
		h, err := config(loopback).Open(model.Connection{Kind: model.HostGitea, BaseURL: g.URL}, model.HostCredential{Kind: model.CredentialToken, Secret: token})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h, ctx := open(g.BotToken), t.Context()
	who, err := h.Who(ctx)
	equal(t, "who", err, who.Login, "bot")
	var list []model.Repository
	err = h.Repositories(ctx, func(part []model.Repository) error { list = append(list, part...); return nil })
	if err != nil || len(list) != 1 || list[0].FullName != "acme/payments" || !list[0].Private || list[0].DefaultBranch != "trunk" || list[0].CloneURL != g.URL+"/acme/payments.git" {
		t.Fatalf("repositories are %+v, %v", list, err)
	}
	r := list[0]
	changes, err := h.ChangeRequests(ctx, r)
	if err != nil || len(changes) != 1 || changes[0].HeadCommit != head || changes[0].BaseRef != "trunk" || changes[0].HeadRef != "fix" || changes[0].Fork || changes[0].BaseCommit == "" {
		t.Fatalf("change requests are %+v, %v", changes, err)
	}
	c := changes[0]

	if err := h.SetStatus(ctx, r, head, scm.Status{State: scm.StatusFailure, Context: "redoubt", Text: "1 blocking", URL: "https://redoubt.example/scans/1"}); err != nil {
		t.Error(err)
	}
	var status struct {
		State    string
		Statuses []struct{ Context, Description string }
	}
	g.Call(t, http.MethodGet, "/repos/acme/payments/commits/"+head+"/status", nil, &status)
	if status.State != "failure" || len(status.Statuses) != 1 || status.Statuses[0].Description != "1 blocking" {
		t.Errorf("the status is %+v", status)
	}

	for _, n := range []scm.Comment{{Body: "whole"}, {Body: "line", Path: "a.go", Line: 2}} {
		if made, err := h.AddComment(ctx, r, c, n); err != nil || made.ID == "" || made.ID == "0" {
			t.Errorf("comment %q: %+v, %v", n.Body, made, err)
		}
	}
	comments, err := h.Comments(ctx, r, c.Number)
	if err != nil || len(comments) != 2 || comments[1].Path != "a.go" || comments[1].Line != 2 || comments[0].Author != "bot" || comments[1].Author != "bot" {
		t.Fatalf("comments are %+v, %v", comments, err)
	}
	for _, n := range comments {
		n.Body += ", changed"
		if err := h.EditComment(ctx, r, c.Number, n); err != nil {
			t.Errorf("edit %q: %v", n.Body, err)
		}
	}
	if err := h.ResolveComment(ctx, r, c.Number, comments[1]); !errors.Is(err, scm.ErrUnsupported) {
		t.Errorf("resolve, which this version cannot: %v", err)
	}
	comments, err = h.Comments(ctx, r, c.Number)
	if err != nil || comments[0].Body != "whole, changed" || comments[1].Body != "line, changed" {
		t.Errorf("changed comments are %+v, %v", comments, err)
	}

	answersReachTheirThread(t, g, h, open(ada), r, c)

	for login, want := range map[string]scm.Permission{"ada": scm.MayWrite, "bot": scm.MayAdminister} {
		may, of, err := h.Permission(ctx, r, login)
		equal(t, "what "+login+" may", err, may, want)
		same, err := h.User(ctx, login)
		if equal(t, "who "+login+" is", err, of, same); of.ID == "" {
			t.Errorf("%s has no id", login)
		}
	}
	id, err := h.AddHook(ctx, r, "https://redoubt.example/hook", "s3cret")
	if err != nil || id == "" || id == "0" {
		t.Errorf("hook %q: %v", id, err)
	}
	hooks, err := h.Hooks(ctx, r)
	equal(t, "the hooks", err, hooks, []scm.Hook{{ID: id, Address: "https://redoubt.example/hook"}})
	if err := errors.Join(h.RemoveHook(ctx, r, id), h.RemoveHook(ctx, r, id)); err != nil {
		t.Errorf("remove the hook twice: %v", err)
	}

	checkTickets(t, g, h)

	g.Call(t, http.MethodPatch, "/repos/acme/payments", map[string]any{"name": "money", "archived": true}, nil)
	renamed, err := h.Repository(ctx, r.HostID)
	if err != nil || renamed.FullName != "acme/money" || !renamed.Archived {
		t.Errorf("renamed it is %+v, %v", renamed, err)
	}
	var refused *scm.HostError
	if _, err := open("0123456789012345678901234567890123456789").Who(ctx); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || strings.Contains(err.Error(), "01234") {
		t.Errorf("an unknown token: %v", err)
	}
	g.Stop(t)
	if _, err := h.Who(ctx); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("a host that is down: %v", err)
	}
}

// answersReachTheirThread checks the threads of replies to comments on lines, by both users.
func answersReachTheirThread(t *testing.T, g *hosttest.Gitea, ours, adas scm.Host, r model.Repository, c model.ChangeRequest) {
	t.Helper()
	ctx := t.Context()
	time.Sleep(1100 * time.Millisecond) // Gitea's times have a resolution of a second: the reply is newer than the change request
	if _, err := adas.AddComment(ctx, r, c, scm.Comment{Body: "/redoubt ignore", Path: "a.go", Line: 2}); err != nil {
		t.Fatal(err)
	}
	list, err := ours.Comments(ctx, r, c.Number)
	if err != nil || len(list) != 3 || list[1].Thread == "" || list[2].Thread != list[1].Thread || list[0].Thread == list[1].Thread || list[2].Author != "ada" || list[2].Edited {
		t.Fatalf("answered, comments are %+v, %v", list, err)
	}
	for _, to := range []scm.Comment{list[2], list[0]} {
		if err := ours.Reply(ctx, r, c, to, "answer to "+to.ID); err != nil {
			t.Error(err)
		}
	}
	now, err := ours.Comments(ctx, r, c.Number)
	if err != nil || len(now) != 5 {
		t.Fatalf("with our answers, comments are %+v, %v", now, err)
	}
	for _, n := range now {
		if n.Body == "answer to "+list[2].ID && n.Thread != list[2].Thread || n.Body == "answer to "+list[0].ID && n.Path != "" {
			t.Errorf("our answer is %+v", n)
		}
	}
	time.Sleep(3 * time.Second) // so that the edit is later than the comment
	g.Call(t, http.MethodPatch, "/repos/acme/payments/issues/comments/"+list[2].ID, map[string]string{"body": "/redoubt reopen"}, nil)
	if now, err = ours.Comments(ctx, r, c.Number); err != nil {
		t.Fatal(err)
	}
	for _, n := range now {
		if n.ID == list[2].ID && !n.Edited {
			t.Errorf("edited by another, it is %+v", n)
		}
	}
	if changed, err := ours.ChangeRequest(ctx, r, c.Number); err != nil || !changed.UpdatedAt.After(c.UpdatedAt) { // polling detects new replies by this time
		t.Errorf("the change request is of %v, was of %v, %v", changed.UpdatedAt, c.UpdatedAt, err)
	}
}

// checkTickets creates a real issue, finds it by its marker, and reads its state after it is
// closed.
func checkTickets(t *testing.T, g *hosttest.Gitea, h scm.Host) {
	t.Helper()
	tracker, is := h.(scm.Tracker)
	if !is {
		t.Fatal("it keeps no issues")
	}
	began := time.Now().Add(-time.Minute)
	g.Call(t, http.MethodPost, "/repos/acme/payments/labels", map[string]string{"name": "security", "color": "#ff0000"}, nil)
	if none, is, err := tracker.FindTicket(t.Context(), "acme/payments", "redoubt-abc", began); err != nil || is {
		t.Errorf("an unknown marker: %+v, %v", none, err)
	}
	made, err := tracker.CreateTicket(t.Context(), "acme/payments", scm.Draft{Title: "[high] rule", Markdown: "text\n\n<!-- redoubt-abc -->", Labels: []string{"security", "unknown"}})
	if err != nil || made.Closed || made.Key == "" || !strings.HasPrefix(made.URL, "http") {
		t.Fatalf("made %+v, %v", made, err)
	}
	var issue struct {
		Title, Body string
		Labels      []struct{ Name string }
	}
	g.Call(t, http.MethodGet, "/repos/acme/payments/issues/"+made.Key, nil, &issue)
	if issue.Title != "[high] rule" || len(issue.Labels) != 1 || issue.Labels[0].Name != "security" {
		t.Errorf("the issue is %+v", issue)
	}
	find := func(what string) {
		t.Helper()
		found, is, err := tracker.FindTicket(t.Context(), "acme/payments", "redoubt-abc", began)
		if equal(t, what, err, found, made); !is {
			t.Errorf("%s: it is not there", what)
		}
	}
	find("found by its marker")
	g.Call(t, http.MethodPatch, "/repos/acme/payments/issues/"+made.Key, map[string]string{"state": "closed"}, nil)
	now, err := tracker.Ticket(t.Context(), "acme/payments", made.Key)
	made.Closed = true
	equal(t, "closed", err, now, made)
	find("found when it is closed")
}
