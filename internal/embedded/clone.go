package embedded

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// CloneSource returns a function that reads the clone address of a project's repository and the
// credential of its connection.
func CloneSource(
	vault *scm.Vault, hosts scm.Config,
) func(context.Context, *store.Tx, model.Project) (model.CloneSource, error) {
	return func(ctx context.Context, tx *store.Tx, p model.Project) (out model.CloneSource, err error) {
		repository, err := tx.Repository(ctx, p.ID)
		if err == nil && !repository.Scannable() {
			err = model.ErrNotFound
		}
		if err != nil {
			return out, err
		}
		connection, err := tx.Connection(ctx, repository.ConnectionID)
		if err != nil {
			return out, err
		}
		if !connection.Serves(repository.CloneURL) { // never send the credential to another host
			return out, fmt.Errorf("%s is not below the address of the connection %s, and its credential is sent to "+
				"no other host",
				repository.CloneURL, connection.Name)
		}
		out.URL, out.WebURL = repository.CloneURL, repository.WebURL
		credential, err := vault.Open(tx.Deployment().ID, connection)
		if err != nil {
			return out, err
		}
		switch credential.Kind {
		case model.CredentialToken, model.CredentialPassword:
			out.Username, out.Password = credential.Basic(connection.Kind)
		case model.CredentialSSHKey:
			out.SSHKey, out.KnownHosts = credential.Secret, credential.KnownHosts
		case model.CredentialApp:
			out.Username = "x-access-token"
			out.Make = func(ctx context.Context) (string, error) {
				return hosts.CloneToken(ctx, connection, credential, repository)
			}
		}
		return out, nil
	}
}
