package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// withRules puts n rules into the default policy for code, and returns its id.
func withRules(t testing.TB, s *store.Store, d redoubt.Deployment, n int) (policyID int64) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		rules := make([]*redoubt.Rule, n)
		for i := range rules {
			rules[i] = &redoubt.Rule{Name: fmt.Sprint("rules.r", i), IssueType: redoubt.SAST, Severity: redoubt.SeverityHigh, CWE: []string{"CWE-1"}}
		}
		if _, err := tx.PutRules(ctx, rules); err != nil {
			return err
		}
		policies, err := tx.Policies(ctx)
		policyID = policies[0].ID
		return err
	})
	return policyID
}

func TestPolicyRulesArePagedById(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		policy := withRules(t, s, d, 5)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for _, limit := range []int{1, 2, 5, 6} {
				var names []string
				var after int64
				for more := true; more; {
					var page []redoubt.PolicyRule
					var err error
					if page, more, err = tx.PolicyRules(ctx, policy, after, limit); err != nil || len(page) > limit {
						t.Fatalf("a page of %d: %v", len(page), err)
					}
					for _, p := range page {
						if p.ID <= after || p.PolicyID != policy || p.Rule.ID == 0 || p.Mode != redoubt.ModeMonitor || p.Served {
							t.Errorf("after %d comes %+v", after, p)
						}
						same(t, "the rule's content", p.Rule.CWE, []string{"CWE-1"})
						after = p.ID
						names = append(names, p.Rule.Name)
					}
				}
				same(t, fmt.Sprint("by ", limit), names, []string{"rules.r0", "rules.r1", "rules.r2", "rules.r3", "rules.r4"})
			}
			_, _, err := tx.PolicyRules(ctx, policy+1000, 0, 10)
			fails(t, "rules of an unknown policy", err, redoubt.ErrNotFound)
			_, err = tx.Policy(ctx, policy+1000)
			fails(t, "an unknown policy", err, redoubt.ErrNotFound)
			return nil
		})
	})
}

func TestRuleModeIsSet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		policy := withRules(t, s, d, 2)
		setMode := func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.SetRuleMode(ctx, policy, "rules.r1", redoubt.ModeBlock)
			if err != nil {
				return err
			}
			page, _, err := tx.PolicyRules(ctx, policy, 0, 10)
			same(t, "read again", page[1], got)
			if got.Mode != redoubt.ModeBlock || got.LastChangeBy != storetest.Actor.String() || page[0].Mode != redoubt.ModeMonitor {
				t.Errorf("after setting one's mode they are %+v", page)
			}
			return err
		}
		before := deployment(t, s, d.Slug)
		update(t, s, d, setMode)
		after := deployment(t, s, d.Slug)
		same(t, "the version's growth", after.Version-before.Version, int64(1))
		trail := events(t, s, d)
		last := trail[len(trail)-1]
		same(t, "the trail", []string{last.Action, last.Subject, last.Before, last.After},
			[]string{"policy.set_rule_mode", fmt.Sprintf("policy:%d/rules.r1", policy), `{"mode":"monitor"}`, `{"mode":"block"}`})
		update(t, s, d, setMode)
		same(t, "the deployment after setting it again", deployment(t, s, d.Slug), after)

		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SetRuleMode(ctx, policy, "rules.none", redoubt.ModeBlock)
			fails(t, "an unknown rule", err, redoubt.ErrNotFound)
			_, err = tx.SetRuleMode(ctx, policy+1000, "rules.r1", redoubt.ModeBlock)
			fails(t, "an unknown policy", err, redoubt.ErrNotFound)
			_, err = tx.SetRuleMode(ctx, policy, "rules.r1", 0)
			invalid(t, "no mode", err, "mode")
			return nil
		})
	})
}
