package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// putRules stores rules and returns their ids.
func (d tenant) putRules(rules ...*redoubt.Rule) (ids []int64) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = tx.PutRules(ctx, rules)
		return err
	})
	return ids
}

func TestPutRulesKeepsOneRowPerContent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		a1 := &redoubt.Rule{Name: "a", IssueType: redoubt.SAST, Message: "one", CWE: []string{"CWE-79"}, Mode: redoubt.ModeBlock}
		a2 := &redoubt.Rule{Name: "a", IssueType: redoubt.SAST, Message: "two", Mode: redoubt.ModeComment}
		b := &redoubt.Rule{Name: "b\x00\xff", IssueType: redoubt.Secrets, Message: "text with \x00 and \xff"}
		ids := d.putRules(a1, b, a1, a2)
		if ids[0] != ids[2] || ids[0] == ids[3] || ids[0] == ids[1] {
			t.Fatalf("ids %v: want one per content", ids)
		}
		seen := *a2
		seen.ID = 99 // as one read from another place might have
		d.silently("contents seen before", func(ctx context.Context, tx *store.Tx) error {
			again, err := tx.PutRules(ctx, []*redoubt.Rule{&seen, b, a1})
			same(t, "ids", again, []int64{ids[3], ids[1], ids[0]})
			return err
		})
		feed := feedOf(d, 0)
		want := *a1
		want.ID = ids[0]
		same(t, "content", feed.Rules[ids[0]], want)
		same(t, "hostile name", feed.Rules[ids[1]].Name, "b\uFFFD\uFFFD")
		_, err := putRulesErr(d, &redoubt.Rule{Name: "no product"})
		if err == nil {
			t.Error("a rule without a product was stored")
		}
	})
}

func putRulesErr(d tenant, r *redoubt.Rule) (ids []int64, err error) {
	return ids, d.s.Update(d.t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = tx.PutRules(ctx, []*redoubt.Rule{r})
		return err
	})
}

func TestRulesEnterTheDefaultPolicyOfTheirProduct(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.putRules(
			&redoubt.Rule{Name: "asks", IssueType: redoubt.SAST, Mode: redoubt.ModeBlock},
			&redoubt.Rule{Name: "silent", IssueType: redoubt.SCA},
		)
		policies := feedOf(d, 0).Policies
		rules := map[string]redoubt.PolicyRule{}
		for _, r := range feedOf(d, 0).PolicyRules {
			rules[r.Rule.Name] = r
		}
		for name, want := range map[string]struct {
			product redoubt.IssueType
			mode    redoubt.PolicyMode
		}{"asks": {redoubt.SAST, redoubt.ModeBlock}, "silent": {redoubt.SCA, redoubt.ModeMonitor}} {
			r := rules[name]
			if p := policies[r.PolicyID]; p.Product != want.product || !p.Default || r.Mode != want.mode || r.Served || r.LastChangeBy != "" {
				t.Errorf("%s is %+v in %+v", name, r, p)
			}
		}

		// A mode that somebody set outlives a new content, which is shown.
		asks := rules["asks"]
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SetRuleMode(ctx, asks.PolicyID, "asks", redoubt.ModeComment)
			return err
		})
		before := d.version()
		d.putRules(&redoubt.Rule{Name: "asks", IssueType: redoubt.SAST, Mode: redoubt.ModeBlock, Message: "newer"})
		fed := feedOf(d, before)
		same(t, "policy rules fed", len(fed.PolicyRules), 1)
		now := fed.PolicyRules[asks.ID]
		same(t, "mode", now.Mode, redoubt.ModeComment)
		same(t, "message", now.Rule.Message, "newer")
	})
}

// TestPoorerContentLeavesThePolicyComplete puts a rule as JSON tells it, then as
// SARIF does, then as JSON again: the policy shows the newest, without gaps.
func TestPoorerContentLeavesThePolicyComplete(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		rich := redoubt.Rule{Name: "eqeq", IssueType: redoubt.SAST, Severity: redoubt.SeverityLow, Technologies: []string{"go"}, Mode: redoubt.ModeBlock}
		poor := redoubt.Rule{Name: "eqeq", IssueType: redoubt.SAST, Severity: redoubt.SeverityHigh, Message: "always true"}
		want := rich
		for _, put := range []redoubt.Rule{rich, poor, rich} {
			if put.Message != "" {
				want.Message, want.Severity = put.Message, put.Severity
			}
			d.update(func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.PutRules(ctx, []*redoubt.Rule{&put}); err != nil {
					return err
				}
				policies, err := tx.Policies(ctx)
				if err != nil {
					return err
				}
				shown, _, err := tx.PolicyRules(ctx, policies[0].ID, 0, 10)
				if err != nil || len(shown) != 1 {
					t.Fatalf("the policy shows %d rules, %v", len(shown), err)
				}
				got := shown[0].Rule
				got.ID = 0
				if diff := cmp.Diff(want, got); diff != "" || shown[0].Mode != redoubt.ModeBlock {
					t.Errorf("the policy shows, in mode %s (-want +got):\n%s", shown[0].Mode, diff)
				}
				return nil
			})
		}
	})
}

// TestAServedRuleTellsBest has a report say less, and otherwise, of a rule whose
// text the server has: only what the text leaves out is taken from it.
func TestAServedRuleTellsBest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		text := redoubt.Rule{Name: "shell", IssueType: redoubt.SAST, Severity: redoubt.SeverityCritical, Message: "a shell", Mode: redoubt.ModeBlock}
		told := redoubt.Rule{Name: "shell", IssueType: redoubt.SAST, Severity: redoubt.SeverityHigh, Message: "other", Technologies: []string{"go"}}
		newer := text
		newer.Message = "a shell runs it"
		shows := func(want redoubt.Rule) {
			t.Helper()
			d.view(func(ctx context.Context, tx *store.Tx) error {
				policies, err := tx.Policies(ctx)
				if err != nil {
					return err
				}
				shown, _, err := tx.PolicyRules(ctx, policies[0].ID, 0, 10)
				if err != nil || len(shown) != 1 {
					t.Fatalf("the policy shows %d rules, %v", len(shown), err)
				}
				got := shown[0].Rule
				got.ID = 0
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the policy shows (-want +got):\n%s", diff)
				}
				return nil
			})
		}
		serve := func(r redoubt.Rule) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ServeRule(ctx, store.Serving{Rule: r, Text: []byte(`{"id":"shell","message":"` + r.Message + `"}`), Checked: true})
				return err
			})
		}
		serve(text)
		d.putRules(&told)
		text.Technologies, newer.Technologies = told.Technologies, told.Technologies
		shows(text)
		serve(newer)
		shows(newer)
	})
}

// TestRuleLanguages are those of all contents of a name: a report tells none.
func TestRuleLanguages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.putRules(
			&redoubt.Rule{Name: "a", IssueType: redoubt.SAST, Languages: []string{"regex"}},
			&redoubt.Rule{Name: "a", IssueType: redoubt.SAST, Message: "told by a report"},
			&redoubt.Rule{Name: "b", IssueType: redoubt.SAST},
			&redoubt.Rule{Name: "c", IssueType: redoubt.SAST, Languages: []string{"html"}},
		)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.RuleLanguages(ctx, []string{"a", "b", "none"})
			same(t, "languages", got, map[string][]string{"a": {"regex"}, "b": nil})
			return err
		})
	})
}
