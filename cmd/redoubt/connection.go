package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/store"
)

type connectionCmd struct {
	Add          connectionAddCmd          `cmd:"" help:"Connect a code host: Gitea, Forgejo, GitHub, GitLab or a plain remote of git."`
	List         connectionListCmd         `cmd:"" help:"List the connections, and whether they work."`
	Test         connectionTestCmd         `cmd:"" help:"Ask the host again who the connection is and what it sees."`
	Remove       connectionRemoveCmd       `cmd:"" help:"Forget a connection and its credential. Projects stay."`
	Repositories connectionRepositoriesCmd `cmd:"" help:"List the repositories that a connection sees."`
	Hooks        connectionHooksCmd        `cmd:"" help:"Have the host tell this server of pushes and change requests; else it is asked every five minutes."`
	Tickets      connectionTicketsCmd      `cmd:"" help:"Say where tickets about findings are made."`
	Replies      connectionRepliesCmd      `cmd:"" help:"Say whose replies to comments at change requests decide about findings."`
	Take         connectionTakeCmd         `cmd:"" help:"Make projects of repositories, by name or glob."`
}

type connectionHooksCmd struct {
	keeping
	ID        int64  `arg:"" help:"The connection, by its id."`
	PublicURL string `help:"Where the host reaches this server, as https://redoubt.example.com." required:"" env:"REDOUBT_PUBLIC_URL" placeholder:"URL"`
}

// Run makes the webhooks.
func (c connectionHooksCmd) Run(a *app) error {
	if err := redoubt.CheckHostURL(redoubt.HostGitea, c.PublicURL); err != nil {
		return err
	}
	return c.run(a, func(k *hosts.Keeper, _ *store.Store, d redoubt.Deployment) error {
		k.HookURL = c.PublicURL
		n, refused, err := k.Hook(a.ctx, d.ID, a.actor(), c.ID, 0)
		if n > 0 || cmp.Or(refused, err) == nil {
			_, told := fmt.Fprintf(a.out, "%d repositories tell this server of pushes and change requests\n", n)
			err = errors.Join(err, told)
		}
		return unknownConnection(c.ID, errors.Join(refused, err))
	})
}

// keeping is what the commands about connections share.
type keeping struct {
	tenant
	config.Outbound
}

// run does something with the connections of the deployment.
func (c keeping) run(a *app, do func(*hosts.Keeper, *store.Store, redoubt.Deployment) error) error {
	st, d, err := c.use(a)
	if err != nil {
		return err
	}
	ring, err := a.keys(c.Storage, st)
	if err == nil {
		var k *hosts.Keeper
		if k, err = a.keeper(c.Outbound, ring, st, func() string { return "" }); err == nil {
			err = do(k, st, d)
		}
	}
	return errors.Join(err, st.Close())
}

type connectionAddCmd struct {
	keeping
	newConnection
}

// newConnection is a connection that is to be made, as flags say it.
type newConnection struct {
	Name       string   `arg:"" help:"What people call the connection."`
	Kind       string   `help:"What the host is: gitea (Forgejo too), github (Enterprise too), gitlab, jira (Cloud and Data Center, for tickets) or git." enum:"gitea,github,gitlab,jira,git" required:"" placeholder:"KIND"`
	BaseURL    string   `name:"base-url" help:"Address of the host, as https://git.example.com; of git, of the repository itself." required:"" placeholder:"URL"`
	Credential string   `help:"File with the token, password or private key; - reads it from standard input. Only a public remote of git needs none." placeholder:"FILE"`
	Username   string   `help:"Whose password it is, of git over HTTPS; whose token, as an address of mail, of Jira Cloud." placeholder:"NAME"`
	KnownHosts string   `help:"File with the host's keys, as ssh-keyscan prints them: the credential is a private key of SSH then." placeholder:"FILE"`
	App        int64    `help:"Id of a GitHub App: the credential is its private key then." placeholder:"ID"`
	Install    int64    `name:"installation" help:"Id of the app's installation." placeholder:"ID"`
	Follow     []string `help:"Make projects of repositories whose name matches, now and later: * for anything but /, ** for anything. May be repeated." sep:"none" placeholder:"GLOB"`
}

// Run makes the connection, once the host has answered.
func (c connectionAddCmd) Run(a *app) error {
	kind, _ := redoubt.ParseHostKind(c.Kind)
	credential, err := c.credential(kind)
	if err != nil {
		return err
	}
	return c.run(a, func(k *hosts.Keeper, _ *store.Store, d redoubt.Deployment) error {
		made, err := k.Add(a.ctx, d.ID, a.actor(), redoubt.Connection{
			Kind: kind, Name: redoubt.Line(c.Name), BaseURL: strings.TrimSuffix(c.BaseURL, "/"), Follow: c.Follow,
		}, credential)
		if err == nil {
			_, err = fmt.Fprintf(a.out, "connection %d (%s) is %s at %s; redoubt connection repositories %d shows what it sees\n", made.ID, made.Name, made.Account, made.BaseURL, made.ID)
		}
		return err
	})
}

// credential reads what is shown to the host. It is no flag: the list of processes shows
// those to everybody on the machine.
func (c newConnection) credential(kind redoubt.HostKind) (out redoubt.HostCredential, err error) {
	if c.Credential == "" {
		return out, nil
	}
	out.Kind, out.Username, out.AppID, out.InstallationID = redoubt.CredentialToken, c.Username, c.App, c.Install
	switch {
	case c.App != 0:
		out.Kind = redoubt.CredentialApp
	case c.KnownHosts != "":
		out.Kind = redoubt.CredentialSSHKey
		if out.KnownHosts, err = readCredential(c.KnownHosts); err != nil {
			return out, err
		}
	case kind == redoubt.HostGit || kind == redoubt.HostJira && c.Username != "":
		out.Kind = redoubt.CredentialPassword
	}
	out.Secret, err = readCredential(c.Credential)
	return out, err
}

// maxCredentialFile is how much of a file is read; what a credential may have is less.
const maxCredentialFile = 64 << 10

func readCredential(path string) (string, error) {
	from := io.Reader(os.Stdin)
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxCredentialFile))
	return strings.TrimSpace(string(text)), err
}

type connectionListCmd struct{ tenant }

// Run lists the connections.
func (c connectionListCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Connections(ctx)
		if err != nil {
			return err
		}
		counts, err := tx.CountRepositories(ctx)
		if err != nil {
			return err
		}
		rows := make([][]string, len(list))
		for i, c := range list {
			n := counts[c.ID]
			rows[i] = []string{strconv.FormatInt(c.ID, 10), c.Name, c.Kind.String(), c.BaseURL, c.Account, hearsBy(n.HearsBy(), int64(n.Silent)), cmp.Or(c.Problem, n.HookProblem, "works")}
		}
		return table(a.out, "ID NAME KIND HOST ACCOUNT HEARS STATE", rows)
	})
}

type connectionTestCmd struct {
	keeping
	ID int64 `arg:"" help:"The connection, by its id."`
}

// Run asks the host.
func (c connectionTestCmd) Run(a *app) error {
	return c.run(a, func(k *hosts.Keeper, st *store.Store, d redoubt.Deployment) error {
		found, err := k.Check(a.ctx, d.ID, a.actor(), c.ID)
		if err != nil {
			return unknownConnection(c.ID, err)
		}
		var counts map[int64]store.RepositoryCount
		err = st.View(a.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
			counts, err = tx.CountRepositories(ctx)
			return err
		})
		fmt.Fprintf(a.out, "connection %d (%s) works: it is %s at %s\n", found.ID, found.Name, found.Account, found.BaseURL)
		if n := counts[c.ID]; n.Silent > 0 {
			fmt.Fprintf(a.out, "webhooks that do not tell all: %d (%s); redoubt connection hooks %d makes them again\n", n.Silent, n.HookProblem, c.ID)
		}
		return err
	})
}

func unknownConnection(id int64, err error) error {
	if errors.Is(err, redoubt.ErrNotFound) {
		return fmt.Errorf("there is no connection %d with that; redoubt connection list shows what there is: %w", id, err)
	}
	return err
}

type connectionRemoveCmd struct {
	keeping
	ID        int64  `arg:"" help:"The connection, by its id."`
	PublicURL string `help:"Where the host reaches this server: webhooks that tell it are removed there, and no others." env:"REDOUBT_PUBLIC_URL" placeholder:"URL"`
}

// Run forgets the connection.
func (c connectionRemoveCmd) Run(a *app) error {
	return c.run(a, func(k *hosts.Keeper, _ *store.Store, d redoubt.Deployment) error {
		k.HookURL = c.PublicURL
		err := k.Remove(a.ctx, d.ID, a.actor(), c.ID)
		if err == nil {
			_, err = fmt.Fprintf(a.out, "connection %d is forgotten; its projects stay\n", c.ID)
		}
		return unknownConnection(c.ID, err)
	})
}

type connectionRepositoriesCmd struct {
	tenant
	ID int64 `arg:"" help:"The connection, by its id."`
}

// Run lists the repositories.
func (c connectionRepositoriesCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Connection(ctx, c.ID); err != nil {
			return unknownConnection(c.ID, err)
		}
		list, err := tx.Repositories(ctx, c.ID)
		if err != nil {
			return err
		}
		rows := make([][]string, len(list))
		for i, r := range list {
			project, state := "-", "-"
			if r.ProjectID != 0 {
				p, err := tx.Project(ctx, r.ProjectID)
				if err != nil {
					return err
				}
				project = p.Name
			}
			switch {
			case !r.GoneAt.IsZero():
				state = "gone since " + day(r.GoneAt)
			case r.Archived:
				state = "archived"
			}
			rows[i] = []string{r.FullName, dash(r.DefaultBranch), project, state}
		}
		return table(a.out, "NAME BRANCH PROJECT STATE", rows)
	})
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type connectionTakeCmd struct {
	keeping
	ID   int64    `arg:"" help:"The connection, by its id."`
	Glob []string `arg:"" help:"Names of repositories: * for anything but /, ** for anything."`
}

// Run makes the projects.
func (c connectionTakeCmd) Run(a *app) error {
	return c.run(a, func(k *hosts.Keeper, _ *store.Store, d redoubt.Deployment) error {
		taken, err := k.Take(a.ctx, d.ID, a.actor(), c.ID, c.Glob)
		for _, p := range taken {
			if err == nil {
				_, err = fmt.Fprintf(a.out, "project %s\n", p.Name)
			}
		}
		if err == nil && len(taken) == 0 {
			_, err = fmt.Fprintln(a.out, "nothing new: what fits is a project already, archived, or gone")
		}
		return unknownConnection(c.ID, err)
	})
}
