package scm

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// jiraHost is Jira Cloud or Jira Data Center. Data Center has an older version of the API and its
// own markup. Jira has issues but no repositories.
type jiraHost struct {
	noCode
	base string
	api  rest
}

func newJira(c Config, to model.Connection, credential model.HostCredential) *jiraHost {
	shown := "Bearer " + credential.Secret // a personal access token of Data Center
	if credential.Kind == model.CredentialPassword {
		shown = "Basic " + base64.StdEncoding.EncodeToString([]byte(credential.Username+":"+credential.Secret))
	}
	return &jiraHost{
		base: to.BaseURL,
		api:  rest{to.BaseURL + "/rest/api", c.client(askerOf(to, credential)), http.Header{"Authorization": {shown}}},
	}
}

// version returns the version of the API: 3 for Cloud, 2 for Data Center.
func (h *jiraHost) version(ctx context.Context) (string, error) {
	var server struct {
		Type string `json:"deploymentType"`
	}
	err := h.api.send(ctx, http.MethodGet, "/2/serverInfo", nil, &server)
	if server.Type == "Cloud" {
		return "3", err
	}
	return "2", err
}

// Who implements Host.
func (h *jiraHost) Who(ctx context.Context) (Account, error) {
	var u struct {
		AccountID string `json:"accountId"` // Cloud
		Key       string `json:"key"`       // Data Center
		Name      string `json:"displayName"`
	}
	if err := h.api.send(ctx, http.MethodGet, "/2/myself", nil, &u); err != nil {
		return Account{}, err
	}
	return Account{u.AccountID + u.Key, model.Line(u.Name)}, nil
}

// CreateTicket implements Tracker. The marker is a label, for which FindTicket searches.
func (h *jiraHost) CreateTicket(ctx context.Context, project string, d Draft) (Ticket, error) {
	version, err := h.version(ctx)
	if err != nil {
		return Ticket{}, err
	}
	fields := map[string]any{
		"project": map[string]string{"key": project}, "issuetype": map[string]string{"name": d.Type}, "summary": d.Title,
		"labels": append(append([]string{}, d.Labels...), d.Marker), "description": wiki(d.Parts),
	}
	if version == "3" {
		fields["description"] = adf(d.Parts)
	}
	var made struct {
		Key string `json:"key"`
	}
	if err := h.api.send(ctx, http.MethodPost, "/"+version+"/issue", map[string]any{"fields": fields}, &made); err != nil {
		return Ticket{}, err
	}
	return h.ticket(made.Key, false)
}

func (h *jiraHost) ticket(key string, closed bool) (Ticket, error) {
	t := Ticket{Key: key, Slug: key, URL: h.base + "/browse/" + key, Closed: closed}
	if parsed, err := model.ParseTicketURL(t.URL); err != nil || key == "" || parsed.Key != key {
		return t, fmt.Errorf("the host returned no key of the issue: %w", model.ErrUnavailable)
	}
	return t, nil
}

// jiraIssue contains the members of an issue that are used.
type jiraIssue struct {
	Key    string `json:"key"`
	Fields struct {
		Status struct {
			Category struct {
				Key string `json:"key"`
			} `json:"statusCategory"`
		} `json:"status"`
	} `json:"fields"`
}

func (i jiraIssue) closed() bool { return i.Fields.Status.Category.Key == "done" }

// FindTicket implements Tracker. It ignores the time, because markers are unique.
func (h *jiraHost) FindTicket(
	ctx context.Context, project, marker string, _ time.Time,
) (t Ticket, exists bool, err error) {
	version, err := h.version(ctx)
	if err != nil {
		return Ticket{}, false, err
	}
	path := "/2/search"
	if version == "3" {
		path = "/3/search/jql"
	}
	var found struct {
		Issues []jiraIssue `json:"issues"`
	}
	err = h.api.send(ctx, http.MethodPost, path, map[string]any{
		"jql":        fmt.Sprintf(`project = "%s" AND labels = "%s"`, project, marker),
		"maxResults": 1, "fields": []string{"status"},
	}, &found)
	if err != nil || len(found.Issues) == 0 {
		return Ticket{}, false, err
	}
	t, err = h.ticket(found.Issues[0].Key, found.Issues[0].closed())
	return t, err == nil, err
}

// Ticket implements Tracker.
func (h *jiraHost) Ticket(ctx context.Context, _, key string) (Ticket, error) {
	var i jiraIssue
	if err := h.api.send(ctx, http.MethodGet, at("2", "issue", key)+"?fields=status", nil, &i); err != nil {
		return Ticket{}, err
	}
	return h.ticket(i.Key, i.closed())
}

// node is a node of the Atlassian Document Format, which Cloud requires. Its text is not
// interpreted as markup.
type node map[string]any

func adf(parts []Part) node {
	content := []node{}
	for _, p := range parts {
		var line []node
		text := func(s string, marks ...node) {
			n := node{"type": "text", "text": s}
			if len(marks) > 0 {
				n["marks"] = marks
			}
			if s != "" {
				line = append(line, n)
			}
		}
		if p.Name != "" {
			text(p.Name+": ", node{"type": "strong"})
		}
		switch {
		case p.URL != "":
			text(p.Text, node{"type": "link", "attrs": node{"href": p.URL}})
		case p.Code:
			text(p.Text, node{"type": "code"})
		default:
			text(p.Text)
		}
		content = append(content, node{"type": "paragraph", "content": line})
	}
	return node{"type": "doc", "version": 1, "content": content}
}

// wikiMarkup lists the characters with a meaning in Jira's markup.
const wikiMarkup = `\{}[]()*_-+^~?|!@#:&`

// wiki writes parts in Jira's markup and escapes their text.
func wiki(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Name != "" {
			b.WriteString("*" + wikiText(p.Name) + ":* ")
		}
		switch {
		case p.URL != "":
			b.WriteString("[" + wikiText(p.Text) + "|" + p.URL + "]")
		case p.Code:
			b.WriteString("{{" + wikiText(p.Text) + "}}")
		default:
			b.WriteString(wikiText(p.Text))
		}
		b.WriteString("\n\n")
	}
	return strings.TrimSpace(b.String())
}

func wikiText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(wikiMarkup, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// noCode implements the operations of Host that require repositories. They return errors.
type noCode struct{}

var errNoCode = errors.Join(ErrUnsupported, errors.New("it stores issues only"))

func (noCode) Repositories(context.Context, func([]model.Repository) error) error { return nil }

func (noCode) Repository(context.Context, string) (model.Repository, error) {
	return model.Repository{}, errNoCode
}

func (noCode) Branch(context.Context, model.Repository, string) (string, error) {
	return "", errNoCode
}

func (noCode) ChangeRequests(context.Context, model.Repository) ([]model.ChangeRequest, error) {
	return nil, errNoCode
}

func (noCode) ChangeRequest(context.Context, model.Repository, int64) (model.ChangeRequest, error) {
	return model.ChangeRequest{}, errNoCode
}

func (noCode) SetStatus(context.Context, model.Repository, string, Status) error { return errNoCode }

func (noCode) Comments(context.Context, model.Repository, int64) ([]Comment, error) {
	return nil, errNoCode
}

func (noCode) AddComment(context.Context, model.Repository, model.ChangeRequest, Comment) (Comment, error) {
	return Comment{}, errNoCode
}

func (noCode) EditComment(context.Context, model.Repository, int64, Comment) error {
	return errNoCode
}

// Reply implements Host.
func (noCode) Reply(context.Context, model.Repository, model.ChangeRequest, Comment, string) error {
	return ErrUnsupported
}

func (noCode) ResolveComment(context.Context, model.Repository, int64, Comment) error {
	return errNoCode
}

func (noCode) Permission(context.Context, model.Repository, string) (Permission, Account, error) {
	return MayNothing, Account{}, errNoCode
}

func (noCode) User(context.Context, string) (Account, error) { return Account{}, errNoCode }

func (noCode) Hooks(context.Context, model.Repository) ([]Hook, error) { return nil, errNoCode }

func (noCode) AddHook(context.Context, model.Repository, string, string) (string, error) {
	return "", errNoCode
}

func (noCode) RemoveHook(context.Context, model.Repository, string) error { return nil }
