package scm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// giteaHost is Gitea, or Forgejo, which has the same API. Its pages may be shorter than requested,
// so lists are read until a page is empty.
type giteaHost struct {
	base string
	api  rest
}

func newGitea(c Config, to model.Connection, credential model.HostCredential) *giteaHost {
	return &giteaHost{to.BaseURL, rest{
		to.BaseURL + "/api/v1",
		c.client(askerOf(to, credential)),
		http.Header{"Authorization": {"token " + credential.Secret}},
	}}
}

// These types contain the members of Gitea's responses that are used.
type (
	giteaUser struct {
		ID    int64  `json:"id"`
		Login string `json:"login"`
	}
	giteaRepository struct {
		ID            int64  `json:"id"`
		FullName      string `json:"full_name"`
		DefaultBranch string `json:"default_branch"`
		Archived      bool   `json:"archived"`
		Private       bool   `json:"private"`
		HTMLURL       string `json:"html_url"`
	}
	giteaBranch struct {
		Ref    string `json:"ref"`
		SHA    string `json:"sha"`
		RepoID int64  `json:"repo_id"`
	}
	giteaPull struct {
		Number    int64       `json:"number"`
		Title     string      `json:"title"`
		HTMLURL   string      `json:"html_url"`
		State     string      `json:"state"`
		Merged    bool        `json:"merged"`
		User      giteaUser   `json:"user"`
		Head      giteaBranch `json:"head"`
		Base      giteaBranch `json:"base"`
		MergeBase string      `json:"merge_base"`
		UpdatedAt time.Time   `json:"updated_at"`
	}
	giteaComment struct {
		ID        int64      `json:"id"`
		Body      string     `json:"body"`
		User      giteaUser  `json:"user"`
		Path      string     `json:"path"`
		Line      uint64     `json:"position"`
		Resolver  *giteaUser `json:"resolver"`
		CreatedAt time.Time  `json:"created_at"`
		UpdatedAt time.Time  `json:"updated_at"`
	}
	giteaReview struct {
		ID       int64 `json:"id"`
		Comments int   `json:"comments_count"`
	}
)

// Who implements Host.
func (h *giteaHost) Who(ctx context.Context) (Account, error) {
	var u giteaUser
	if err := h.api.send(ctx, http.MethodGet, "/user", nil, &u); err != nil {
		return Account{}, err
	}
	return u.account(), nil
}

func (u giteaUser) account() Account { return Account{idText(u.ID), model.Line(u.Login)} }

func (r giteaRepository) repository() model.Repository {
	return model.Repository{
		HostID: strconv.FormatInt(r.ID, 10), FullName: r.FullName, DefaultBranch: r.DefaultBranch,
		Archived: r.Archived, Private: r.Private, WebURL: r.HTMLURL,
	}
}

// Repositories implements Host.
func (h *giteaHost) Repositories(ctx context.Context, handle func([]model.Repository) error) error {
	return listed(ctx, h.api, func(n int) string { return "/user/repos" + page(n, "limit", strconv.Itoa(perPage)) },
		func(list []giteaRepository) (bool, error) {
			return true, handle(good(h.base, list, giteaRepository.repository))
		})
}

// Repository implements Host.
func (h *giteaHost) Repository(ctx context.Context, hostID string) (model.Repository, error) {
	var r giteaRepository
	if err := h.api.send(ctx, http.MethodGet, at("repositories", hostID), nil, &r); err != nil {
		return model.Repository{}, err
	}
	return onlyGood(h.base, r.repository())
}

func (p giteaPull) change() model.ChangeRequest {
	out := model.ChangeRequest{
		Number: p.Number, Title: p.Title, Author: p.User.Login, WebURL: p.HTMLURL, State: model.ChangeOpen,
		HeadCommit: p.Head.SHA, HeadRef: p.Head.Ref,
		FetchRef: fmt.Sprintf("refs/pull/%d/head", p.Number), BaseRef: p.Base.Ref, BaseCommit: p.MergeBase,
		Fork: p.Head.RepoID != p.Base.RepoID, UpdatedAt: p.UpdatedAt.UTC(),
	}
	switch {
	case p.Merged:
		out.State = model.ChangeMerged
	case p.State != "open":
		out.State = model.ChangeClosed
	}
	return out
}

func giteaAt(r model.Repository, parts ...any) string {
	owner, name := ownerAndName(r)
	return at(append([]any{"repos", owner, name}, parts...)...)
}

// Branch implements Host.
func (h *giteaHost) Branch(ctx context.Context, r model.Repository, name string) (string, error) {
	var b struct {
		Commit struct {
			ID string `json:"id"`
		} `json:"commit"`
	}
	if err := h.api.send(ctx, http.MethodGet, giteaAt(r, "branches", name), nil, &b); err != nil {
		return "", err
	}
	return goodCommit(b.Commit.ID)
}

// ChangeRequests implements Host.
func (h *giteaHost) ChangeRequests(ctx context.Context, r model.Repository) (out []model.ChangeRequest, err error) {
	return out, listed(ctx, h.api, func(n int) string {
		return giteaAt(r, "pulls") + page(n, "state", "open", "limit", strconv.Itoa(perPage))
	}, func(list []giteaPull) (bool, error) {
		for _, p := range list {
			if err := sameRepository(r, p.Base.RepoID); err != nil {
				return false, err
			}
			out = appendGood(out, p.change())
		}
		return len(out) < maxOpen, nil
	})
}

// ChangeRequest implements Host.
func (h *giteaHost) ChangeRequest(ctx context.Context, r model.Repository, number int64) (model.ChangeRequest, error) {
	var p giteaPull
	if err := h.api.send(ctx, http.MethodGet, giteaAt(r, "pulls", number), nil, &p); err != nil {
		return model.ChangeRequest{}, err
	}
	if err := sameRepository(r, p.Base.RepoID); err != nil {
		return model.ChangeRequest{}, err
	}
	return goodChange(p.change())
}

// statusWord maps states to the words of Gitea and GitHub.
var statusWord = map[StatusState]string{
	StatusPending: "pending",
	StatusSuccess: "success",
	StatusFailure: "failure",
	StatusError:   "error",
}

// SetStatus implements Host.
func (h *giteaHost) SetStatus(ctx context.Context, r model.Repository, commit string, s Status) error {
	return h.api.send(ctx, http.MethodPost, giteaAt(r, "statuses", commit), map[string]string{
		"state": statusWord[s.State], "target_url": s.URL, "description": s.Text, "context": s.Context,
	}, nil)
}

// comment converts a comment of Gitea. All comments on a line are one thread, even if they belong
// to different reviews.
func (c giteaComment) comment() Comment {
	out := Comment{
		ID: strconv.FormatInt(c.ID, 10), Author: c.User.Login, AuthorID: idText(c.User.ID),
		At: c.CreatedAt, Body: c.Body, Path: c.Path, Line: int(min(c.Line, 1<<31-1)),
		Resolved: c.Resolver != nil, Edited: rewritten(c.CreatedAt, c.UpdatedAt, bothTimes),
	}
	if c.Path != "" {
		out.Thread = fmt.Sprintf("%s:%d", c.Path, out.Line)
	}
	return out
}

// Comments implements Host. Comments on lines belong to reviews.
func (h *giteaHost) Comments(ctx context.Context, r model.Repository, number int64) (out []Comment, err error) {
	add := func(path string) error {
		var list []giteaComment
		err := h.api.send(ctx, http.MethodGet, path, nil, &list)
		for _, c := range list {
			out = append(out, c.comment())
		}
		return err
	}
	if err := add(giteaAt(r, "issues", number, "comments")); err != nil { // this list has no pages
		return nil, err
	}
	return out, listed(ctx, h.api, func(n int) string {
		return giteaAt(r, "pulls", number, "reviews") + page(n, "limit", strconv.Itoa(perPage))
	},
		func(reviews []giteaReview) (bool, error) {
			for _, review := range reviews {
				if review.Comments == 0 {
					continue
				}
				if err := add(giteaAt(r, "pulls", number, "reviews", review.ID, "comments")); err != nil {
					return false, err
				}
			}
			return len(out) < maxComments, nil
		})
}

// AddComment implements Host. A comment on a line is a review, whose response does not contain the
// comment's id.
func (h *giteaHost) AddComment(
	ctx context.Context, r model.Repository, to model.ChangeRequest, c Comment,
) (Comment, error) {
	if c.Path == "" {
		var made giteaComment
		err := h.api.send(ctx, http.MethodPost, giteaAt(r, "issues", to.Number, "comments"), map[string]string{
			"body": c.Body,
		}, &made)
		return made.comment(), err
	}
	review, err := h.review(ctx, r, to, c)
	if err != nil {
		return c, err
	}
	var made []giteaComment
	err = h.api.send(ctx, http.MethodGet, giteaAt(r, "pulls", to.Number, "reviews", review.ID, "comments"), nil, &made)
	if err == nil && len(made) > 0 {
		c = made[0].comment()
	}
	return c, err
}

// review adds a comment on a line.
func (h *giteaHost) review(
	ctx context.Context, r model.Repository, to model.ChangeRequest, c Comment,
) (made giteaReview, err error) {
	type line struct {
		Path string `json:"path"`
		Body string `json:"body"`
		Line int    `json:"new_position"`
	}
	return made, h.api.send(ctx, http.MethodPost, giteaAt(r, "pulls", to.Number, "reviews"), map[string]any{
		"event": "COMMENT", "commit_id": to.HeadCommit, "comments": []line{{c.Path, c.Body, c.Line}},
	}, &made)
}

// Reply implements Host. It replies on the same line, which is the same thread. If the line is no
// longer part of the change, it adds a comment to the change request.
func (h *giteaHost) Reply(
	ctx context.Context, r model.Repository, on model.ChangeRequest, to Comment, body string,
) error {
	if to.Path != "" {
		_, err := h.review(ctx, r, on, Comment{Body: body, Path: to.Path, Line: to.Line})
		if refused, is := errors.AsType[*HostError](err); !is || refused.Status >= 500 {
			return err
		}
	}
	_, err := h.AddComment(ctx, r, on, Comment{Body: body})
	return err
}

// EditComment implements Host.
func (h *giteaHost) EditComment(ctx context.Context, r model.Repository, _ int64, c Comment) error {
	return h.api.send(ctx, http.MethodPatch, giteaAt(r, "issues", "comments", c.ID), map[string]string{
		"body": c.Body,
	}, nil)
}

// ResolveComment implements Host. Older versions do not support it.
func (h *giteaHost) ResolveComment(ctx context.Context, r model.Repository, _ int64, c Comment) error {
	return unsupportedWhereMissing(
		h.api.send(ctx, http.MethodPost, giteaAt(r, "pulls", "comments", c.ID, "resolve"), nil, nil),
	)
}

// Permission implements Host. It requests the current name of the repository first.
func (h *giteaHost) Permission(ctx context.Context, r model.Repository, login string) (Permission, Account, error) {
	now, err := h.Repository(ctx, r.HostID)
	if err != nil {
		return MayNothing, Account{}, err
	}
	var found struct {
		Permission string    `json:"permission"`
		User       giteaUser `json:"user"`
	}
	err = h.api.send(ctx, http.MethodGet, giteaAt(now, "collaborators", login, "permission"), nil, &found)
	return permissions[found.Permission], found.User.account(), err
}

// User implements Host.
func (h *giteaHost) User(ctx context.Context, login string) (Account, error) {
	var u giteaUser
	err := h.api.send(ctx, http.MethodGet, at("users", login), nil, &u)
	return u.account(), err
}

// permissions maps the hosts' names of permissions.
var permissions = map[string]Permission{
	"read":  MayRead,
	"write": MayWrite,
	"admin": MayAdminister,
	"owner": MayAdminister,
}

// giteaEvents are the events that a webhook must send.
var giteaEvents = []string{
	"push", "pull_request", "pull_request_sync", "issue_comment", "pull_request_comment", "repository",
}

// Hooks implements Host.
func (h *giteaHost) Hooks(ctx context.Context, r model.Repository) (out []Hook, err error) {
	type hook struct {
		ID     int64    `json:"id"`
		Active *bool    `json:"active"`
		Events []string `json:"events"`
		Config struct {
			URL string `json:"url"`
		} `json:"config"`
	}
	return out, listed(ctx, h.api, func(n int) string {
		return giteaAt(r, "hooks") + page(n, "limit", strconv.Itoa(perPage))
	}, func(list []hook) (bool, error) {
		for _, one := range list {
			out = append(out, Hook{
				strconv.FormatInt(one.ID, 10), one.Config.URL, one.Active != nil && !*one.Active, lacking(giteaEvents, one.Events),
			})
		}
		return true, nil
	})
}

// AddHook implements Host.
func (h *giteaHost) AddHook(ctx context.Context, r model.Repository, address, secret string) (string, error) {
	var hook struct {
		ID int64 `json:"id"`
	}
	err := h.api.send(ctx, http.MethodPost, giteaAt(r, "hooks"), map[string]any{
		"type": "gitea", "active": true, "events": giteaEvents,
		"config": map[string]string{"url": address, "content_type": "json", "secret": secret},
	}, &hook)
	return strconv.FormatInt(hook.ID, 10), err
}

// RemoveHook implements Host.
func (h *giteaHost) RemoveHook(ctx context.Context, r model.Repository, id string) error {
	return unlessGone(h.api.send(ctx, http.MethodDelete, giteaAt(r, "hooks", id), nil, nil))
}
