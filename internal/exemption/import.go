package exemption

import (
	"context"

	"github.com/redoubt/redoubt"
)

// ForImport is a transaction's exemptions as an import asks for them.
type ForImport struct{ Store Store }

// Reevaluate is Reevaluate of the package, in the transaction.
func (i ForImport) Reevaluate(ctx context.Context, lineages []int64) error {
	return Reevaluate(ctx, i.Store, lineages)
}

// PutVEX is PutVEX of the package, in the transaction.
func (i ForImport) PutVEX(ctx context.Context, d redoubt.VEXDocument) (redoubt.VEXReceipt, error) {
	return PutVEX(ctx, i.Store, d)
}
