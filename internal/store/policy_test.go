package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// withRules adds n rules to the default policy for code and returns its id.
func withRules(t testing.TB, s *store.Store, d model.Deployment, n int) (policyID int64) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		rules := make([]*model.Rule, n)
		for i := range rules {
			rules[i] = &model.Rule{Name: fmt.Sprint("rules.r", i), IssueType: model.SAST, Severity: model.SeverityHigh, CWE: []string{"CWE-1"}}
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

func TestPolicyRulesArePagedByID(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		policy := withRules(t, s, d, 5)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for _, limit := range []int{1, 2, 5, 6} {
				var names []string
				var after int64
				for more := true; more; {
					var page []model.PolicyRule
					var err error
					if page, more, err = tx.PolicyRules(ctx, policy, after, limit); err != nil || len(page) > limit {
						t.Fatalf("a page of %d: %v", len(page), err)
					}
					for _, p := range page {
						if p.ID <= after || p.PolicyID != policy || p.Rule.ID == 0 || p.Mode != model.ModeMonitor || p.Served {
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
			fails(t, "rules of an unknown policy", err, model.ErrNotFound)
			_, err = tx.Policy(ctx, policy+1000)
			fails(t, "an unknown policy", err, model.ErrNotFound)
			return nil
		})
	})
}

func TestSetRuleMode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		policy := withRules(t, s, d, 2)
		setMode := func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.SetRuleMode(ctx, policy, "rules.r1", model.ModeBlock)
			if err != nil {
				return err
			}
			page, _, err := tx.PolicyRules(ctx, policy, 0, 10)
			same(t, "read again", page[1], got)
			if got.Mode != model.ModeBlock || got.LastChangeBy != storetest.Actor.String() || page[0].Mode != model.ModeMonitor {
				t.Errorf("after setting one's mode they are %+v", page)
			}
			return err
		}
		before := deployment(t, s, d.Slug)
		update(t, s, d, setMode)
		after := deployment(t, s, d.Slug)
		same(t, "the version's growth", model.Commits(after.Version)-model.Commits(before.Version), int64(1))
		trail := events(t, s, d)
		last := trail[len(trail)-1]
		same(t, "the trail", []string{last.Action, last.Subject, last.Before, last.After},
			[]string{"policy.set_rule_mode", fmt.Sprintf("policy:%d/rules.r1", policy), `{"mode":"monitor"}`, `{"mode":"block"}`})
		update(t, s, d, setMode)
		same(t, "the deployment after setting it again", deployment(t, s, d.Slug), after)

		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SetRuleMode(ctx, policy, "rules.none", model.ModeBlock)
			fails(t, "an unknown rule", err, model.ErrNotFound)
			_, err = tx.SetRuleMode(ctx, policy+1000, "rules.r1", model.ModeBlock)
			fails(t, "an unknown policy", err, model.ErrNotFound)
			_, err = tx.SetRuleMode(ctx, policy, "rules.r1", 0)
			invalid(t, "no mode", err, "mode")
			return nil
		})
	})
}

// TestSetRuleModes checks that SetRuleModes is equivalent to several SetRuleMode and needs
// few round trips.
func TestSetRuleModes(t *testing.T) {
	proxy, config := storetest.Through(t, storetest.Database(t, "postgres", storetest.NewClock()))
	for engine, s := range map[string]*store.Store{"postgres": storetest.Open(t, config), "sqlite": storetest.Open(t, storetest.Database(t, "sqlite", storetest.NewClock()))} {
		d := storetest.Deployment(t, s)
		policy := withRules(t, s, d, 60)
		set := func(from, to int, mode model.PolicyMode) int {
			before := proxy.RoundTrips()
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				rules, _, err := tx.PolicyRules(ctx, policy, 0, 100)
				if err != nil {
					return err
				}
				return tx.SetRuleModes(ctx, policy, rules[from:to], mode)
			})
			return proxy.RoundTrips() - before
		}
		set(0, 1, model.ModeComment) // prepares the statements
		trail, one := len(events(t, s, d)), set(1, 2, model.ModeBlock)
		if many := set(0, 50, model.ModeBlock); many > one {
			t.Errorf("%s: 50 rules took %d round trips, one took %d", engine, many, one)
		}
		if n := len(events(t, s, d)) - trail; n != 50 { // one rule already had the mode
			t.Errorf("%s: the trail tells of %d changes, want 50", engine, n)
		}
		version := deployment(t, s, d.Slug).Version
		set(0, 50, model.ModeBlock)
		if now := deployment(t, s, d.Slug).Version; now != version {
			t.Errorf("%s: what changes nothing makes version %d of %d", engine, now, version)
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			rules, _, err := tx.PolicyRules(ctx, policy, 0, 100)
			for i, r := range rules {
				if (r.Mode == model.ModeBlock) != (i < 50) || i < 50 && r.LastChangeBy != storetest.Actor.String() {
					t.Errorf("%s: rule %d is in mode %v by %q", engine, i, r.Mode, r.LastChangeBy)
				}
			}
			invalid(t, "no mode", tx.SetRuleModes(ctx, policy, rules, 0), "mode")
			return err
		})
	}
}

func further(name string) model.Policy {
	return model.Policy{
		Name: name, Product: model.SAST, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"acme/*"}, Tags: []string{"pci"}},
		Excludes: model.PathGlobs{"vendor/", "*.gen.go"}, BlockAll: true,
	}
}

func TestCreateUpdateAndDeletePolicies(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		var made model.Policy
		update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
			made, err = tx.CreatePolicy(ctx, further("Card payments!"))
			return err
		})
		want := further("Card payments!")
		want.ID, want.Slug = made.ID, "card-payments"
		same(t, "made", made, want)
		fails(t, "the same slug again", s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreatePolicy(ctx, further("card payments"))
			return err
		}), model.ErrConflict)
		before := deployment(t, s, d.Slug).Version
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			p := made
			p.Name, p.BlockAll, p.Slug, p.Product = "Cards", false, "other", model.SCA
			was, err := tx.UpdatePolicy(ctx, p)
			same(t, "as it was", was, made)
			want.Name, want.BlockAll = "Cards", false
			now, err2 := tx.Policy(ctx, made.ID)
			same(t, "changed", now, want)
			_, err3 := tx.UpdatePolicy(ctx, now)
			return errors.Join(err, err2, err3)
		})
		same(t, "the version's growth", model.Commits(deployment(t, s, d.Slug).Version)-model.Commits(before), int64(1))
		trail := events(t, s, d)
		last := trail[len(trail)-1]
		same(t, "the trail", []string{last.Action, last.Before, last.After},
			[]string{"policy.update", `{"block_all":true,"name":"Card payments!"}`, `{"name":"Cards"}`})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.DeletePolicy(ctx, made.ID); err != nil {
				return err
			}
			fails(t, "deleting it twice", tx.DeletePolicy(ctx, made.ID), model.ErrNotFound)
			policies, err := tx.Policies(ctx)
			fails(t, "deleting a default policy", tx.DeletePolicy(ctx, policies[0].ID), model.ErrConflict)
			same(t, "remaining", len(policies), 3)
			return err
		})
	})
}

func TestInvalidPoliciesAreRejected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for location, change := range map[string]func(*model.Policy){
			"name":     func(p *model.Policy) { p.Name, p.Slug = "", "x" },
			"slug":     func(p *model.Policy) { p.Slug = "semgrep-rule-lints" },
			"product":  func(p *model.Policy) { p.Product = 0 },
			"tags":     func(p *model.Policy) { p.Scope.Tags = []string{strings.Repeat("x", 65)} },
			"projects": func(p *model.Policy) { p.Scope.Projects = model.ProjectGlobs{""} },
			"excludes": func(p *model.Policy) { p.Excludes = model.PathGlobs{"!src"} },
		} {
			err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				p := further("x1")
				change(&p)
				_, err := tx.CreatePolicy(ctx, p)
				return err
			})
			invalid(t, "a bad "+location, err, location)
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			policies, err := tx.Policies(ctx)
			policies[0].Scope.Tags = []string{"pci"}
			_, bad := tx.UpdatePolicy(ctx, policies[0])
			invalid(t, "a default policy for some projects", bad, "scope")
			return err
		})
	})
}

// TestRuleInSeveralPoliciesHasOneText serves a rule in two policies. Each must have its own mode
// and both the newest text.
func TestRuleInSeveralPoliciesHasOneText(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.CreatePolicy(ctx, further("further"))
			if err != nil {
				return err
			}
			rule := model.Rule{Name: "r", IssueType: model.SAST, Message: "one"}
			if _, err := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"r"}`), Starter: true, PolicyID: p.ID, Mode: model.ModeBlock}); err != nil {
				return err
			}
			listed, err := tx.ListedRules(ctx, []int64{p.ID})
			same(t, "listed", listed, map[string]bool{"r": true})
			policies, err2 := tx.Policies(ctx)
			listed, err3 := tx.ListedRules(ctx, []int64{policies[0].ID})
			same(t, "listed by default", listed, map[string]bool{})
			rule.Message = "two"
			another := store.Serving{Rule: rule, Text: []byte(`{"id":"r","message":"two"}`)}
			_, bad := tx.ServeRule(ctx, another)
			fails(t, "another text in a policy without the rule", bad, model.ErrConflict)
			_, err4 := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{"id":"r"}`)})
			_, err9 := tx.ServeRule(ctx, another)
			served, err5 := tx.ServedRules(ctx)
			var descriptions []string
			for _, r := range served {
				descriptions = append(descriptions, fmt.Sprintf("%v %s %d %s %v", r.PolicyID == p.ID, r.Mode, r.Version, r.Rule.Message, r.Starter))
			}
			same(t, "served", descriptions, []string{"true block 2 two false", "false monitor 2 two false"})
			versions, err6 := tx.RuleVersions(ctx, "r")
			same(t, "versions", len(versions), 2)
			same(t, "the first", versions[0], model.RuleVersion{Version: 1, Text: []byte(`{"id":"r"}`), Starter: true, AddedAt: tx.Now(), AddedBy: storetest.Actor.String()})
			rule.IssueType = model.Secrets
			_, bad = tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{}`)})
			fails(t, "the rule for another product", bad, model.ErrConflict)
			_, bad = tx.ServeRule(ctx, store.Serving{Rule: model.Rule{Name: "s", IssueType: model.Secrets}, Text: []byte(`{}`), PolicyID: p.ID})
			fails(t, "a rule for secrets in a policy for code", bad, model.ErrConflict)
			err7 := tx.DeletePolicy(ctx, p.ID)
			served, err8 := tx.ServedRules(ctx)
			same(t, "served once the policy is deleted", len(served), 1)
			return errors.Join(err, err2, err3, err4, err5, err6, err7, err8, err9)
		})
	})
}

// TestPolicyDueDays sets and removes the due days of a policy, each with an audit event.
func TestPolicyDueDays(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			policies, err := tx.Policies(ctx)
			d.check(err)
			for _, due := range []model.DueDays{{Critical: 7, High: 30}, {Low: 1}, {}} {
				p := policies[0]
				p.Due = due
				_, err := tx.UpdatePolicy(ctx, p)
				d.check(err)
				stored, err := tx.Policy(ctx, p.ID)
				d.check(err)
				same(t, "days", stored.Due, due)
			}
			p := policies[0]
			p.Due.NotRated = 5
			_, err = tx.UpdatePolicy(ctx, p)
			if _, invalid := errors.AsType[*model.InvalidError](err); !invalid {
				t.Errorf("due days of unrated code: %v", err)
			}
			return nil
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			entries, err := tx.AuditEvents(ctx, 0, 100)
			trail := ""
			for _, e := range entries {
				trail += e.After
			}
			if !strings.Contains(trail, `"due_days":{"critical":7,"high":30}`) {
				t.Errorf("the audit trail: %s", trail)
			}
			return err
		})
	})
}
