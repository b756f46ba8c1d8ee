package scm

import (
	"crypto/cipher"
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
)

// Vault seals what connections show to their hosts. What was sealed for one connection
// does not open for another, nor for another address: who writes to the database alone
// cannot have it sent elsewhere. It is safe for concurrent use.
type Vault struct{ sealer cipher.AEAD }

// NewVault makes a vault of what encrypts, and makes its nonces itself.
func NewVault(sealer cipher.AEAD) *Vault { return &Vault{sealer} }

// bound is what a sealed secret of a connection is bound to.
func bound(deploymentID int64, c model.Connection, what string) []byte {
	return fmt.Appendf(nil, "deployment %d, connection %d, %s, %s %s", deploymentID, c.ID, what, c.Kind, c.BaseURL)
}

// boundBefore is what it was bound to until the address was added. What is sealed with
// the address does not open by it.
func boundBefore(deploymentID int64, c model.Connection, what string) []byte {
	return fmt.Appendf(nil, "deployment %d, connection %d, %s", deploymentID, c.ID, what)
}

// open opens what is sealed for a connection.
func (v *Vault) open(deploymentID int64, c model.Connection, sealed []byte, what string) ([]byte, error) {
	text, err := v.sealer.Open(nil, nil, sealed, bound(deploymentID, c, what))
	if err != nil {
		text, err = v.sealer.Open(nil, nil, sealed, boundBefore(deploymentID, c, what))
	}
	return text, err
}

// What a connection keeps sealed.
const (
	ofHost    = "credential"
	ofWebhook = "webhook secret"
)

// Seal seals the credential of a connection, whose id, kind and address are given.
func (v *Vault) Seal(deploymentID int64, c model.Connection, credential model.HostCredential) ([]byte, error) {
	text, err := json.Marshal(credential)
	if err != nil {
		return nil, err
	}
	return v.sealer.Seal(nil, nil, text, bound(deploymentID, c, ofHost)), nil
}

// Open opens the credential of a connection; one that has none is the zero credential.
func (v *Vault) Open(deploymentID int64, c model.Connection) (found model.HostCredential, err error) {
	if len(c.Credential) == 0 {
		return found, nil
	}
	text, err := v.open(deploymentID, c, c.Credential, ofHost)
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		return model.HostCredential{}, unreadable(c)
	}
	return found, nil
}

// SealWebhook seals the secret that the host of a connection signs its webhooks with.
func (v *Vault) SealWebhook(deploymentID int64, c model.Connection, secret string) []byte {
	return v.sealer.Seal(nil, nil, []byte(secret), bound(deploymentID, c, ofWebhook))
}

// OpenWebhook opens the secret that a host signs its webhooks with.
func (v *Vault) OpenWebhook(deploymentID int64, c model.Connection) (string, error) {
	text, err := v.open(deploymentID, c, c.WebhookSecret, ofWebhook)
	if err != nil {
		return "", unreadable(c)
	}
	return string(text), nil
}

// unreadable says what to do about a secret that does not open. It says nothing of why:
// that would be bytes.
func unreadable(c model.Connection) error {
	return fmt.Errorf("what is kept of the connection %s cannot be read with the keys of this server: put the key file "+
		"from the backup in its place, or give the connection its credential again", c.Name)
}
