package edge

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// KeepConnection writes what a code host answered, in a transaction of the deployment, and
// returns the connection as it is then.
type KeepConnection = func(ctx context.Context, tx *store.Tx) (model.Connection, error)

// CodeHosts asks code hosts outside of any transaction, so that none holds up a
// deployment; package hosts does. What a host or a person said wrong is a
// *model.InvalidError.
type CodeHosts interface {
	// AskToAdd asks the host of a connection that is to be made.
	AskToAdd(ctx context.Context, c model.Connection, credential model.HostCredential) (KeepConnection, error)
	// AskAgain asks who a connection is and what it sees; asked is what the host said no with.
	AskAgain(ctx context.Context, deploymentID, id int64) (keep KeepConnection, asked, err error)
	// AskToChange asks with another credential, where there is one.
	AskToChange(ctx context.Context, deploymentID, id int64, change model.ConnectionChange) (KeepConnection, error)
	// AskToRemove has a host forget the webhooks that tell this server.
	AskToRemove(ctx context.Context, deploymentID, id int64) (KeepConnection, error)
	// HooksAt is the address at which code hosts reach the server; empty: it was configured with none.
	HooksAt() string
	// Hook has the host tell this server, at the public address that it was configured with, of
	// what happens there, and returns in how many repositories; refused is what the host said no
	// with. A repository's id makes that one's webhook alone, 0 all of the connection. A server
	// without such an address is model.ErrConflict.
	Hook(ctx context.Context, deploymentID int64, by model.Actor, id, repositoryID int64) (n int, refused, err error)
}
