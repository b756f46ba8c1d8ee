package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// secretIDs returns the ids of all pages of a filter, with two rows per page.
func (d tenant) secretIDs(f model.SecretFilter) (ids []int64) {
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
		secret := func(i int, w *model.FindingWrite) {
			w.IssueType, w.SecretType = model.Secrets, []string{"AWS", "GitHub"}[i%2]
			w.Severity = model.Severity(i%4 + 1)
			w.ValidationState = model.ValidationState(i%3 + 1)
			w.State = model.State(i%4 + 1)
			w.RelevantSince = w.RelevantSince.Add(time.Duration(i) * time.Hour)
			if i == 5 {
				w.Ref = "refs/heads/topic"
			}
		}
		d.findings(p, 3, nil) // findings of code
		writes := append(d.findings(p, 9, secret), d.findings(other, 2, secret)...)
		d.update(func(ctx context.Context, tx *store.Tx) error { // the first one is ignored
			return tx.UpdateTriage(ctx, []model.TriageEvent{
				{LineageID: writes[0].LineageID, At: tx.Now(), After: model.Triage{State: model.TriageIgnored}},
			})
		})
		tests := []struct {
			name    string
			filter  model.SecretFilter
			matches func(i int, w model.FindingWrite) bool
		}{
			{"all", model.SecretFilter{}, func(int, model.FindingWrite) bool { return true }},
			{"project", model.SecretFilter{ProjectIDs: []int64{other.ID}}, func(_ int, w model.FindingWrite) bool { return w.ProjectID == other.ID }},
			{"visible", model.SecretFilter{Visible: model.ProjectGlobs{"acme/*"}}, func(_ int, w model.FindingWrite) bool { return w.ProjectID == p.ID }},
			{"ref", model.SecretFilter{Ref: "refs/heads/topic"}, func(_ int, w model.FindingWrite) bool { return w.Ref == "refs/heads/topic" }},
			{"since", model.SecretFilter{Since: writes[4].RelevantSince}, func(_ int, w model.FindingWrite) bool { return !w.RelevantSince.Before(writes[4].RelevantSince) }},
			{"type", model.SecretFilter{SecretTypes: []string{"GitHub"}}, func(_ int, w model.FindingWrite) bool { return w.SecretType == "GitHub" }},
			{"severity", model.SecretFilter{Severities: []model.Severity{model.SeverityLow}}, func(_ int, w model.FindingWrite) bool { return w.Severity == model.SeverityLow }},
			{"validation", model.SecretFilter{ValidationStates: []model.ValidationState{model.ConfirmedValid}}, func(_ int, w model.FindingWrite) bool { return w.ValidationState == model.ConfirmedValid }},
			{"open", model.SecretFilter{Statuses: []model.Status{model.StatusOpen}}, func(i int, w model.FindingWrite) bool { return w.State == model.Unresolved && i != 0 }},
			{"ignored or fixed", model.SecretFilter{Statuses: []model.Status{model.StatusIgnored, model.StatusFixed}}, func(i int, w model.FindingWrite) bool {
				return w.State != model.Unresolved || i == 0
			}},
		}
		for _, test := range tests {
			var want []int64
			for i, w := range writes {
				if w.State != model.StateRemoved && test.matches(i, w) {
					want = append(want, w.ID)
				}
			}
			if slices.Sort(want); len(want) == 0 {
				t.Errorf("%s: the test keeps nothing", test.name)
			}
			same(t, test.name, d.secretIDs(test.filter), want)
		}
		same(t, "visible to no user", d.secretIDs(model.SecretFilter{Visible: model.ProjectGlobs{"none/*"}}), []int64{})
	})
}

func TestSecretRules(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d2, err := s.CreateDeployment(t.Context(), "other", "Other", storetest.Actor)
		d.check(err)
		stored, served := model.SecretRule{Tool: "gitleaks", Name: "jwt"}, model.SecretRule{Tool: "semgrep", Name: "served"}
		put := func(d tenant, rules ...model.SecretRule) {
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.PutSecretRules(ctx, rules) })
		}
		put(tenant{t, s, d2.ID}, model.SecretRule{Tool: "gitleaks", Name: "theirs"})
		d.putRules(&model.Rule{Name: "imported", IssueType: model.Secrets})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			for name, product := range map[string]model.IssueType{"served": model.Secrets, "code": model.SAST} {
				if _, err := tx.ServeRule(ctx, store.Serving{Rule: model.Rule{Name: name, IssueType: product}, Text: []byte(`{}`)}); err != nil {
					return err
				}
			}
			return nil
		})
		put(d, stored)
		put(d, stored)
		rules := func() (rules map[model.SecretRule]bool) {
			d.view(func(ctx context.Context, tx *store.Tx) (err error) {
				rules, err = tx.SecretRules(ctx)
				return err
			})
			return rules
		}
		same(t, "rules", rules(), map[model.SecretRule]bool{stored: true, served: false})
		put(d, served)
		same(t, "once the served one is settled", rules(), map[model.SecretRule]bool{stored: true, served: true})
	})
}

// TestConcealFindings checks that exactly the findings of CodeFindings are rewritten.
func TestConcealFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		writes := d.findings(p, 4, func(i int, w *model.FindingWrite) {
			w.RuleName, w.Source = []string{"r", "r", "r", "other"}[i], []string{"semgrep", "semgrep:nightly", "bandit", "semgrep"}[i]
			w.Body, w.Evidence = []byte(`"rule_message":"raw"`), []byte(`{"code":"raw"}`)
		})
		var got []model.FindingWrite
		read := func() {
			d.view(func(ctx context.Context, tx *store.Tx) (err error) {
				got, err = tx.CodeFindings(ctx, []model.SecretRule{{Tool: "semgrep", Name: "r"}})
				return err
			})
		}
		read()
		if len(got) != 2 || got[0].ID != writes[0].ID || got[1].ID != writes[1].ID || string(got[0].Body) != `"rule_message":"raw"` || string(got[1].Evidence) != `{"code":"raw"}` {
			t.Fatalf("findings of the rule: %+v", got)
		}
		d.update(func(ctx context.Context, tx *store.Tx) error {
			for i := range got {
				got[i].IssueType, got[i].Body, got[i].Evidence = model.Secrets, []byte(`"rule_message":"r"`), []byte(`{}`)
				got[i].Identity = model.Identity{Kind: model.IdentitySecret, Hash: model.Digest{byte(i + 1)}}
				link := model.IdentityLink{Identity: got[i].Identity, LineageID: got[i].LineageID}
				if err := tx.AddIdentities(ctx, p.ID, []model.IdentityLink{link}); err != nil {
					return err
				}
			}
			return tx.ConcealFindings(ctx, got)
		})
		old := []model.Identity{writes[0].Identity, writes[1].Identity, writes[2].Identity}
		secrets := []model.Identity{got[0].Identity, got[1].Identity}
		read()
		same(t, "findings of code that are left", len(got), 0)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			first, err := tx.Finding(ctx, writes[0].ID)
			if err != nil || first.IssueType != model.Secrets || string(first.Body) != `"rule_message":"r"` || string(first.Evidence) != `{}` {
				t.Errorf("the finding is %+v, %v", first, err)
			}
			before, err := tx.LineagesOf(ctx, p.ID, old)
			if err != nil || len(before) != 1 || before[old[2]].ID != writes[2].LineageID {
				t.Errorf("identities that were: %v, %v; want that of the other tool alone", before, err)
			}
			now, err := tx.LineagesOf(ctx, p.ID, secrets)
			if err != nil || len(now) != 2 {
				t.Errorf("identities that are: %v, %v", now, err)
			}
			return nil
		})
		var actions []string
		d.view(func(ctx context.Context, tx *store.Tx) error {
			events, err := tx.AuditEvents(ctx, 0, 1000)
			for _, e := range events {
				if e.Action == "rule.conceal" {
					actions = append(actions, e.Subject+" "+e.After)
				}
			}
			return err
		})
		same(t, "audit", actions, []string{`rule:r {"findings":2}`})
	})
}

// TestConcealFindingsTakesLinearTime checks that the time grows linearly with the number
// of findings, because others wait meanwhile.
func TestConcealFindingsTakesLinearTime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		took := func(name string, n int) time.Duration {
			writes := d.findings(d.project(name), n, func(int, *model.FindingWrite) {})
			for i := range writes {
				writes[i].IssueType, writes[i].Body, writes[i].Evidence = model.Secrets, []byte(`"rule_message":"r"`), []byte(`{}`)
				writes[i].Identity = model.NumberedIdentity(model.IdentitySecret, model.Digest{1}, int64(i))
			}
			begun := time.Now()
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.ConcealFindings(ctx, writes) })
			return time.Since(begun)
		}
		var few, many time.Duration
		for i := range 3 { // a busy machine may slow one of them down
			few, many = took(fmt.Sprint("acme/few", i), 1000), took(fmt.Sprint("acme/many", i), 8000)
			if many <= 24*few {
				return
			}
		}
		t.Errorf("1000 findings take %v, 8000 take %v", few, many)
	})
}
