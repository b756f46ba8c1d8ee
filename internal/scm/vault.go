package scm

import (
	"crypto/cipher"
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
)

// Vault encrypts the credentials of connections. A sealed secret is bound to its connection and
// address, so that write access to the database is not sufficient to send it elsewhere. It is safe
// for concurrent use.
type Vault struct{ sealer cipher.AEAD }

// NewVault returns a vault that encrypts with sealer, which must generate nonces itself.
func NewVault(sealer cipher.AEAD) *Vault { return &Vault{sealer} }

// bound returns the additional data that a sealed secret is bound to.
func bound(deploymentID int64, c model.Connection, what string) []byte {
	return fmt.Appendf(nil, "deployment %d, connection %d, %s, %s %s", deploymentID, c.ID, what, c.Kind, c.BaseURL)
}

// boundBefore returns the additional data without the address. Older secrets are bound to it.
func boundBefore(deploymentID int64, c model.Connection, what string) []byte {
	return fmt.Appendf(nil, "deployment %d, connection %d, %s", deploymentID, c.ID, what)
}

// open decrypts a sealed secret of a connection.
func (v *Vault) open(deploymentID int64, c model.Connection, sealed []byte, what string) ([]byte, error) {
	text, err := v.sealer.Open(nil, nil, sealed, bound(deploymentID, c, what))
	if err != nil {
		text, err = v.sealer.Open(nil, nil, sealed, boundBefore(deploymentID, c, what))
	}
	return text, err
}

// Kinds of sealed secrets.
const (
	ofHost    = "credential"
	ofWebhook = "webhook secret"
)

// Seal encrypts the credential of a connection. The id, kind and address of c must be set.
func (v *Vault) Seal(deploymentID int64, c model.Connection, credential model.HostCredential) ([]byte, error) {
	text, err := json.Marshal(credential)
	if err != nil {
		return nil, err
	}
	return v.sealer.Seal(nil, nil, text, bound(deploymentID, c, ofHost)), nil
}

// Open decrypts the credential of a connection. It returns the zero credential if the connection
// has none.
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

// SealWebhook encrypts the secret with which a host signs webhooks.
func (v *Vault) SealWebhook(deploymentID int64, c model.Connection, secret string) []byte {
	return v.sealer.Seal(nil, nil, []byte(secret), bound(deploymentID, c, ofWebhook))
}

// OpenWebhook decrypts the secret with which a host signs webhooks.
func (v *Vault) OpenWebhook(deploymentID int64, c model.Connection) (string, error) {
	text, err := v.open(deploymentID, c, c.WebhookSecret, ofWebhook)
	if err != nil {
		return "", unreadable(c)
	}
	return string(text), nil
}

// unreadable returns the error for a secret that cannot be decrypted, with the steps to fix it. The
// underlying error is omitted because it does not help.
func unreadable(c model.Connection) error {
	return fmt.Errorf("the stored secrets of the connection %s cannot be decrypted with the keys of this server: "+
		"restore the key file from the backup, or enter the credential again", c.Name)
}
