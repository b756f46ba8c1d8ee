package scm_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

func newVault(t testing.TB) *scm.Vault {
	t.Helper()
	sealer, err := keyring.New(time.Unix(0, 0)).Sealer("connections")
	if err != nil {
		t.Fatal(err)
	}
	return scm.NewVault(sealer)
}

func TestSealedSecretsAreBoundToConnection(t *testing.T) {
	vault := newVault(t)
	credential := model.HostCredential{Kind: model.CredentialPassword, Username: "ci", Secret: "s3cret-of-host"}
	c := model.Connection{ID: 2, Name: "ours", Kind: model.HostGitea, BaseURL: "https://git.example"}
	sealed, err := vault.Seal(1, c, credential)
	if err != nil || bytes.Contains(sealed, []byte("s3cret")) {
		t.Fatalf("sealed as %q, %v", sealed, err)
	}
	c.Credential, c.WebhookSecret = sealed, vault.SealWebhook(1, c, "hook")
	if found, err := vault.Open(1, c); err != nil || found != credential {
		t.Errorf("it opens as another, %v", err)
	}
	if secret, err := vault.OpenWebhook(1, c); err != nil || secret != "hook" {
		t.Errorf("the webhook's secret is %q, %v", secret, err)
	}
	swapped := c
	swapped.Credential, swapped.WebhookSecret = c.WebhookSecret, c.Credential
	other := c
	other.ID = 3
	elsewhere := c
	elsewhere.BaseURL = "https://elsewhere.example"
	otherKind := c
	otherKind.Kind = model.HostGitLab
	for what, try := range map[string]func() error{
		"another deployment": func() error { _, err := vault.Open(2, c); return err },
		"another connection": func() error { _, err := vault.Open(1, other); return err },
		"the other secret":   func() error { _, err := vault.Open(1, swapped); return err },
		"another's webhook":  func() error { _, err := vault.OpenWebhook(1, other); return err },
		"another address":    func() error { _, err := vault.Open(1, elsewhere); return err },
		"another's address":  func() error { _, err := vault.OpenWebhook(1, elsewhere); return err },
		"another kind":       func() error { _, err := vault.Open(1, otherKind); return err },
		"another key":        func() error { _, err := newVault(t).Open(1, c); return err },
		"a short text": func() error {
			_, err := vault.Open(1, model.Connection{ID: 2, Credential: []byte("x")})
			return err
		},
	} {
		if err := try(); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if none, err := vault.Open(1, model.Connection{ID: 2}); err != nil || none != (model.HostCredential{}) {
		t.Errorf("a connection without a credential: %v", err)
	}
}

// TestSecretsWithoutBoundAddressCanBeOpened checks that secrets without a bound address can be
// decrypted.
func TestSecretsWithoutBoundAddressCanBeOpened(t *testing.T) {
	sealer, err := keyring.New(time.Unix(0, 0)).Sealer("connections")
	if err != nil {
		t.Fatal(err)
	}
	seal := func(what, text string) []byte {
		return sealer.Seal(nil, nil, []byte(text), []byte("deployment 1, connection 2, "+what))
	}
	c := model.Connection{
		ID: 2, BaseURL: "https://git.example", Credential: seal("credential", `{"secret":"s3cret"}`), WebhookSecret: seal("webhook secret", "hook"),
	}
	vault := scm.NewVault(sealer)
	if found, err := vault.Open(1, c); err != nil || found.Secret != "s3cret" {
		t.Errorf("the credential: %v", err)
	}
	if secret, err := vault.OpenWebhook(1, c); err != nil || secret != "hook" {
		t.Errorf("the webhook's secret is %q, %v", secret, err)
	}
}
