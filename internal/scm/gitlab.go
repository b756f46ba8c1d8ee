package scm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// gitlabHost is GitLab. Its projects are repositories, and its merge requests are change requests.
type gitlabHost struct {
	base string
	api  rest
}

func newGitLab(c Config, to model.Connection, credential model.HostCredential) *gitlabHost {
	return &gitlabHost{to.BaseURL, rest{
		to.BaseURL + "/api/v4", c.client(askerOf(to, credential)), http.Header{"Private-Token": {credential.Secret}},
	}}
}

// These types contain the members of GitLab's responses that are used.
type (
	gitlabUser struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
	}
	gitlabProject struct {
		ID            int64  `json:"id"`
		Path          string `json:"path_with_namespace"`
		DefaultBranch string `json:"default_branch"`
		Archived      bool   `json:"archived"`
		Visibility    string `json:"visibility"`
		WebURL        string `json:"web_url"`
	}
	gitlabMerge struct {
		Number    int64      `json:"iid"`
		Title     string     `json:"title"`
		WebURL    string     `json:"web_url"`
		State     string     `json:"state"`
		Author    gitlabUser `json:"author"`
		SHA       string     `json:"sha"`
		Source    string     `json:"source_branch"`
		Target    string     `json:"target_branch"`
		SourceID  int64      `json:"source_project_id"`
		TargetID  int64      `json:"target_project_id"`
		UpdatedAt time.Time  `json:"updated_at"`
		Refs      gitlabRefs `json:"diff_refs"`
	}
	gitlabRefs struct {
		Base  string `json:"base_sha"`
		Head  string `json:"head_sha"`
		Start string `json:"start_sha"`
	}
	gitlabDiscussion struct {
		ID    string       `json:"id"`
		Notes []gitlabNote `json:"notes"`
	}
	gitlabNote struct {
		ID        int64      `json:"id"`
		Body      string     `json:"body"`
		Author    gitlabUser `json:"author"`
		System    bool       `json:"system"`
		Resolved  bool       `json:"resolved"`
		CreatedAt time.Time  `json:"created_at"`
		UpdatedAt time.Time  `json:"updated_at"`
		Position  *struct {
			Path string `json:"new_path"`
			Line int    `json:"new_line"`
		} `json:"position"`
	}
)

// Who implements Host.
func (h *gitlabHost) Who(ctx context.Context) (Account, error) {
	var u gitlabUser
	if err := h.api.send(ctx, http.MethodGet, "/user", nil, &u); err != nil {
		return Account{}, err
	}
	return u.account(), nil
}

func (p gitlabProject) repository() model.Repository {
	return model.Repository{
		HostID: strconv.FormatInt(p.ID, 10), FullName: p.Path, DefaultBranch: p.DefaultBranch,
		Archived: p.Archived, Private: p.Visibility != "public", WebURL: p.WebURL,
	}
}

// Repositories implements Host. It lists the projects that the account is a member of.
func (h *gitlabHost) Repositories(ctx context.Context, handle func([]model.Repository) error) error {
	return listed(ctx, h.api, func(n int) string {
		return "/projects" + page(n, "membership", "true", "order_by", "id", "per_page", strconv.Itoa(perPage))
	}, func(list []gitlabProject) (bool, error) {
		return len(list) == perPage, handle(good(h.base, list, gitlabProject.repository))
	})
}

// Repository implements Host.
func (h *gitlabHost) Repository(ctx context.Context, hostID string) (model.Repository, error) {
	var p gitlabProject
	if err := h.api.send(ctx, http.MethodGet, at("projects", hostID), nil, &p); err != nil {
		return model.Repository{}, err
	}
	return onlyGood(h.base, p.repository())
}

var gitlabChanges = map[string]model.ChangeState{
	"opened": model.ChangeOpen,
	"locked": model.ChangeOpen,
	"merged": model.ChangeMerged,
	"closed": model.ChangeClosed,
}

func (m gitlabMerge) change() model.ChangeRequest {
	return model.ChangeRequest{
		Number: m.Number, Title: m.Title, Author: m.Author.Username, WebURL: m.WebURL, State: gitlabChanges[m.State],
		HeadCommit: m.SHA, HeadRef: m.Source, FetchRef: fmt.Sprintf("refs/merge-requests/%d/head", m.Number),
		BaseRef: m.Target, BaseCommit: m.Refs.Base,
		Fork: m.SourceID != m.TargetID, UpdatedAt: m.UpdatedAt.UTC(),
	}
}

func gitlabAt(r model.Repository, parts ...any) string {
	return at(append([]any{"projects", r.HostID}, parts...)...)
}

// Branch implements Host.
func (h *gitlabHost) Branch(ctx context.Context, r model.Repository, name string) (string, error) {
	var b struct {
		Commit struct {
			ID string `json:"id"`
		} `json:"commit"`
	}
	if err := h.api.send(ctx, http.MethodGet, gitlabAt(r, "repository", "branches", name), nil, &b); err != nil {
		return "", err
	}
	return goodCommit(b.Commit.ID)
}

// ChangeRequests implements Host.
func (h *gitlabHost) ChangeRequests(ctx context.Context, r model.Repository) (out []model.ChangeRequest, err error) {
	return out, listed(ctx, h.api, func(n int) string {
		return gitlabAt(r, "merge_requests") + page(n, "state", "opened", "per_page", strconv.Itoa(perPage))
	}, func(list []gitlabMerge) (bool, error) {
		for _, m := range list {
			out = appendGood(out, m.change())
		}
		return len(list) == perPage && len(out) < maxOpen, nil
	})
}

func (h *gitlabHost) merge(ctx context.Context, r model.Repository, number int64) (m gitlabMerge, err error) {
	return m, h.api.send(ctx, http.MethodGet, gitlabAt(r, "merge_requests", number), nil, &m)
}

// ChangeRequest implements Host.
func (h *gitlabHost) ChangeRequest(ctx context.Context, r model.Repository, number int64) (model.ChangeRequest, error) {
	m, err := h.merge(ctx, r, number)
	if err != nil {
		return model.ChangeRequest{}, err
	}
	return goodChange(m.change())
}

// SetStatus implements Host. GitLab has no error state separate from failure, and rejects a
// repeated pending state.
func (h *gitlabHost) SetStatus(ctx context.Context, r model.Repository, commit string, s Status) error {
	word := map[StatusState]string{
		StatusPending: "pending",
		StatusSuccess: "success",
		StatusFailure: "failed",
		StatusError:   "failed",
	}[s.State]
	err := h.api.send(ctx, http.MethodPost, gitlabAt(r, "statuses", commit), map[string]string{
		"state": word, "name": s.Context, "target_url": s.URL, "description": s.Text,
	}, nil)
	var refused *HostError
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest && word == "pending" { // already pending
		return nil
	}
	return err
}

// Comments implements Host. It returns the notes of all discussions, except those of the system.
func (h *gitlabHost) Comments(ctx context.Context, r model.Repository, number int64) (out []Comment, err error) {
	return out, listed(ctx, h.api, func(n int) string {
		return gitlabAt(r, "merge_requests", number, "discussions") + page(n, "per_page", strconv.Itoa(perPage))
	}, func(list []gitlabDiscussion) (bool, error) {
		for _, d := range list {
			for _, n := range d.Notes {
				if n.System {
					continue
				}
				c := Comment{
					ID: strconv.FormatInt(n.ID, 10), Thread: d.ID, Author: n.Author.Username,
					AuthorID: idText(n.Author.ID), At: n.CreatedAt, Body: n.Body, Resolved: n.Resolved,
					Bot: gitlabBot.MatchString(n.Author.Username), Edited: rewritten(n.CreatedAt, n.UpdatedAt, bothTimes),
				}
				if n.Position != nil {
					c.Path, c.Line = n.Position.Path, n.Position.Line
				}
				out = append(out, c)
			}
		}
		return len(list) == perPage && len(out) < maxComments, nil
	})
}

// gitlabBot matches the names of the users of project and group tokens.
var gitlabBot = regexp.MustCompile(`^(project|group)_[0-9]+_bot`)

// AddComment implements Host. Each comment starts a discussion.
func (h *gitlabHost) AddComment(
	ctx context.Context, r model.Repository, to model.ChangeRequest, c Comment,
) (Comment, error) {
	body := map[string]any{"body": c.Body}
	if c.Path != "" {
		m, err := h.merge(ctx, r, to.Number)
		if err != nil {
			return c, err
		}
		body["position"] = map[string]any{
			"position_type": "text", "base_sha": m.Refs.Base, "head_sha": m.Refs.Head, "start_sha": m.Refs.Start,
			"new_path": c.Path, "old_path": c.Path, "new_line": c.Line,
		}
	}
	var made gitlabDiscussion
	err := h.api.send(ctx, http.MethodPost, gitlabAt(r, "merge_requests", to.Number, "discussions"), body, &made)
	if refused, is := errors.AsType[*HostError](err); is && refused.Status == http.StatusBadRequest && c.Path != "" {
		return c, fmt.Errorf("the line is not part of the change: %w", model.ErrConflict)
	}
	c.Thread = made.ID
	if len(made.Notes) > 0 {
		c.ID = strconv.FormatInt(made.Notes[0].ID, 10)
	}
	return c, err
}

// Reply implements Host.
func (h *gitlabHost) Reply(
	ctx context.Context, r model.Repository, on model.ChangeRequest, to Comment, body string,
) error {
	return h.api.send(ctx, http.MethodPost, gitlabAt(r, "merge_requests", on.Number, "discussions", to.Thread, "notes"),
		map[string]string{"body": body}, nil)
}

// EditComment implements Host.
func (h *gitlabHost) EditComment(ctx context.Context, r model.Repository, number int64, c Comment) error {
	return h.api.send(ctx, http.MethodPut, gitlabAt(r, "merge_requests", number, "discussions", c.Thread, "notes", c.ID),
		map[string]string{"body": c.Body}, nil)
}

// ResolveComment implements Host.
func (h *gitlabHost) ResolveComment(ctx context.Context, r model.Repository, number int64, c Comment) error {
	return h.api.send(ctx, http.MethodPut, gitlabAt(r, "merge_requests", number, "discussions", c.Thread), map[string]bool{
		"resolved": true,
	}, nil)
}

// Access levels of GitLab.
const (
	gitlabReporter   = 20
	gitlabDeveloper  = 30
	gitlabMaintainer = 40
)

// Permission implements Host.
func (h *gitlabHost) Permission(ctx context.Context, r model.Repository, login string) (Permission, Account, error) {
	of, err := h.User(ctx, login)
	if err != nil {
		return MayNothing, of, err
	}
	var member struct {
		Level int `json:"access_level"`
	}
	err = h.api.send(ctx, http.MethodGet, gitlabAt(r, "members", "all", of.ID), nil, &member)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return MayNothing, of, nil
	case member.Level >= gitlabMaintainer:
		return MayAdminister, of, err
	case member.Level >= gitlabDeveloper:
		return MayWrite, of, err
	case member.Level >= gitlabReporter:
		return MayRead, of, err
	}
	return MayNothing, of, err
}

// User implements Host.
func (h *gitlabHost) User(ctx context.Context, login string) (Account, error) {
	var users []gitlabUser
	if err := h.api.send(ctx, http.MethodGet, "/users"+page(1, "username", login), nil, &users); err != nil {
		return Account{}, err
	}
	if len(users) != 1 || !strings.EqualFold(users[0].Username, login) {
		return Account{}, fmt.Errorf("the host has no user %.100q: %w", login, model.ErrNotFound)
	}
	return users[0].account(), nil
}

func (u gitlabUser) account() Account { return Account{idText(u.ID), model.Line(u.Username)} }

// Hooks implements Host.
func (h *gitlabHost) Hooks(ctx context.Context, r model.Repository) (out []Hook, err error) {
	type hook struct {
		ID     int64  `json:"id"`
		URL    string `json:"url"`
		Alert  string `json:"alert_status"`
		Pushes bool   `json:"push_events"`
		Merges bool   `json:"merge_requests_events"`
		Notes  bool   `json:"note_events"`
	}
	return out, listed(ctx, h.api, func(n int) string {
		return gitlabAt(r, "hooks") + page(n, "per_page", strconv.Itoa(perPage))
	}, func(list []hook) (bool, error) {
		for _, one := range list {
			out = append(out, Hook{
				strconv.FormatInt(one.ID, 10), one.URL, one.Alert == "disabled", lackingGitlab(one.Pushes, one.Merges, one.Notes),
			})
		}
		return len(list) == perPage, nil
	})
}

// lackingGitlab returns the names of the events that a webhook does not send.
func lackingGitlab(pushes, merges, notes bool) string {
	var lacks []string
	for _, event := range []struct {
		name string
		sent bool
	}{{"push_events", pushes}, {"merge_requests_events", merges}, {"note_events", notes}} {
		if !event.sent {
			lacks = append(lacks, event.name)
		}
	}
	return strings.Join(lacks, ", ")
}

// AddHook implements Host.
func (h *gitlabHost) AddHook(ctx context.Context, r model.Repository, address, secret string) (string, error) {
	var hook struct {
		ID int64 `json:"id"`
	}
	err := h.api.send(ctx, http.MethodPost, gitlabAt(r, "hooks"), map[string]any{
		"url": address, "token": secret, "push_events": true,
		"merge_requests_events": true, "note_events": true, "enable_ssl_verification": true,
	}, &hook)
	return strconv.FormatInt(hook.ID, 10), err
}

// RemoveHook implements Host.
func (h *gitlabHost) RemoveHook(ctx context.Context, r model.Repository, id string) error {
	return unlessGone(h.api.send(ctx, http.MethodDelete, gitlabAt(r, "hooks", id), nil, nil))
}
