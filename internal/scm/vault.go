package scm

import (
	"crypto/cipher"
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt"
)

// Vault seals what connections show to their hosts. What was sealed for one connection
// does not open for another. It is safe for concurrent use.
type Vault struct{ sealer cipher.AEAD }

// NewVault makes a vault of what encrypts, and makes its nonces itself.
func NewVault(sealer cipher.AEAD) *Vault { return &Vault{sealer} }

// bound is what a sealed secret of a connection is bound to.
func bound(deploymentID, connectionID int64, what string) []byte {
	return fmt.Appendf(nil, "deployment %d, connection %d, %s", deploymentID, connectionID, what)
}

// What a connection keeps sealed.
const (
	ofHost    = "credential"
	ofWebhook = "webhook secret"
)

// Seal seals the credential of a connection.
func (v *Vault) Seal(deploymentID, connectionID int64, c redoubt.HostCredential) ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return v.sealer.Seal(nil, nil, text, bound(deploymentID, connectionID, ofHost)), nil
}

// Open opens the credential of a connection; one that has none is the zero credential.
func (v *Vault) Open(deploymentID int64, c redoubt.Connection) (found redoubt.HostCredential, err error) {
	if len(c.Credential) == 0 {
		return found, nil
	}
	text, err := v.sealer.Open(nil, nil, c.Credential, bound(deploymentID, c.ID, ofHost))
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return redoubt.HostCredential{}, unreadable(c)
	}
	return found, nil
}

// SealWebhook seals the secret that a host signs its webhooks with.
func (v *Vault) SealWebhook(deploymentID, connectionID int64, secret string) []byte {
	return v.sealer.Seal(nil, nil, []byte(secret), bound(deploymentID, connectionID, ofWebhook))
}

// OpenWebhook opens the secret that a host signs its webhooks with.
func (v *Vault) OpenWebhook(deploymentID int64, c redoubt.Connection) (string, error) {
	text, err := v.sealer.Open(nil, nil, c.WebhookSecret, bound(deploymentID, c.ID, ofWebhook))
	if err != nil {
		return "", unreadable(c)
	}
	return string(text), nil
}

// unreadable says what to do about a secret that does not open. It says nothing of why:
// that would be bytes.
func unreadable(c redoubt.Connection) error {
	return fmt.Errorf("what is kept of the connection %s cannot be read with the keys of this server: put the key file from the backup in its place, or give the connection its credential again", c.Name)
}
