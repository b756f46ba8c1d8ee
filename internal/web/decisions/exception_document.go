package decisions

import (
	"context"
	"errors"
	"net/url"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// statementsPerPage is the number of statements of a VEX document on a page.
const statementsPerPage = 50

type vexStatement struct {
	*model.VEXStatement
	Key     string // id of the statement
	Made    model.VEXTriage
	Counts  bool
	Changes int // of an undecided statement: number of findings whose triage it alone would change
}

// readStatements reads one page of the document's statements and their effects.
func (p *exceptionPage) readStatements(ctx context.Context, tx *store.Tx, page int) error {
	if p.State > model.ExceptionActive { // the document has no effect any more
		return nil
	}
	d, err := tx.VEXDocument(ctx, p.ID)
	if err != nil {
		return err
	}
	p.Pages = ui.NewPager(page, statementsPerPage, len(d.Statements), func(n int) string {
		return p.Address + "?page=" + ui.Decimal(int64(n))
	})
	shown := d.Statements[min(
		(page-1)*statementsPerPage, len(d.Statements),
	):min(page*statementsPerPage, len(d.Statements))]
	var review exceptions.Review
	if d.Proposed {
		if review, err = exceptions.ReviewVEX(ctx, tx, d, shown); err != nil {
			return err
		}
	}
	p.Changes, p.Withdraws = review.Changes, review.Withdraws
	for i := range shown {
		id := shown[i].ID()
		p.Statements = append(p.Statements, vexStatement{
			&shown[i], id, shown[i].Triage(), !d.Proposed || review.Counts[id], review.Alone[id],
		})
	}
	return nil
}

// decideDocument approves or refuses a requested document, or one statement of it.
func decideDocument(req *ui.Request, values url.Values) error {
	var statements []string
	if one := values.Get("statement"); one != "" {
		statements = []string{one}
	}
	next := "/exceptions/" + ui.Decimal(req.PathID) + "?done="
	err := req.Update(func(ctx context.Context, tx *store.Tx) (err error) {
		left := "" // page to open if no statement is left to decide
		switch values.Get("do") {
		case "approve":
			var receipt model.VEXReceipt
			receipt, err = exceptions.AcceptVEX(ctx, tx, req.PathID, statements...)
			next, left = next+"approved", "/exceptions/"+ui.Decimal(receipt.Document.ID)+"?done=approved"
		case "refuse":
			_, err = exceptions.RefuseVEX(ctx, tx, req.PathID, values.Get("refusal"), statements...)
			next, left = next+"refused", "/exceptions?show=requested"
		default:
			err = model.Invalid("do", "must be approve or refuse")
		}
		if err != nil {
			return err
		}
		if _, err = tx.Exception(ctx, req.PathID); errors.Is(err, model.ErrNotFound) {
			next, err = left, nil
		}
		return err
	})
	if status, why, is := ui.Refusal(err); is {
		return exception(req, status, nil, why)
	}
	return ui.RedirectAfter(req, err, next)
}
