package managed

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// connectionRow is a connection in the list.
type connectionRow struct {
	model.Connection
	store.RepositoryCount
}

// connectionsView is the data of the connections page.
type connectionsView struct {
	Rows  []connectionRow
	Form  connectionForm
	Fault string
	Done  *ui.Message

	Tickets       model.TicketSetting
	TicketTracker string // name of the connection in the ticket setting; empty: none
}

// connectionForm is the form of a connection, without its credential.
type connectionForm struct {
	Name, Kind, BaseURL, Username, KnownHosts, Follow string
}

// Kinds returns the supported kinds of hosts.
func (connectionForm) Kinds() []model.HostKind { return model.HostKinds() }

// Label returns the display name of a kind of host.
func (connectionForm) Label(kind model.HostKind) string { return hostLabels[kind] }

var hostLabels = map[model.HostKind]string{
	model.HostGitea: "Gitea or Forgejo", model.HostGitHub: "GitHub", model.HostGitLab: "GitLab",
	model.HostGit: "Any git remote", model.HostJira: "Jira (tickets only)",
}

func connections(req *ui.Request) error {
	return showConnections(req, http.StatusOK, connectionsView{
		Form: connectionForm{Kind: model.HostGitea.String()},
		Done: ui.DoneMessage(doneManaged, req.HTTP.URL.Query().Get("done")),
	})
}

func showConnections(req *ui.Request, status int, v connectionsView) error {
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Connections(ctx)
		if err != nil {
			return err
		}
		if v.Tickets, err = tx.TicketSetting(ctx); err != nil {
			return err
		}
		counts, err := tx.CountRepositories(ctx)
		for _, c := range list {
			v.Rows = append(v.Rows, connectionRow{c, counts[c.ID]})
			if c.ID == v.Tickets.ConnectionID {
				v.TicketTracker = c.Name
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "connections", Title: "Connections", Section: "connections", Data: v})
}

// hosts returns the client of code hosts, or model.ErrUnavailable.
func hosts(req *ui.Request) (ui.CodeHosts, error) {
	if req.CodeHosts == nil {
		return nil, model.ErrUnavailable
	}
	return req.CodeHosts, nil
}

// hooksAt returns the address at which code hosts reach the server, or "" if none is configured.
func hooksAt(req *ui.Request) string {
	if req.CodeHosts == nil {
		return ""
	}
	return req.CodeHosts.HooksAt()
}

// saveConnection stores the result of a request to a host.
func saveConnection(req *ui.Request, save store.SaveConnection) (c model.Connection, err error) {
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		c, err = save(ctx, tx)
		return err
	})
	return c, err
}

// credentialOf returns the credential in a form. It is zero if the secret is empty.
func credentialOf(kind model.HostKind, username, secret, knownHosts string) (c model.HostCredential) {
	username, secret, knownHosts = strings.TrimSpace(username), strings.TrimSpace(secret), strings.TrimSpace(knownHosts)
	switch {
	case secret == "":
		return c
	case kind == model.HostJira && username != "": // Jira Cloud
		return model.HostCredential{Kind: model.CredentialPassword, Username: username, Secret: secret}
	case kind != model.HostGit:
		return model.HostCredential{Kind: model.CredentialToken, Secret: secret}
	case knownHosts != "":
		return model.HostCredential{
			Kind:       model.CredentialSSHKey,
			Secret:     strings.ReplaceAll(secret, "\r", "") + "\n",
			KnownHosts: knownHosts,
		}
	}
	return model.HostCredential{Kind: model.CredentialPassword, Username: username, Secret: secret}
}

// addConnection creates a connection after its host has responded.
func addConnection(req *ui.Request, form url.Values) error {
	v := connectionsView{Form: connectionForm{
		Name: strings.TrimSpace(model.Line(form.Get("name"))), Kind: form.Get("kind"),
		BaseURL:  strings.TrimSuffix(strings.TrimSpace(form.Get("base_url")), "/"),
		Username: form.Get("username"), KnownHosts: form.Get("known_hosts"), Follow: form.Get("follow"),
	}}
	hosts, err := hosts(req)
	if err != nil {
		return err
	}
	kind, _ := model.ParseHostKind(v.Form.Kind)
	wanted := model.Connection{Kind: kind, Name: v.Form.Name, BaseURL: v.Form.BaseURL, Follow: ui.Lines(v.Form.Follow)}
	save, err := hosts.PrepareAdd(
		req.HTTP.Context(), wanted, credentialOf(kind, v.Form.Username, form.Get("secret"), v.Form.KnownHosts),
	)
	var made model.Connection
	if err == nil {
		made, err = saveConnection(req, save)
	}
	if message, ok := ui.InputError(err); ok {
		v.Fault = message
		return showConnections(req, http.StatusBadRequest, v)
	}
	return ui.RedirectAfter(req, err, connectionPath(made.ID, "connected"))
}

func connectionPath(id int64, did string) string {
	path := ui.ConnectionsPath + "/" + ui.Decimal(id)
	if did != "" {
		path += "?done=" + did
	}
	return path
}

const repositoriesPerPage = 50

// connectionView is a connection with its repositories and received webhooks.
type connectionView struct {
	connectionRow
	Repositories []repositoryRow
	Deliveries   []store.Delivery
	Pages        ui.Pager
	HooksAt      string // address at which hosts reach the server; empty if none is configured
	Filled       string // rejected value of the field for people
	Fault        string
	Done         *ui.Message
}

// repositoryRow is a repository in a list.
type repositoryRow struct {
	model.Repository
	Project string
	Quiet   string // events that its webhook does not send; empty: none
}

// SendsElsewhere returns an address of other servers to which webhooks send, or an empty string.
func (v connectionView) SendsElsewhere() string { return v.Elsewhere(v.HooksAt) }

// Globs returns the globs of followed repositories, one a line.
func (v connectionView) Globs() string { return strings.Join(v.Follow, "\n") }

// Linked returns the linked users of the connection, one a line, or the rejected input.
func (v connectionView) Linked() string {
	if v.Filled != "" {
		return v.Filled
	}
	var b strings.Builder
	for _, login := range slices.Sorted(maps.Keys(v.People)) {
		b.WriteString(login + " = " + v.People[login].User + "\n")
	}
	return b.String()
}

// ReplyPolicies returns the available policies for decisions by reply.
func (connectionView) ReplyPolicies() []model.ReplyPolicy { return model.ReplyPolicies() }

// ReplyLabel returns the display name of a reply policy.
func (connectionView) ReplyLabel(p model.ReplyPolicy) string { return replyLabels[p] }

var replyLabels = map[model.ReplyPolicy]string{
	model.RepliesLinked:        "linked users with write access",
	model.RepliesCollaborators: "all users with write access", model.RepliesOff: "off",
}

// KindLabel returns the display name of the host's kind.
func (r connectionRow) KindLabel() string { return hostLabels[r.Kind] }

// Blank returns an empty form for another credential.
func (connectionView) Blank() connectionForm { return connectionForm{} }

func connection(req *ui.Request) error {
	return showConnection(req, http.StatusOK, "")
}

func showConnection(req *ui.Request, status int, fault string) error {
	page, err := ui.PageOf(req.HTTP.URL.Query())
	if err != nil {
		return err
	}
	v := connectionView{
		HooksAt: hooksAt(req),
		Filled:  req.HTTP.PostForm.Get("people"),
		Fault:   fault,
		Done:    ui.DoneMessage(doneManaged, req.HTTP.URL.Query().Get("done")),
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		if v.Connection, err = tx.Connection(ctx, req.PathID); err != nil {
			return err
		}
		counts, err := tx.CountRepositories(ctx)
		if err != nil {
			return err
		}
		v.RepositoryCount = counts[req.PathID]
		list, _, err := tx.RepositoryPage(ctx, store.RepositoryQuery{
			ConnectionID: req.PathID,
			Skip:         (page - 1) * repositoriesPerPage,
			Limit:        repositoriesPerPage,
		})
		if err != nil {
			return err
		}
		v.Pages = ui.NewPager(page, repositoriesPerPage, v.Seen, func(n int) string {
			return req.To(connectionPath(req.PathID, "")) + "?page=" + strconv.Itoa(n)
		})
		ids := model.Map(list, func(r model.Repository) int64 { return r.ProjectID })
		names, err := tx.ProjectNames(ctx, ids)
		if err != nil {
			return err
		}
		for _, r := range list {
			v.Repositories = append(v.Repositories, repositoryRow{r, names[r.ProjectID], r.HookProblem(tx.Now())})
		}
		v.Deliveries, _, err = tx.Deliveries(ctx, store.DeliveryQuery{ConnectionID: req.PathID, Limit: 20})
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "connection", Title: v.Name, Section: "connections", Data: v})
}

// applyChange applies do to the connection in the path and redirects to it. Errors that the user can
// correct are shown there.
func applyChange(req *ui.Request, did string, do func(id int64) error) error {
	err := do(req.PathID)
	if message, ok := ui.InputError(err); ok {
		return showConnection(req, http.StatusBadRequest, message)
	}
	return ui.RedirectAfter(req, err, connectionPath(req.PathID, did))
}

// applyAtHost is settled for actions that send a request to the host.
func applyAtHost(
	req *ui.Request, did string, prepare func(hosts ui.CodeHosts, id int64) (store.SaveConnection, error),
) error {
	return applyChange(req, did, func(id int64) error {
		hosts, err := hosts(req)
		if err != nil {
			return err
		}
		save, err := prepare(hosts, id)
		if err == nil {
			_, err = saveConnection(req, save)
		}
		return err
	})
}

// testConnection tests the host; the page shows the result.
func testConnection(req *ui.Request) error {
	return applyAtHost(req, "tested", func(hosts ui.CodeHosts, id int64) (store.SaveConnection, error) {
		save, _, err := hosts.PrepareCheck(req.HTTP.Context(), req.Viewer.Deployment.ID, id)
		return save, err
	})
}

// changeConnection changes the name, the followed repositories and the replies of a connection.
func changeConnection(req *ui.Request, form url.Values) error {
	change := model.ConnectionChange{
		Name:   new(strings.TrimSpace(model.Line(form.Get("name")))),
		Follow: new(ui.Lines(form.Get("follow"))),
	}
	if form.Has("replies") { // hosts without change requests have no such field
		policy, is := model.ParseReplyPolicy(form.Get("replies"))
		people, err := model.ParseHostPeople(ui.Lines(form.Get("people")))
		if !is {
			err = model.Invalid("replies", "must be one of the choices")
		}
		if message, ok := ui.InputError(err); ok {
			return showConnection(req, http.StatusBadRequest, message)
		}
		change.Replies, change.People = &policy, &people
	}
	return applyAtHost(req, "connection-saved", func(hosts ui.CodeHosts, id int64) (store.SaveConnection, error) {
		var kind model.HostKind
		err := req.View(func(ctx context.Context, tx *store.Tx) error {
			c, err := tx.Connection(ctx, id)
			kind = c.Kind
			return err
		})
		if err != nil {
			return nil, err
		}
		if credential := credentialOf(kind, form.Get("username"), form.Get("secret"),
			form.Get("known_hosts")); credential.Secret != "" {
			change.Credential = &credential
		}
		return hosts.PrepareUpdate(req.HTTP.Context(), req.Viewer.Deployment.ID, id, change)
	})
}

// chooseRepositories follows or unfollows the selected repositories.
func chooseRepositories(req *ui.Request, form url.Values) error {
	globs := form["name"]
	if len(globs) == 0 {
		return showConnection(req, http.StatusBadRequest, "no repository selected: select at least one")
	}
	did, choose := "followed", func(ctx context.Context, tx *store.Tx, id int64) error {
		_, err := tx.FollowRepositories(ctx, id, globs)
		return err
	}
	if form.Get("do") == "left" {
		did, choose = "left", func(ctx context.Context, tx *store.Tx, id int64) error {
			_, err := tx.LeaveRepositories(ctx, id, globs)
			return err
		}
	}
	return applyChange(req, did, func(id int64) error {
		return req.Update(func(ctx context.Context, tx *store.Tx) error { return choose(ctx, tx, id) })
	})
}

// hookConnection creates the webhooks of a connection, or recreates that of one repository.
func hookConnection(req *ui.Request, form url.Values) error {
	repository := int64(0)
	if form.Has("repository") {
		var err error
		if repository, err = strconv.ParseInt(form.Get("repository"), 10, 64); err != nil || repository <= 0 {
			return model.ErrNotFound
		}
	}
	return applyChange(req, "hooked", func(id int64) error {
		hosts, err := hosts(req)
		if err != nil {
			return err
		}
		_, refused, err := hosts.Hook(req.HTTP.Context(), req.Viewer.Deployment.ID, req.Viewer.Actor(), id, repository)
		if refused != nil && req.HTTP.Context().Err() == nil {
			return model.Invalid("webhooks", "%s", model.Line(refused.Error()))
		}
		return cmp.Or(err, req.HTTP.Context().Err())
	})
}

// removeConnection deletes a connection.
func removeConnection(req *ui.Request) error {
	hosts, err := hosts(req)
	if err != nil {
		return err
	}
	save, err := hosts.PrepareRemove(req.HTTP.Context(), req.Viewer.Deployment.ID, req.PathID)
	if err == nil {
		_, err = saveConnection(req, save)
	}
	return ui.RedirectAfter(req, err, ui.ConnectionsPath+"?done=disconnected")
}

// doneManaged contains the notices about completed actions, by the word in the address.
var doneManaged = map[string]string{
	"connected":        "Connected. Select below which repositories become projects.",
	"tested":           "Connection tested. The result is below.",
	"connection-saved": "Saved.",
	"followed": "Repositories followed. Enable managed scans in the project, or choose “Scan " +
		"now” there.",
	"left":                 "Repositories unfollowed. Their projects are kept.",
	"hooked":               "Webhooks created. The host now notifies this server of pushes and change requests.",
	"disconnected":         "Connection deleted. Its projects are kept.",
	"runner-revoked":       "Runner revoked. Its token is rejected within a second.",
	"notification-made":    "Rule created. Send a test to check that messages arrive.",
	"notification-saved":   "Saved.",
	"notification-paused":  "Rule paused. New messages are not queued, and queued messages fail.",
	"notification-resumed": "Rule resumed.",
	"notification-resent":  "Message queued again.",
	"notification-deleted": "Rule and log deleted.",
}
