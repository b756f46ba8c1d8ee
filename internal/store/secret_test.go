package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// secretIDs walks the pages of a filter, two by two.
func (d tenant) secretIDs(f redoubt.SecretFilter) (ids []int64) {
	d.t.Helper()
	after := int64(0)
	for more := true; more; {
		d.view(func(ctx context.Context, tx *store.Tx) error {
			page, m, err := tx.SecretsPage(ctx, f, after, 2)
			if more = m; len(page) > 2 || m && len(page) < 2 {
				d.t.Errorf("a page of %d secrets, more %v", len(page), m)
			}
			for _, o := range page {
				after = o.ID
				ids = append(ids, o.ID)
			}
			return err
		})
	}
	return ids
}

func TestSecretsPage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, other := d.project("acme/payments"), d.project("other/repo")
		secret := func(i int, w *redoubt.FindingWrite) {
			w.IssueType, w.SecretType = redoubt.Secrets, []string{"AWS", "GitHub"}[i%2]
			w.Severity = redoubt.Severity(i%4 + 1)
			w.ValidationState = redoubt.ValidationState(i%3 + 1)
			w.State = redoubt.State(i%4 + 1)
			w.RelevantSince = w.RelevantSince.Add(time.Duration(i) * time.Hour)
			if i == 5 {
				w.Ref = "refs/heads/topic"
			}
		}
		d.findings(p, 3, nil) // code
		writes := append(d.findings(p, 9, secret), d.findings(other, 2, secret)...)
		d.update(func(ctx context.Context, tx *store.Tx) error { // the first is ignored
			return tx.UpdateTriage(ctx, []redoubt.TriageEvent{
				{LineageID: writes[0].LineageID, At: tx.Now(), After: redoubt.Triage{State: redoubt.TriageIgnored}},
			})
		})
		tests := []struct {
			name   string
			filter redoubt.SecretFilter
			keep   func(i int, w redoubt.FindingWrite) bool
		}{
			{"all", redoubt.SecretFilter{}, func(int, redoubt.FindingWrite) bool { return true }},
			{"project", redoubt.SecretFilter{ProjectIDs: []int64{other.ID}}, func(_ int, w redoubt.FindingWrite) bool { return w.ProjectID == other.ID }},
			{"visible", redoubt.SecretFilter{Visible: redoubt.ProjectGlobs{"acme/*"}}, func(_ int, w redoubt.FindingWrite) bool { return w.ProjectID == p.ID }},
			{"ref", redoubt.SecretFilter{Ref: "refs/heads/topic"}, func(_ int, w redoubt.FindingWrite) bool { return w.Ref == "refs/heads/topic" }},
			{"since", redoubt.SecretFilter{Since: writes[4].RelevantSince}, func(_ int, w redoubt.FindingWrite) bool { return !w.RelevantSince.Before(writes[4].RelevantSince) }},
			{"type", redoubt.SecretFilter{SecretTypes: []string{"GitHub"}}, func(_ int, w redoubt.FindingWrite) bool { return w.SecretType == "GitHub" }},
			{"severity", redoubt.SecretFilter{Severities: []redoubt.Severity{redoubt.SeverityLow}}, func(_ int, w redoubt.FindingWrite) bool { return w.Severity == redoubt.SeverityLow }},
			{"validation", redoubt.SecretFilter{ValidationStates: []redoubt.ValidationState{redoubt.ConfirmedValid}}, func(_ int, w redoubt.FindingWrite) bool { return w.ValidationState == redoubt.ConfirmedValid }},
			{"open", redoubt.SecretFilter{Statuses: []redoubt.Status{redoubt.StatusOpen}}, func(i int, w redoubt.FindingWrite) bool { return w.State == redoubt.Unresolved && i != 0 }},
			{"ignored or fixed", redoubt.SecretFilter{Statuses: []redoubt.Status{redoubt.StatusIgnored, redoubt.StatusFixed}}, func(i int, w redoubt.FindingWrite) bool {
				return w.State != redoubt.Unresolved || i == 0
			}},
		}
		for _, test := range tests {
			var want []int64
			for i, w := range writes {
				if w.State != redoubt.StateRemoved && test.keep(i, w) {
					want = append(want, w.ID)
				}
			}
			if slices.Sort(want); len(want) == 0 {
				t.Errorf("%s: the test keeps nothing", test.name)
			}
			same(t, test.name, d.secretIDs(test.filter), want)
		}
		same(t, "visible to nobody", d.secretIDs(redoubt.SecretFilter{Visible: redoubt.ProjectGlobs{"none/*"}}), []int64{})
	})
}
