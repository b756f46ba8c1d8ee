package scm

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/google/go-github/v92/github"

	"github.com/redoubt/redoubt/internal/model"
)

// githubHost is GitHub, or GitHub Enterprise Server.
type githubHost struct {
	base string
	api  *github.Client
	app  bool // authenticated as an installation of an app, which has no user and its own list of repositories
}

// githubAPI returns the base URL of the API of a GitHub instance.
func githubAPI(base string) string {
	if u, err := url.Parse(base); err == nil && u.Hostname() == "github.com" {
		return "https://api.github.com/"
	}
	return base + "/api/v3/"
}

func newGitHub(c Config, to model.Connection, credential model.HostCredential) (*githubHost, error) {
	who, api := askerOf(to, credential), githubAPI(to.BaseURL)
	client := c.client(who)
	options := []github.ClientOptionsFunc{github.WithURLs(&api, &api), github.WithDisableRateLimitCheck()}
	if credential.Kind == model.CredentialApp {
		key, err := appKey(credential.Secret)
		if err != nil {
			return nil, err
		}
		client.Transport = &appTransport{
			base:         client.Transport,
			key:          key,
			app:          credential.AppID,
			installation: credential.InstallationID,
			api:          api,
			clock:        c.Clock,
			who:          who,
			tokens:       cmp.Or(c.Tokens, NewTokens()),
		}
	} else {
		options = append(options, github.WithAuthToken(credential.Secret))
	}
	g, err := github.NewClient(append(options, github.WithHTTPClient(client))...)
	if err != nil {
		return nil, fmt.Errorf("invalid address of the host: %w", err)
	}
	return &githubHost{to.BaseURL, g, credential.Kind == model.CredentialApp}, nil
}

// Who implements Host. The account of an app is the bot user that writes its comments.
func (h *githubHost) Who(ctx context.Context) (Account, error) {
	if h.app {
		var app github.App
		q, err := h.api.NewRequest(ctx, "GET", "app", nil)
		if err == nil {
			_, err = h.api.Do(q, &app)
		}
		return Account{strconv.FormatInt(app.GetID(), 10), model.Line(app.GetSlug() + "[bot]")}, explained(err)
	}
	u, _, err := h.api.Users.Get(ctx, "")
	return githubAccount(u), explained(err)
}

func githubRepository(r *github.Repository) model.Repository {
	return model.Repository{
		HostID: strconv.FormatInt(r.GetID(), 10), FullName: r.GetFullName(), DefaultBranch: r.GetDefaultBranch(),
		Archived: r.GetArchived(), Private: r.GetPrivate(), WebURL: r.GetHTMLURL(),
	}
}

// Repositories implements Host.
func (h *githubHost) Repositories(ctx context.Context, handle func([]model.Repository) error) error {
	return turned(func(options github.ListOptions) (*github.Response, error) {
		var list []*github.Repository
		var answer *github.Response
		var err error
		if h.app {
			var found *github.ListRepositories
			if found, answer, err = h.api.Apps.ListRepos(ctx, &options); err == nil {
				list = found.Repositories
			}
		} else {
			list, answer, err = h.api.Repositories.ListByAuthenticatedUser(ctx, &github.RepositoryListByAuthenticatedUserOptions{
				ListOptions: options,
			})
		}
		if err != nil {
			return answer, err
		}
		return answer, handle(good(h.base, list, githubRepository))
	})
}

// turned requests the pages of a list in order.
func turned(fetch func(github.ListOptions) (*github.Response, error)) error {
	for n := 1; n != 0; {
		if n > maxPages {
			return fmt.Errorf("the host's list has too many pages: %w", model.ErrTooLarge)
		}
		answer, err := fetch(github.ListOptions{Page: n, PerPage: perPage})
		if err != nil {
			return explained(err)
		}
		if answer.NextPage != 0 && answer.NextPage <= n { // the host's next page is not after the current one
			return nil
		}
		n = answer.NextPage
	}
	return nil
}

// Repository implements Host.
func (h *githubHost) Repository(ctx context.Context, hostID string) (model.Repository, error) {
	id, err := strconv.ParseInt(hostID, 10, 64)
	if err != nil {
		return model.Repository{}, fmt.Errorf("repository %.40q: %w", hostID, model.ErrNotFound)
	}
	r, _, err := h.api.Repositories.GetByID(ctx, id)
	if err != nil {
		return model.Repository{}, explained(err)
	}
	return onlyGood(h.base, githubRepository(r))
}

func githubChange(p *github.PullRequest) model.ChangeRequest {
	out := model.ChangeRequest{
		Number: int64(p.GetNumber()), Title: p.GetTitle(),
		Author: p.GetUser().GetLogin(), WebURL: p.GetHTMLURL(), State: model.ChangeOpen,
		HeadCommit: p.GetHead().GetSHA(), HeadRef: p.GetHead().GetRef(),
		FetchRef: fmt.Sprintf("refs/pull/%d/head", p.GetNumber()),
		BaseRef:  p.GetBase().GetRef(), Fork: p.GetHead().GetRepo().GetID() != p.GetBase().GetRepo().GetID(),
		UpdatedAt: p.GetUpdatedAt().UTC(),
	}
	switch {
	case p.GetMerged() || p.MergedAt != nil:
		out.State = model.ChangeMerged
	case p.GetState() != "open":
		out.State = model.ChangeClosed
	}
	return out
}

// Branch implements Host.
func (h *githubHost) Branch(ctx context.Context, r model.Repository, name string) (string, error) {
	owner, of := ownerAndName(r)
	ref, _, err := h.api.Git.GetRef(ctx, owner, of, "heads/"+name)
	if err != nil {
		return "", explained(err)
	}
	return goodCommit(ref.GetObject().GetSHA())
}

// ChangeRequests implements Host.
func (h *githubHost) ChangeRequests(ctx context.Context, r model.Repository) (out []model.ChangeRequest, err error) {
	owner, name := ownerAndName(r)
	return out, turned(func(options github.ListOptions) (*github.Response, error) {
		list, answer, err := h.api.PullRequests.List(ctx, owner, name, &github.PullRequestListOptions{
			State:       "open",
			ListOptions: options,
		})
		for _, p := range list {
			if err := sameRepository(r, p.GetBase().GetRepo().GetID()); err != nil {
				return answer, err
			}
			out = appendGood(out, githubChange(p))
		}
		return enough(answer, len(out) >= maxOpen), err
	})
}

// enough marks a response as the last page if is is true.
func enough(answer *github.Response, is bool) *github.Response {
	if is && answer != nil {
		answer.NextPage = 0
	}
	return answer
}

// ChangeRequest implements Host.
func (h *githubHost) ChangeRequest(ctx context.Context, r model.Repository, number int64) (model.ChangeRequest, error) {
	owner, name := ownerAndName(r)
	p, _, err := h.api.PullRequests.Get(ctx, owner, name, int(number))
	if err != nil {
		return model.ChangeRequest{}, explained(err)
	}
	if err := sameRepository(r, p.GetBase().GetRepo().GetID()); err != nil {
		return model.ChangeRequest{}, err
	}
	return goodChange(githubChange(p))
}

// SetStatus implements Host.
func (h *githubHost) SetStatus(ctx context.Context, r model.Repository, commit string, s Status) error {
	owner, name := ownerAndName(r)
	status := github.RepoStatus{
		State:       new(statusWord[s.State]),
		Context:     new(s.Context),
		Description: new(model.Shorten(s.Text, 140)),
	}
	if s.URL != "" {
		status.TargetURL = new(s.URL)
	}
	_, _, err := h.api.Repositories.CreateStatus(ctx, owner, name, commit, status)
	return explained(err)
}

// Comments implements Host.
func (h *githubHost) Comments(ctx context.Context, r model.Repository, number int64) (out []Comment, err error) {
	owner, name := ownerAndName(r)
	err = turned(func(options github.ListOptions) (*github.Response, error) {
		list, answer, err := h.api.Issues.ListComments(ctx, owner, name, int(number), &github.IssueListCommentsOptions{
			ListOptions: options,
		})
		for _, c := range list {
			out = append(out, Comment{
				ID: strconv.FormatInt(c.GetID(), 10), Author: c.GetUser().GetLogin(),
				AuthorID: idText(c.GetUser().GetID()), At: c.GetCreatedAt().Time, Body: c.GetBody(),
				Bot: isGitHubBot(c.GetUser()), Edited: rewritten(c.GetCreatedAt().Time, c.GetUpdatedAt().Time, 0),
			})
		}
		return enough(answer, len(out) >= maxComments), err
	})
	if err != nil {
		return nil, err
	}
	return out, turned(func(options github.ListOptions) (*github.Response, error) {
		list, answer, err := h.api.PullRequests.ListComments(ctx, owner, name, int(number),
			&github.PullRequestListCommentsOptions{ListOptions: options})
		for _, c := range list {
			out = append(out, Comment{
				ID: strconv.FormatInt(c.GetID(), 10), Thread: strconv.FormatInt(cmp.Or(c.GetInReplyTo(), c.GetID()), 10),
				Author: c.GetUser().GetLogin(), AuthorID: idText(c.GetUser().GetID()), At: c.GetCreatedAt().Time, Body: c.GetBody(),
				Path: c.GetPath(), Line: c.GetLine(), Bot: isGitHubBot(c.GetUser()),
				Edited: rewritten(c.GetCreatedAt().Time, c.GetUpdatedAt().Time, 0),
			})
		}
		return enough(answer, len(out) >= maxComments), err
	})
}

// AddComment implements Host.
func (h *githubHost) AddComment(
	ctx context.Context, r model.Repository, to model.ChangeRequest, c Comment,
) (Comment, error) {
	owner, name := ownerAndName(r)
	if c.Path == "" {
		made, _, err := h.api.Issues.CreateComment(ctx, owner, name, int(to.Number), github.IssueCommentRequest{Body: c.Body})
		c.ID = strconv.FormatInt(made.GetID(), 10)
		return c, explained(err)
	}
	made, _, err := h.api.PullRequests.CreateComment(ctx, owner, name, int(to.Number),
		github.CreatePullRequestCommentRequest{
			Body: c.Body, CommitID: to.HeadCommit, Path: c.Path, Line: new(c.Line), Side: new("RIGHT"),
		})
	c.ID = strconv.FormatInt(made.GetID(), 10)
	return c, explained(err)
}

func isGitHubBot(u *github.User) bool { return u.GetType() == "Bot" }

// Reply implements Host.
func (h *githubHost) Reply(
	ctx context.Context, r model.Repository, on model.ChangeRequest, to Comment, body string,
) error {
	thread, err := strconv.ParseInt(to.Thread, 10, 64)
	if to.Path == "" || err != nil {
		_, err = h.AddComment(ctx, r, on, Comment{Body: body})
		return err
	}
	owner, name := ownerAndName(r)
	_, _, err = h.api.PullRequests.CreateCommentInReplyTo(ctx, owner, name, int(on.Number), body, thread)
	return explained(err)
}

// EditComment implements Host.
func (h *githubHost) EditComment(ctx context.Context, r model.Repository, _ int64, c Comment) error {
	owner, name := ownerAndName(r)
	id, err := strconv.ParseInt(c.ID, 10, 64)
	switch {
	case err != nil:
	case c.Path == "":
		_, _, err = h.api.Issues.UpdateComment(ctx, owner, name, id, github.IssueCommentRequest{Body: c.Body})
	default:
		_, _, err = h.api.PullRequests.UpdateComment(
			ctx, owner, name, id, github.UpdatePullRequestCommentRequest{Body: c.Body},
		)
	}
	return explained(err)
}

// ResolveComment implements Host. Only GitHub's GraphQL API supports it.
func (h *githubHost) ResolveComment(context.Context, model.Repository, int64, Comment) error {
	return ErrUnsupported
}

// Permission implements Host. It requests the current name of the repository first.
func (h *githubHost) Permission(ctx context.Context, r model.Repository, login string) (Permission, Account, error) {
	now, err := h.Repository(ctx, r.HostID)
	if err != nil {
		return MayNothing, Account{}, err
	}
	owner, name := ownerAndName(now)
	level, _, err := h.api.Repositories.GetPermissionLevel(ctx, owner, name, login)
	return permissions[level.GetPermission()], githubAccount(level.GetUser()), explained(err)
}

// User implements Host.
func (h *githubHost) User(ctx context.Context, login string) (Account, error) {
	if login == "" { // an empty login would return the account itself
		return Account{}, model.ErrNotFound
	}
	u, _, err := h.api.Users.Get(ctx, url.PathEscape(login))
	return githubAccount(u), explained(err)
}

func githubAccount(u *github.User) Account {
	return Account{idText(u.GetID()), model.Line(u.GetLogin())}
}

// githubEvents are the events that a webhook must send.
var githubEvents = []string{"push", "pull_request", "issue_comment", "pull_request_review_comment", "repository"}

// Hooks implements Host.
func (h *githubHost) Hooks(ctx context.Context, r model.Repository) (out []Hook, err error) {
	owner, name := ownerAndName(r)
	return out, turned(func(options github.ListOptions) (*github.Response, error) {
		list, answer, err := h.api.Repositories.ListHooks(ctx, owner, name, &options)
		for _, one := range list {
			out = append(out, Hook{
				strconv.FormatInt(one.GetID(), 10), one.GetConfig().GetURL(),
				one.Active != nil && !*one.Active, lacking(githubEvents, one.Events),
			})
		}
		return answer, err
	})
}

// AddHook implements Host.
func (h *githubHost) AddHook(ctx context.Context, r model.Repository, address, secret string) (string, error) {
	owner, name := ownerAndName(r)
	hook, _, err := h.api.Repositories.CreateHook(ctx, owner, name, &github.Hook{
		Active: new(true), Events: githubEvents,
		Config: &github.HookConfig{ContentType: new("json"), URL: new(address), Secret: new(secret)},
	})
	return strconv.FormatInt(hook.GetID(), 10), explained(err)
}

// RemoveHook implements Host.
func (h *githubHost) RemoveHook(ctx context.Context, r model.Repository, id string) error {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return err
	}
	owner, name := ownerAndName(r)
	_, err = h.api.Repositories.DeleteHook(ctx, owner, name, number)
	return unlessGone(explained(err))
}
