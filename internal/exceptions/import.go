package exceptions

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// ForImport provides the exceptions of a transaction to imports.
type ForImport struct{ Store Store }

// Reevaluate calls the function Reevaluate in the transaction.
func (i ForImport) Reevaluate(ctx context.Context, lineages []int64) error {
	return Reevaluate(ctx, i.Store, lineages)
}

// PutVEX stores the documents of an upload. Documents from the primary branch or without a ref
// apply to all refs. Documents of another ref apply to that ref only, so that a change request
// hides nothing elsewhere. The next SBOM of the same source replaces the statements of an SBOM,
// even with none.
//
// It refuses statements about other projects, and documents above the limit. The other results of
// the upload are unaffected.
func (i ForImport) PutVEX(
	ctx context.Context, u model.VEXUpload,
) (receipts []model.VEXReceipt, refused model.Refusals, err error) {
	for _, d := range documents(u) {
		var strange model.Refusals
		d.Statements, strange = ownStatements(d.Statements, u.Project)
		refused.RefuseAll(strange)
		receipt, err := PutVEX(ctx, i.Store, d)
		if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
			refused.Refuse(model.Refusal{Item: "VEX document " + d.Name, Reason: invalid.Fields[0].Message})
			continue
		}
		if err != nil {
			return nil, refused, err
		}
		receipts = append(receipts, receipt)
	}
	return receipts, refused, nil
}

// documents returns the documents of the upload in the form in which they are stored.
func documents(u model.VEXUpload) []model.VEXDocument {
	r := u.Report
	list := slices.Clone(r.VEX)
	unnamed := slices.ContainsFunc(list, func(d model.VEXDocument) bool { return d.Name == "" })
	if !unnamed && u.Scan.Full && !r.Failed && r.Inventories != nil {
		list = append(list, model.VEXDocument{})
	}
	for i := range list {
		d := &list[i]
		if d.Name == "" {
			d.Name = "SBOM of " + u.Scan.Source
			if d.IssuedAt = r.StartedAt; d.IssuedAt.IsZero() {
				d.IssuedAt = u.Scan.StartedAt
			}
		}
		d.ProjectID, d.Ref, d.Proposed = u.Project.ID, u.Scan.Ref, u.Proposed
		if d.Ref == u.Project.Primary() || d.Ref == model.FullRef("") {
			d.Ref = ""
		}
	}
	return list
}

// ownStatements returns the statements about the project and refuses the others.
func ownStatements(
	list []model.VEXStatement, p model.Project,
) (own []model.VEXStatement, strange model.Refusals) {
	own = make([]model.VEXStatement, 0, len(list))
	for i := range list {
		s := &list[i]
		if len(s.Product) > 0 && !s.Sole && !slices.ContainsFunc(s.Product, p.IsCalled) {
			reason := fmt.Sprintf("its product %s does not match %s, and the document has several products",
				strings.Join(s.Product, ", "), p.Name)
			strange.Refuse(model.Refusal{Item: "VEX statement of " + s.Names[0], Reason: reason})
			continue
		}
		own = append(own, *s)
	}
	return own, strange
}
