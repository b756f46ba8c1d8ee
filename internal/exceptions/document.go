package exceptions

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// PutVEX stores a document, replacing an older one of its name and scope. It updates the findings
// of both versions in the same transaction. A document older than the stored one changes nothing.
// One without statements withdraws the stored one. It returns a *model.InvalidError if there are
// too many documents.
func PutVEX(ctx context.Context, s Store, d model.VEXDocument) (receipt model.VEXReceipt, err error) {
	d.ReceivedAt, d.ReceivedBy = s.Now(), s.Actor()
	d.IssuedAt = d.IssuedAt.UTC().Truncate(time.Microsecond) // as it is stored
	if d.Proposed {
		return propose(ctx, s, d)
	}
	stored, err := storedOrNone(ctx, s, d)
	d.ID = cmp.Or(stored.ID, d.ID)
	receipt = model.VEXReceipt{Outcome: outcome(&d, &stored), Statements: len(d.Statements)}
	if err == nil {
		d.ID, receipt.Changed, err = replace(ctx, s, receipt.Outcome, d, stored)
	}
	if err == nil {
		err = dropProposal(ctx, s, d)
	}
	if err != nil {
		return receipt, fmt.Errorf("store VEX document %q: %w", d.Name, err)
	}
	receipt.Document, receipt.Document.Statements = d, nil
	return receipt, nil
}

// replace applies the outcome, and returns the document's id and the number of changed lineages.
func replace(
	ctx context.Context, s Store, o model.VEXOutcome, d, stored model.VEXDocument,
) (id int64, changed int, err error) {
	switch o {
	case model.VEXActive:
		d.ID, err = save(ctx, s, d, stored)
	case model.VEXWithdrawn:
		err = s.EndVEX(ctx, stored, model.ExceptionEnded, "A newer document has no statements.")
	default:
		return d.ID, 0, nil
	}
	if err == nil {
		var effect Effect
		effect, err = applyVEX(ctx, s, d, stored.Statements)
		changed = len(effect)
	}
	return d.ID, changed, err
}

// removeVEX ends a document in force, and reopens the findings that it decided in the same
// transaction.
func removeVEX(ctx context.Context, s Store, id int64) (changed Effect, err error) {
	d, err := s.VEXDocument(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := s.EndVEX(ctx, d, model.ExceptionEnded, ""); err != nil {
		return nil, err
	}
	return applyVEX(ctx, s, d, nil)
}

// outcome returns the outcome of a document, given the stored one, whose id is 0 if there is none.
func outcome(d, stored *model.VEXDocument) model.VEXOutcome {
	switch {
	case stored.ID == 0 && len(d.Statements) == 0:
		return model.VEXSame
	case stored.ID == 0:
		return model.VEXActive
	case !newer(d, stored):
		return model.VEXOlder
	case d.Version == stored.Version && d.IssuedAt.Equal(stored.IssuedAt) &&
		equalStatements(d.Statements, stored.Statements):
		return model.VEXSame
	case len(d.Statements) == 0:
		return model.VEXWithdrawn
	}
	return model.VEXActive
}

// newer reports whether a document replaces another one of its name, by version and then by issue
// time. It is true if both are equal.
func newer(d, than *model.VEXDocument) bool {
	return cmp.Or(cmp.Compare(d.Version, than.Version), issued(d).Compare(issued(than))) >= 0
}

// issued returns the issue time of a document. A time after its known receipt counts as the time of
// receipt. Otherwise a wrong clock would take precedence forever.
func issued(d *model.VEXDocument) time.Time {
	if !d.ReceivedAt.IsZero() && d.IssuedAt.After(d.ReceivedAt) {
		return d.ReceivedAt
	}
	return d.IssuedAt
}

// equalStatements compares statements in their stored form.
func equalStatements(a, b []model.VEXStatement) bool {
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(textA, textB)
}

// save stores a document in force, unless the limit is reached.
func save(ctx context.Context, s Store, d, stored model.VEXDocument) (int64, error) {
	if stored.ID == 0 {
		n, err := s.CountVEX(ctx, false)
		if err != nil {
			return 0, err
		}
		if n >= model.MaxVEXDocuments {
			return 0, model.Invalid("vex", "there are %d VEX documents, which is the limit: remove one first (redoubt "+
				"exceptions list, redoubt exceptions delete)", n)
		}
	}
	return s.SaveVEX(ctx, d, stored)
}

// applyVEX updates all lineages in the scope of scopeOfVEX.
func applyVEX(ctx context.Context, s Store, d model.VEXDocument, earlier []model.VEXStatement) (Effect, error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	return apply(ctx, s, list, scopeOfVEX(d, earlier))
}

// scopeOfVEX returns the scope of the findings that a document, or its earlier statements, refer
// to. It includes findings that the document decided.
func scopeOfVEX(d model.VEXDocument, earlier []model.VEXStatement) model.ExceptionScope {
	scope := model.ExceptionScope{Actors: []model.Actor{d.Actor()}}
	for _, list := range [][]model.VEXStatement{d.Statements, earlier} {
		for i := range list {
			scope.Names = append(scope.Names, list[i].Names...)
		}
	}
	slices.Sort(scope.Names)
	scope.Names = slices.Compact(scope.Names)
	if d.ProjectID != 0 {
		scope.Projects = []int64{d.ProjectID}
	}
	return scope
}
