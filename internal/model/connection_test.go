package model

import (
	"fmt"
	"strings"
	"testing"
)

func TestConnectionAddresses(t *testing.T) {
	for _, c := range []struct {
		kind    HostKind
		address string
		fine    bool
	}{
		{HostGitea, "https://git.example.com", true},
		{HostGitea, "http://git.internal:3000/gitea", true},
		{HostGitea, "ssh://git@git.example.com/acme/x.git", false},
		{HostGit, "ssh://git@git.example.com:2222/acme/x.git", true},
		{HostGit, "https://git.example.com/acme/x.git", true},
		{HostGit, "ext::sh -c touch% /tmp/x", false},
		{HostGit, "file:///etc", false},
		{HostGit, "git@git.example.com:acme/x.git", false},
		{HostGit, "ssh://-oProxyCommand=x/acme", false},
		{HostGit, "ssh://-oProxyCommand=x@host/acme", false},
		{HostGit, "https://user:secret@git.example.com/x", false},
		{HostGit, "ssh://git:secret@git.example.com/x", false},
		{HostGitHub, "https://token@api.github.com", false},
		{HostGitLab, "https://gitlab.example.com/?private_token=x", false},
		{HostGitLab, "https://gitlab.example.com/#x", false},
		{HostGitLab, "https://gitlab.example.com\n/x", false},
		{HostGitLab, "https://" + strings.Repeat("x", 1000), false},
		{HostGitLab, "https:///x", false},
		{HostGitLab, "", false},
	} {
		err := CheckHostURL(c.kind, c.address)
		if (err == nil) != c.fine {
			t.Errorf("%s of %s: %v", c.address, c.kind, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func TestHostCredentials(t *testing.T) {
	key := HostCredential{Kind: CredentialSSHKey, Secret: "-----BEGIN", KnownHosts: "git.example ssh-ed25519 AAAA"}
	app := HostCredential{Kind: CredentialApp, Secret: "-----BEGIN", AppID: 1, InstallationID: 2}
	token := HostCredential{Kind: CredentialToken, Secret: "t0ken"}
	password := HostCredential{Kind: CredentialPassword, Secret: "s3cret", Username: "ci"}
	for _, c := range []struct {
		kind HostKind
		c    HostCredential
		fine bool
	}{
		{HostGitea, token, true},
		{HostGitHub, app, true},
		{HostGitLab, app, false},
		{HostGitea, password, false},
		{HostGit, password, true},
		{HostGit, key, true},
		{HostGit, token, false},
		{HostGit, HostCredential{Kind: CredentialSSHKey, Secret: "x"}, false},
		{HostGit, HostCredential{Kind: CredentialPassword, Secret: "x"}, false},
		{HostGitHub, HostCredential{Kind: CredentialApp, Secret: "x", AppID: 1}, false},
		{HostGitHub, HostCredential{Kind: CredentialToken, Secret: "x\r\nHost: evil"}, false},
		{HostGitHub, HostCredential{Kind: CredentialToken, Secret: strings.Repeat("x", maxCredential+1)}, false},
		{HostGitHub, HostCredential{Kind: CredentialToken}, false},
	} {
		if err := CheckCredential(c.kind, c.c); (err == nil) != c.fine {
			t.Errorf("%s with %s: %v", c.kind, c.c.Kind, err)
		}
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, []any{password, &password}); strings.Contains(text, "s3cret") {
			t.Errorf("%s shows the secret: %s", format, text)
		}
	}
}

func TestConnectionFollows(t *testing.T) {
	for _, c := range []struct {
		follow string
		name   string
		want   bool
	}{
		{"", "acme/a", false},
		{"acme/*", "acme/a", true},
		{"acme/*", "acme/a/b", false},
		{"**", "acme/a/b", true},
		{"acme/* !acme/a", "acme/a", false},
		{"!acme/a acme/*", "acme/a", false},
		{"acme/* !acme/a", "acme/b", true},
		{"!acme/a", "acme/b", false},
		{"acme/* other/* !other/**", "other/x", false},
	} {
		if got := (Connection{Follow: strings.Fields(c.follow)}).Follows(c.name); got != c.want {
			t.Errorf("%s of %q: %v", c.name, c.follow, got)
		}
	}
}

func TestConnectionServesOnlyItsHost(t *testing.T) {
	for _, c := range []struct {
		base, clone string
		want        bool
	}{
		{"https://git.example", "https://git.example/acme/web.git", true},
		{"https://git.example/", "https://git.example/acme/web.git", true},
		{"https://git.example/forge", "https://git.example/forge/acme/web.git", true},
		{"ssh://git@git.example/acme/web.git", "ssh://git@git.example/acme/web.git", true},
		{"https://git.example", "https://git.example.evil.example/acme/web.git", false},
		{"https://git.example", "https://git.example@evil.example/acme/web.git", false},
		{"https://git.example", "https://evil.example/acme/web.git", false},
		{"https://git.example", "http://git.example/acme/web.git", false},
		{"https://git.example/forge", "https://git.example/forgery/acme/web.git", false},
		{"https://git.example", "", false},
		{"", "https://git.example/acme/web.git", false},
	} {
		if got := (Connection{BaseURL: c.base}).Serves(c.clone); got != c.want {
			t.Errorf("%q serves %q: %v, want %v", c.base, c.clone, got, c.want)
		}
	}
}
