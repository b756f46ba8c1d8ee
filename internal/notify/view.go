package notify

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// viewWord is the parameter of a filter that refers to a saved view, as in view=12.
const viewWord = "view"

// savedViewOf returns the id of the saved view in a filter, or 0. A filter with other parameters or
// an invalid id is a *model.InvalidError.
func savedViewOf(filter string) (int64, error) {
	q, broken := url.ParseQuery(filter)
	if !q.Has(viewWord) {
		return 0, nil // other errors are reported when the filter is parsed
	}
	id, err := strconv.ParseInt(q.Get(viewWord), 10, 64)
	if broken != nil || err != nil || id < 1 || len(q) > 1 || len(q[viewWord]) > 1 {
		return 0, model.Invalid("filter", "a saved view must be the only parameter, as in view=12")
	}
	return id, nil
}

// viewed returns a rule with its saved view replaced by the current filter of the view. Other rules
// are unchanged. A deleted or private view, or one of another product, is a *model.InvalidError:
// such a rule matches nothing.
func viewed(ctx context.Context, tx *store.Tx, r model.NotificationRule) (model.NotificationRule, error) {
	id, err := savedViewOf(r.Filter)
	if err != nil || id == 0 {
		return r, err
	}
	v, err := tx.SavedView(ctx, 0, id) // shared views of the deployment
	switch {
	case errors.Is(err, model.ErrNotFound):
		return r, model.Invalid("filter", "the saved view %d was deleted or is not shared", id)
	case err != nil:
		return r, err
	case r.Products != 0 && !r.Products.Has(v.IssueType):
		return r, model.Invalid("filter", "the saved view %d is for %s, which the rule does not include", id, v.IssueType)
	}
	r.Filter, r.Products = v.Query, model.Products(0).With(v.IssueType)
	return r, nil
}

// fault is the reason why a rule cannot be matched, with its filter.
type fault struct {
	problem, filter string
	pause           bool
}

// invalidFilter returns the fault of a rule's filter. An invalid saved view pauses the rule,
// because the person who changed the view may not know of the rule.
func invalidFilter(r model.NotificationRule, err *model.InvalidError) fault {
	if id, bad := savedViewOf(r.Filter); id != 0 || bad != nil {
		return fault{
			"The rule is paused, because its filter is no longer valid: " + err.Error() + ". Set another filter.",
			r.Filter, true,
		}
	}
	return fault{"Its filter is no longer valid: " + err.Error(), r.Filter, false}
}

// openViews replaces the saved views of rules by their current filters. Rules with an invalid view
// are removed from the list.
func (m *matcher) openViews(ctx context.Context, tx *store.Tx) error {
	fit := m.rules[:0]
	for _, r := range m.rules {
		with, err := viewed(ctx, tx, r)
		if err == nil && with.Filter != r.Filter {
			err = m.read(with)
		}
		invalid, ok := errors.AsType[*model.InvalidError](err)
		switch {
		case ok && !r.Paused:
			m.broken[r.ID] = invalidFilter(r, invalid)
		case ok:
		case err != nil:
			return err
		default:
			fit = append(fit, with)
		}
	}
	m.rules = fit
	return nil
}

// read validates the filter of a rule for each of its products.
func (n *Notifier) read(r model.NotificationRule) error {
	selects := false
	for _, t := range productsOf(r) {
		_, of, err := n.Filter(t, r.Filter, n.Clock())
		if err != nil {
			return err
		}
		selects = selects || of
	}
	if !selects {
		return model.Invalid("filter", "the filter uses parameters that findings of these products do not have")
	}
	return nil
}
