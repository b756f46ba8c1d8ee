package cli

import (
	"io"
	"os"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// newConnection contains the flags of a new connection.
type newConnection struct {
	Name       string   `arg:"" help:"Name of the connection."`
	Kind       string   `help:"Kind of host: gitea (also Forgejo), github (also Enterprise), gitlab, jira (Cloud and Data Center, for tickets) or git." enum:"gitea,github,gitlab,jira,git" required:"" placeholder:"KIND"`
	BaseURL    string   `name:"base-url" help:"Address of the host, such as https://git.example.com; for git, of the repository." required:"" placeholder:"URL"`
	Credential string   `help:"File with the token, password or private key; - reads standard input. Optional for public Git remotes." placeholder:"FILE"`
	Username   string   `help:"Username for Git over HTTPS; for Jira Cloud, the e-mail address." placeholder:"NAME"`
	KnownHosts string   `help:"File with host keys from ssh-keyscan; for SSH private keys." placeholder:"FILE"`
	App        int64    `help:"Id of a GitHub App; for its private key." placeholder:"ID"`
	Install    int64    `name:"installation" help:"Installation id of the GitHub App." placeholder:"ID"`
	Follow     []string `help:"Create projects from present and future repositories that match: * matches all but /, ** everything; repeatable." sep:"none" placeholder:"GLOB"`
}

// credential reads the credential from a file or standard input. Flags would expose it in the
// process list.
func (c newConnection) credential(kind model.HostKind) (out model.HostCredential, err error) {
	if c.Credential == "" {
		return out, nil
	}
	out.Kind, out.Username, out.AppID, out.InstallationID = model.CredentialToken, c.Username, c.App, c.Install
	switch {
	case c.App != 0:
		out.Kind = model.CredentialApp
	case c.KnownHosts != "":
		out.Kind = model.CredentialSSHKey
		if out.KnownHosts, err = readCredential(c.KnownHosts); err != nil {
			return out, err
		}
	case kind == model.HostGit || kind == model.HostJira && c.Username != "":
		out.Kind = model.CredentialPassword
	}
	out.Secret, err = readCredential(c.Credential)
	return out, err
}

// maxCredentialFile is the maximum size of a credential file in bytes. It is above the limit of
// credentials.
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
