package scm

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"

	"github.com/redoubt/redoubt/internal/model"
)

// Tracker is a host with issues. A project is the full name of a repository or a key of a Jira
// project. Errors are as for Host.
type Tracker interface {
	Host
	// CreateTicket creates an issue.
	CreateTicket(ctx context.Context, project string, d Draft) (Ticket, error)
	// FindTicket returns the issue that contains a marker, and whether it was found. It searches
	// the newest issues changed since a time. A missing project is an error.
	FindTicket(ctx context.Context, project, marker string, since time.Time) (t Ticket, found bool, err error)
	// Ticket returns an issue by its number, or by its key at Jira.
	Ticket(ctx context.Context, project, key string) (Ticket, error)
}

// Ticket is an issue.
type Ticket struct {
	Key    string // number, or key at Jira
	Slug   string // displayed name
	URL    string
	Closed bool
}

// Draft is an issue to create.
type Draft struct {
	Title    string // one line
	Markdown string // text that contains the marker, for hosts with Markdown
	Parts    []Part // the same text for Jira
	Marker   string // one word
	Labels   []string
	Type     string // type of the issue at Jira
}

// Part is a paragraph: a label, and a text that may be untrusted. Text with Code set is displayed
// as code, and text with a URL is a link.
type Part struct {
	Name, Text, URL string
	Code            bool
}

// maxSearched is the number of issues in which a marker is searched, and maxSearchedPages the
// number of pages.
const (
	maxSearched      = 500
	maxSearchedPages = 10
)

// issue contains the members of an issue of Gitea or GitLab that are used.
type issue struct {
	Number      int64  `json:"number"` // Gitea
	IID         int64  `json:"iid"`    // GitLab
	State       string `json:"state"`
	HTMLURL     string `json:"html_url"`
	WebURL      string `json:"web_url"`
	Body        string `json:"body"`
	Description string `json:"description"`
}

// goodTicket returns a ticket, or an error if its URL is not a valid link.
func goodTicket(project string, number int64, address string, closed bool) (Ticket, error) {
	t := Ticket{Key: strconv.FormatInt(number, 10), Slug: fmt.Sprint(project, "#", number), URL: address, Closed: closed}
	if _, err := model.ParseTicketURL(address); err != nil || number <= 0 {
		return t, fmt.Errorf("the host returned no address of the issue: %w", model.ErrUnavailable)
	}
	return t, nil
}

func repositoryAt(project string) model.Repository { return model.Repository{FullName: project} }

// CreateTicket implements Tracker. It omits labels that the repository does not have, because the
// account may lack the permission to create them.
func (h *giteaHost) CreateTicket(ctx context.Context, project string, d Draft) (Ticket, error) {
	r := repositoryAt(project)
	ids := []int64{}
	if len(d.Labels) > 0 {
		type label struct {
			ID   int64  `json:"id"`
			Name string `json:"name"`
		}
		err := listed(ctx, h.api, func(n int) string {
			return giteaAt(r, "labels") + page(n, "limit", strconv.Itoa(perPage))
		}, func(list []label) (bool, error) {
			for _, l := range list {
				if slices.Contains(d.Labels, l.Name) {
					ids = append(ids, l.ID)
				}
			}
			return true, nil
		})
		if err != nil {
			return Ticket{}, err
		}
	}
	var made issue
	err := h.api.send(ctx, http.MethodPost, giteaAt(r, "issues"), map[string]any{
		"title":  d.Title,
		"body":   d.Markdown,
		"labels": ids,
	}, &made)
	if err != nil {
		return Ticket{}, err
	}
	return goodTicket(project, made.Number, made.HTMLURL, false)
}

// FindTicket implements Tracker.
func (h *giteaHost) FindTicket(ctx context.Context, project, marker string, since time.Time) (Ticket, bool, error) {
	return marked(ctx, h.api, marker, func(n int) string {
		return giteaAt(repositoryAt(project), "issues") +
			page(n, "type", "issues", "state", "all", "since", since.UTC().Format(time.RFC3339), "limit", strconv.Itoa(perPage))
	}, func(i issue) (Ticket, error) {
		return goodTicket(project, i.Number, i.HTMLURL, i.State == "closed")
	})
}

// marked searches pages of issues for a marker.
func marked(
	ctx context.Context, api rest, marker string, path func(int) string, read func(issue) (Ticket, error),
) (found Ticket, exists bool, err error) {
	seen, pages := 0, 0
	err = listed(ctx, api, path, func(list []issue) (bool, error) {
		seen, pages = seen+len(list), pages+1
		for _, i := range list {
			if strings.Contains(i.Body, marker) || strings.Contains(i.Description, marker) {
				exists = true
				found, err = read(i)
				return false, err
			}
		}
		return seen < maxSearched && pages < maxSearchedPages, nil
	})
	return found, exists && err == nil, err
}

// Ticket implements Tracker.
func (h *giteaHost) Ticket(ctx context.Context, project, key string) (Ticket, error) {
	var i issue
	if err := h.api.send(ctx, http.MethodGet, giteaAt(repositoryAt(project), "issues", key), nil, &i); err != nil {
		return Ticket{}, err
	}
	return goodTicket(project, i.Number, i.HTMLURL, i.State == "closed")
}

// CreateTicket implements Tracker. The issue is confidential, so that only members of a public
// project can read it.
func (h *gitlabHost) CreateTicket(ctx context.Context, project string, d Draft) (Ticket, error) {
	body := map[string]any{
		"title":        d.Title,
		"description":  d.Markdown,
		"confidential": true,
		"labels":       strings.Join(d.Labels, ","),
	}
	var made issue
	if err := h.api.send(ctx, http.MethodPost, at("projects", project, "issues"), body, &made); err != nil {
		return Ticket{}, err
	}
	return goodTicket(project, made.IID, made.WebURL, false)
}

// FindTicket implements Tracker.
func (h *gitlabHost) FindTicket(ctx context.Context, project, marker string, since time.Time) (Ticket, bool, error) {
	return marked(ctx, h.api, marker, func(n int) string {
		return at("projects", project, "issues") + page(n, "state", "all", "scope", "all", "updated_after",
			since.UTC().Format(time.RFC3339), "per_page", strconv.Itoa(perPage))
	}, func(i issue) (Ticket, error) { return goodTicket(project, i.IID, i.WebURL, i.State == "closed") })
}

// Ticket implements Tracker.
func (h *gitlabHost) Ticket(ctx context.Context, project, key string) (Ticket, error) {
	var i issue
	if err := h.api.send(ctx, http.MethodGet, at("projects", project, "issues", key), nil, &i); err != nil {
		return Ticket{}, err
	}
	return goodTicket(project, i.IID, i.WebURL, i.State == "closed")
}

func githubTicket(project string, i *github.Issue) (Ticket, error) {
	return goodTicket(project, int64(i.GetNumber()), i.GetHTMLURL(), i.GetState() == "closed")
}

// githubPath returns the escaped owner and name of a repository. The project of a ticket may be
// from a link that a user entered.
func githubPath(project string) (owner, name string) {
	owner, name = ownerAndName(repositoryAt(project))
	return strings.TrimPrefix(at(owner), "/"), strings.TrimPrefix(at(name), "/")
}

// CreateTicket implements Tracker.
func (h *githubHost) CreateTicket(ctx context.Context, project string, d Draft) (Ticket, error) {
	owner, name := githubPath(project)
	labels := append([]string{}, d.Labels...)
	made, _, err := h.api.Issues.Create(ctx, owner, name, github.CreateIssueRequest{
		Title:  d.Title,
		Body:   new(d.Markdown),
		Labels: labels,
	})
	if err != nil {
		return Ticket{}, explained(err)
	}
	return githubTicket(project, made)
}

// FindTicket implements Tracker. It reads the list of issues, because GitHub's search index is
// updated with a delay.
func (h *githubHost) FindTicket(
	ctx context.Context, project, marker string, since time.Time,
) (found Ticket, exists bool, err error) {
	owner, name := githubPath(project)
	seen, pages := 0, 0
	err = turned(func(options github.ListOptions) (*github.Response, error) {
		list, answer, err := h.api.Issues.ListByRepo(ctx, owner, name, &github.IssueListByRepoOptions{
			State:       "all",
			Since:       since,
			ListOptions: options,
		})
		seen, pages = seen+len(list), pages+1
		for _, i := range list {
			if err == nil && found.Key == "" && strings.Contains(i.GetBody(), marker) {
				found, err = githubTicket(project, i)
			}
		}
		return enough(answer, found.Key != "" || seen >= maxSearched || pages >= maxSearchedPages), err
	})
	return found, found.Key != "" && err == nil, err
}

// Ticket implements Tracker.
func (h *githubHost) Ticket(ctx context.Context, project, key string) (Ticket, error) {
	number, err := strconv.Atoi(key)
	if err != nil {
		return Ticket{}, fmt.Errorf("issue %.40q: %w", key, model.ErrNotFound)
	}
	owner, name := githubPath(project)
	i, _, err := h.api.Issues.Get(ctx, owner, name, number)
	if err != nil {
		return Ticket{}, explained(err)
	}
	return githubTicket(project, i)
}
