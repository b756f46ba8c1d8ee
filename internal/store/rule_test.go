package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// putRules stores rules and returns their ids.
func (d tenant) putRules(rules ...*model.Rule) (ids []int64) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = tx.PutRules(ctx, rules)
		return err
	})
	return ids
}

func TestPutRulesStoresOneRowPerContent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		a1 := &model.Rule{Name: "a", IssueType: model.SAST, Message: "one", CWE: []string{"CWE-79"}, Mode: model.ModeBlock}
		a2 := &model.Rule{Name: "a", IssueType: model.SAST, Message: "two", Mode: model.ModeComment}
		b := &model.Rule{Name: "b\x00\xff", IssueType: model.Secrets, Message: "text with \x00 and \xff"}
		ids := d.putRules(a1, b, a1, a2)
		if ids[0] != ids[2] || ids[0] == ids[3] || ids[0] == ids[1] {
			t.Fatalf("ids %v: want one per content", ids)
		}
		seen := *a2
		seen.ID = 99 // as if read from another database
		d.silently("contents seen before", func(ctx context.Context, tx *store.Tx) error {
			repeated, err := tx.PutRules(ctx, []*model.Rule{&seen, b, a1})
			same(t, "ids", repeated, []int64{ids[3], ids[1], ids[0]})
			return err
		})
		feed := feedOf(d, 0)
		want := *a1
		want.ID = ids[0]
		same(t, "content", feed.Rules[ids[0]], want)
		same(t, "hostile name", feed.Rules[ids[1]].Name, "b\uFFFD\uFFFD")
		_, err := putRulesErr(d, &model.Rule{Name: "no product"})
		if err == nil {
			t.Error("a rule without a product was stored")
		}
	})
}

func putRulesErr(d tenant, r *model.Rule) (ids []int64, err error) {
	return ids, d.s.Update(d.t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		ids, err = tx.PutRules(ctx, []*model.Rule{r})
		return err
	})
}

func TestRulesAreAddedToDefaultPolicy(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.putRules(
			&model.Rule{Name: "asks", IssueType: model.SAST, Mode: model.ModeBlock},
			&model.Rule{Name: "silent", IssueType: model.SCA},
		)
		policies := feedOf(d, 0).Policies
		rules := map[string]model.PolicyRule{}
		for _, r := range feedOf(d, 0).PolicyRules {
			rules[r.Rule.Name] = r
		}
		for name, want := range map[string]struct {
			product model.IssueType
			mode    model.PolicyMode
		}{"asks": {model.SAST, model.ModeBlock}, "silent": {model.SCA, model.ModeMonitor}} {
			r := rules[name]
			if p := policies[r.PolicyID]; p.Product != want.product || !p.Default || r.Mode != want.mode || r.Served || r.LastChangeBy != "" {
				t.Errorf("%s is %+v in %+v", name, r, p)
			}
		}

		// A mode that was set stays when a new content is shown.
		rule := rules["asks"]
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SetRuleMode(ctx, rule.PolicyID, "asks", model.ModeComment)
			return err
		})
		before := d.version()
		d.putRules(&model.Rule{Name: "asks", IssueType: model.SAST, Mode: model.ModeBlock, Message: "newer"})
		fed := feedOf(d, before)
		same(t, "policy rules fed", len(fed.PolicyRules), 1)
		now := fed.PolicyRules[rule.ID]
		same(t, "mode", now.Mode, model.ModeComment)
		same(t, "message", now.Rule.Message, "newer")
	})
}

// TestIncompleteRuleContentLeavesPolicyComplete stores a rule as reported by JSON, then by SARIF, then
// by JSON again. The policy must show the newest content without gaps.
func TestIncompleteRuleContentLeavesPolicyComplete(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		rich := model.Rule{Name: "eqeq", IssueType: model.SAST, Severity: model.SeverityLow, Technologies: []string{"go"}, Mode: model.ModeBlock}
		poor := model.Rule{Name: "eqeq", IssueType: model.SAST, Severity: model.SeverityHigh, Message: "always true"}
		want := rich
		for _, put := range []model.Rule{rich, poor, rich} {
			if put.Message != "" {
				want.Message, want.Severity = put.Message, put.Severity
			}
			d.update(func(ctx context.Context, tx *store.Tx) error {
				if _, err := tx.PutRules(ctx, []*model.Rule{&put}); err != nil {
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
				if diff := cmp.Diff(want, got); diff != "" || shown[0].Mode != model.ModeBlock {
					t.Errorf("the policy shows, in mode %s (-want +got):\n%s", shown[0].Mode, diff)
				}
				return nil
			})
		}
	})
}

// TestServedRuleTextHasPrecedence reports a served rule with fewer and different fields. Only fields
// missing in its text must be used.
func TestServedRuleTextHasPrecedence(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		text := model.Rule{Name: "shell", IssueType: model.SAST, Severity: model.SeverityCritical, Message: "a shell", Mode: model.ModeBlock}
		reported := model.Rule{Name: "shell", IssueType: model.SAST, Severity: model.SeverityHigh, Message: "other", Technologies: []string{"go"}}
		newer := text
		newer.Message = "a shell runs it"
		shows := func(want model.Rule) {
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
		serve := func(r model.Rule) {
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ServeRule(ctx, store.Serving{Rule: r, Text: []byte(`{"id":"shell","message":"` + r.Message + `"}`), Checked: true})
				return err
			})
		}
		serve(text)
		d.putRules(&reported)
		text.Technologies, newer.Technologies = reported.Technologies, reported.Technologies
		shows(text)
		serve(newer)
		shows(newer)
	})
}

// TestRuleLanguages checks that the languages of all contents of a name are returned; reports
// contain none.
func TestRuleLanguages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.putRules(
			&model.Rule{Name: "a", IssueType: model.SAST, Languages: []string{"regex"}},
			&model.Rule{Name: "a", IssueType: model.SAST, Message: "told by a report"},
			&model.Rule{Name: "b", IssueType: model.SAST},
			&model.Rule{Name: "c", IssueType: model.SAST, Languages: []string{"html"}},
		)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.RuleLanguages(ctx, []string{"a", "b", "none"})
			same(t, "languages", got, map[string][]string{"a": {"regex"}, "b": nil})
			return err
		})
	})
}
