package store

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// secretStep is the most occurrences that a page of secrets looks at in one go.
const secretStep = 5000

// SecretsPage lists secrets with all that is kept of them, by id, after the one
// with the given id, limit at most, and tells whether there are more. Removed
// ones are not listed (decisions §4).
func (tx *Tx) SecretsPage(ctx context.Context, f redoubt.SecretFilter, afterID int64, limit int) ([]Occurrence, bool, error) {
	seen, all, err := tx.seenIDs(ctx, f.Visible)
	if err != nil {
		return nil, false, err
	}
	visible := func(projectID int64) bool { return all || slices.Contains(seen, projectID) }
	list := []Occurrence{}
	for step := limit + 1; len(list) <= limit; step = min(2*step, max(secretStep, limit+1)) {
		// The type stands in the text, so that the index on secrets applies.
		part, err := many(ctx, tx, scanOccurrence, occurrenceSelect+` AND f.issue_type = 3 AND f.id > $2 ORDER BY f.id LIMIT $3`, afterID, step)
		if err != nil {
			return nil, false, err
		}
		for _, o := range part {
			if visible(o.ProjectID) && keepsSecret(f, o) {
				list = append(list, o)
			}
		}
		if len(part) < step {
			break
		}
		afterID = part[len(part)-1].ID
	}
	list, more := page(list, limit)
	return list, more, nil
}

// keepsSecret reports whether an occurrence passes the filter, but for who may
// see it.
func keepsSecret(f redoubt.SecretFilter, o Occurrence) bool {
	status := redoubt.StatusOf(o.State, o.Lineage.Triage.State)
	return status != 0 && oneOf(f.Statuses, status) &&
		(f.Ref == "" || f.Ref == o.Ref) && !o.RelevantSince.Before(f.Since) &&
		oneOf(f.ProjectIDs, o.ProjectID) && oneOf(f.Severities, o.Severity) &&
		oneOf(f.SecretTypes, o.SecretType) && oneOf(f.ValidationStates, o.ValidationState)
}

// oneOf reports whether a value is in a list, of which an empty one does not
// filter.
func oneOf[T comparable](list []T, value T) bool {
	return len(list) == 0 || slices.Contains(list, value)
}
