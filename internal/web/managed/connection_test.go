package managed

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

func TestCredentialOf(t *testing.T) {
	for _, c := range []struct {
		kind                   model.HostKind
		username, secret, keys string
		want                   model.HostCredential
	}{
		{model.HostGit, "u", "", "k", model.HostCredential{}},
		{model.HostGit, " u ", " s\n", "", model.HostCredential{Kind: model.CredentialPassword, Username: "u", Secret: "s"}},
		{model.HostGit, "u", "a\r\nb", "k", model.HostCredential{Kind: model.CredentialSSHKey, Secret: "a\nb\n", KnownHosts: "k"}},
		{model.HostGitHub, "u", "s", "k", model.HostCredential{Kind: model.CredentialToken, Secret: "s"}},
		{model.HostJira, " bot@acme.io ", "s", "", model.HostCredential{Kind: model.CredentialPassword, Username: "bot@acme.io", Secret: "s"}},
		{model.HostJira, "", "s", "k", model.HostCredential{Kind: model.CredentialToken, Secret: "s"}},
	} {
		if got := credentialOf(c.kind, c.username, c.secret, c.keys); got != c.want {
			t.Errorf("%s with %q: %#v of %q", c.kind, c.username, got.Kind, got.Username)
		}
	}
}
