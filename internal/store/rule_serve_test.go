package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// servings returns rules with numbers in [from, to) and texts of a version. Every third one is a
// rule for secrets.
func servings(from, to, version int) (list []store.Serving) {
	for i := from; i < to; i++ {
		r := model.Rule{Name: fmt.Sprint("rule-", i), IssueType: model.SAST, Message: fmt.Sprint("version ", version)}
		if i%3 == 0 {
			r.IssueType = model.Secrets
		}
		list = append(list, store.Serving{Rule: r, Text: fmt.Appendf(nil, `{"id":%q,"message":%q}`, r.Name, r.Message), Checked: version > 1, Mode: model.PolicyMode(version % 4)})
	}
	return list
}

func (d tenant) serve(list []store.Serving) (served []model.ServedRule) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		served, err = tx.ServeRules(ctx, list)
		return err
	})
	return served
}

// TestServingRulesNeedsFewStatements checks new rules, changed texts, unchanged rules,
// and reports about them.
func TestServingRulesNeedsFewStatements(t *testing.T) {
	counts := map[string]func() int{}
	proxy, far := storetest.Through(t, storetest.Database(t, "postgres", storetest.NewClock()))
	near := storetest.Database(t, "sqlite", storetest.NewClock())
	stores := map[string]*store.Store{"postgres": storetest.Open(t, far), "sqlite": storetest.Open(t, near)}
	counts["postgres"], counts["sqlite"] = proxy.RoundTrips, stores["sqlite"].CountStatements(t)
	for engine, s := range stores {
		d := newTenant(t, s)
		cost := func(do func()) int {
			before := counts[engine]()
			do()
			return counts[engine]() - before
		}
		put := func(from, to, version int) func() {
			return func() {
				var rules []*model.Rule
				for _, s := range servings(from, to, version) {
					s.Rule.CWE = []string{fmt.Sprint("CWE-", version)}
					rules = append(rules, &s.Rule)
				}
				d.putRules(rules...)
			}
		}
		for version, name := range []string{"new", "with other texts", "with others again", "with others once more", "as they are"} {
			version = min(version, 3) // the last round is unchanged
			serve := func(from, to int) func() { return func() { d.serve(servings(from, to, version)) } }
			serve(0, 2)() // prepares the statements
			few, many := cost(serve(2, 4)), cost(serve(6, 206))
			t.Logf("%s: 2 rules %s cost %d, 200 %d", engine, name, few, many)
			if few == 0 || many > few+6 {
				t.Errorf("%s: 2 rules %s cost %d statements, 200 took %d", engine, name, few, many)
			}
		}
		put(0, 2, 7)()
		few, many := cost(put(2, 4, 7)), cost(put(6, 206, 7))
		t.Logf("%s: reports of 2 rules cost %d, of 200 %d", engine, few, many)
		if few == 0 || many > few+6 {
			t.Errorf("%s: what a report tells of 2 rules cost %d statements, of 200 %d", engine, few, many)
		}
	}
}

// TestBatchServingEqualsServingOneByOne serves the same rules for two tenants, one by one and
// together, with repeated names and rules already listed. Results, policies, versions and audit
// events must be equal.
func TestBatchServingEqualsServingOneByOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		number := 0
		rapid.Check(t, func(rt *rapid.T) {
			var sides [2]tenant
			var others [2]int64
			for i := range sides {
				number++
				d, err := s.CreateDeployment(t.Context(), fmt.Sprint("rules-", number), "Rules", storetest.Actor)
				if err != nil {
					rt.Fatal(err)
				}
				sides[i] = tenant{t, s, d.ID}
				sides[i].update(func(ctx context.Context, tx *store.Tx) error {
					p, err := tx.CreatePolicy(ctx, further("further"))
					others[i] = p.ID
					return err
				})
			}
			for round := range 3 {
				list := rapid.SliceOfN(rapid.Custom(drawServing), 0, 6).Draw(rt, "rules")
				step := rapid.SampledFrom([]string{"serve", "serve", "report", "remove"}).Draw(rt, "step")
				var results [2]string
				for i, d := range sides {
					results[i] = d.serveBy(step, list, others[i], i == 0)
				}
				if diff := cmp.Diff(results[0], results[1]); diff != "" {
					rt.Fatalf("round %d, %s (-one after the other +at once):\n%s", round, step, diff)
				}
			}
			one, both := sides[0].servedState(others[0]), sides[1].servedState(others[1])
			if diff := cmp.Diff(one, both, cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("(-one after the other +at once):\n%s", diff)
			}
		})
	})
}

// drawServing returns one of a few rules with one of a few texts. Its policy is 0, or 1 for the
// additional one.
func drawServing(rt *rapid.T) store.Serving {
	r := model.Rule{
		Name:      rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "name"),
		IssueType: rapid.SampledFrom([]model.IssueType{model.SAST, model.SAST, model.SAST, model.Secrets}).Draw(rt, "product"),
		Message:   rapid.SampledFrom([]string{"", "one", "two"}).Draw(rt, "message"),
		CWE:       rapid.SampledFrom([][]string{nil, {"CWE-79"}}).Draw(rt, "CWE"),
	}
	return store.Serving{
		Rule: r, Text: fmt.Appendf(nil, `{"message":%q}`, r.Message),
		Checked: rapid.Bool().Draw(rt, "checked"), Starter: rapid.Bool().Draw(rt, "starter"),
		Mode:     model.PolicyMode(rapid.IntRange(0, 3).Draw(rt, "mode")),
		PolicyID: int64(rapid.IntRange(0, 1).Draw(rt, "policy")),
	}
}

// serveBy serves, reports or removes rules, by one call each or by one call for all. It returns a
// description of the result.
func (d tenant) serveBy(step string, list []store.Serving, further int64, singly bool) (result string) {
	list = slices.Clone(list)
	var rules []*model.Rule
	for i := range list {
		list[i].PolicyID *= further
		rules = append(rules, &list[i].Rule)
	}
	err := d.s.Update(d.t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		var served []model.ServedRule
		switch {
		case step == "report":
			_, err = tx.PutRules(ctx, rules)
		case step == "remove":
			for _, s := range list {
				if err := tx.RemoveRule(ctx, further, s.Rule.Name); err != nil && !errors.Is(err, model.ErrNotFound) {
					return err
				}
			}
		case singly:
			for _, s := range list {
				one, err := tx.ServeRule(ctx, s)
				if err != nil {
					return err
				}
				served = append(served, one)
			}
		default:
			served, err = tx.ServeRules(ctx, list)
		}
		for _, r := range served {
			result += fmt.Sprintln(r.PolicyID == further, r.Rule.Name, r.Rule.Message, r.Rule.CWE, r.Mode, r.Version, string(r.Text), r.Checked, r.Starter)
		}
		return err
	})
	return result + fmt.Sprintln(err)
}

// servedState describes all rules of a tenant, without ids.
func (d tenant) servedState(further int64) (out []string) {
	d.view(func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		d.check(err)
		for _, p := range policies {
			rules, _, err := tx.PolicyRules(ctx, p.ID, 0, 100)
			d.check(err)
			for _, r := range rules {
				out = append(out, fmt.Sprintln(p.Slug, r.Rule.Name, r.Rule.Message, r.Rule.CWE, r.Mode, r.Served, r.LastChangeBy))
			}
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			versions, err := tx.RuleVersions(ctx, name)
			d.check(err)
			for _, v := range versions {
				out = append(out, fmt.Sprintln(name, v.Version, string(v.Text), v.Checked, v.Starter))
			}
		}
		trail, err := tx.AuditEvents(ctx, 0, 1000)
		for _, e := range trail[1:] { // the first event contains the tenant
			subject, _, _ := strings.Cut(e.Subject, "/")
			out = append(out, fmt.Sprintln(e.Action, strings.TrimPrefix(e.Subject, subject), e.Before, e.After))
		}
		return err
	})
	return out
}

// TestServingConflictNamesFirstRule checks that nothing is served after a conflict, including the
// rules before it.
func TestServingConflictNamesFirstRule(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.serve(servings(3, 4, 1)) // a rule for secrets
		var own model.Policy
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			own, err = tx.CreatePolicy(ctx, further("further"))
			return err
		})
		code := servings(1, 9, 1)
		for i := range code {
			code[i].Rule.IssueType = model.SAST
		}
		elsewhere := servings(1, 9, 1)
		for i := range elsewhere {
			elsewhere[i].PolicyID = own.ID
		}
		unknown := servings(1, 9, 1)
		unknown[5].PolicyID = own.ID + 1000
		for _, c := range []struct {
			name  string
			list  []store.Serving
			kind  error
			names string
		}{
			{"a name of another product", code, model.ErrConflict, "the policy secrets has rule-3 as a rule for another product"},
			{"a rule of another product than its policy", elsewhere, model.ErrConflict, "rule-3 is a rule for secrets, but the policy further is for sast"},
			{"an unknown policy", unknown, model.ErrNotFound, fmt.Sprint("policy ", own.ID+1000)},
		} {
			err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ServeRules(ctx, c.list)
				served, failed := tx.ServedRules(ctx)
				same(t, c.name+": served", len(served), 1)
				return errors.Join(err, failed)
			})
			fails(t, c.name, err, c.kind)
			if err != nil && !strings.Contains(err.Error(), c.names) {
				t.Errorf("%s: %q does not say %q", c.name, err, c.names)
			}
		}
	})
}
