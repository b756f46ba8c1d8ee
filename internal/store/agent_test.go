package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// serve adds a rule with a text to the default policy for code.
func serve(t *testing.T, s *store.Store, d model.Deployment, name, text string, checked bool, mode model.PolicyMode) (served model.ServedRule) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		served, err = tx.ServeRule(ctx, store.Serving{
			Rule: model.Rule{Name: name, IssueType: model.SAST, Severity: model.SeverityHigh}, Text: []byte(text), Checked: checked, Mode: mode,
		})
		return err
	})
	return served
}

func TestServedRuleVersionsAndMode(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		type summary struct {
			Version int
			Mode    model.PolicyMode
			Checked bool
			Text    string
		}
		summarize := func(r model.ServedRule) summary { return summary{r.Version, r.Mode, r.Checked, string(r.Text)} }
		same(t, "a new rule", summarize(serve(t, s, d, "r", "{}", false, 0)), summary{1, model.ModeMonitor, false, "{}"})
		same(t, "checked later", summarize(serve(t, s, d, "r", "{}", true, model.ModeBlock)), summary{1, model.ModeBlock, true, "{}"})
		same(t, "not checked again", summarize(serve(t, s, d, "r", "{}", false, 0)), summary{1, model.ModeBlock, true, "{}"})
		same(t, "another text", summarize(serve(t, s, d, "r", `{"id":"r"}`, false, 0)), summary{2, model.ModeBlock, false, `{"id":"r"}`})
		var policy int64
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			rules, err := tx.ServedRules(ctx)
			same(t, "how many", len(rules), 1)
			policy = rules[0].PolicyID
			return err
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.RemoveRule(ctx, policy, "r"); err != nil {
				return err
			}
			fails(t, "removing it twice", tx.RemoveRule(ctx, policy, "r"), model.ErrNotFound)
			_, err := tx.SetRuleMode(ctx, policy, "r", model.ModeBlock)
			fails(t, "the mode of a removed rule", err, model.ErrNotFound)
			rules, err := tx.ServedRules(ctx)
			same(t, "served", rules, []model.ServedRule{})
			listed, _, err2 := tx.PolicyRules(ctx, policy, 0, 10)
			same(t, "listed", listed, []model.PolicyRule{})
			names, err3 := tx.ListedRules(ctx, []int64{policy})
			same(t, "names listed", names, map[string]bool{})
			texts, err4 := tx.RuleTexts(ctx)
			same(t, "the newest text", texts, map[string][]byte{"r": []byte(`{"id":"r"}`)})
			for _, err := range []error{err, err2, err3, err4} {
				if err != nil {
					return err
				}
			}
			return nil
		})
		same(t, "served again", summarize(serve(t, s, d, "r", `{"id":"r"}`, false, 0)), summary{2, model.ModeMonitor, false, `{"id":"r"}`})
	})
}

func TestAgentScansExpire(t *testing.T) {
	clock := storetest.NewClock()
	for _, engine := range storetest.Engines {
		s := storetest.Open(t, storetest.Database(t, engine, clock))
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddAgentScan(ctx, model.AgentScan{UniqueID: "u", ScanID: 7, Begun: []byte(`{"ref":"x"}`)})
		})
		fails(t, "the same name again", s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.AddAgentScan(ctx, model.AgentScan{UniqueID: "u"})
		}), model.ErrConflict)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.StoreAgentReport(ctx, "u", []byte(`{"r":1}`)) })
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			a, err := tx.AgentScanOf(ctx, 7)
			same(t, "begun, report, answer", []string{string(a.Begun), string(a.Report), string(a.Answer)}, []string{`{"ref":"x"}`, `{"r":1}`, ""})
			same(t, "no answer yet", a.Answer == nil, true)
			return err
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			return tx.AnswerAgentScan(ctx, "u", []byte(`{"success":true}`))
		})
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			a, err := tx.AgentScan(ctx, "u")
			same(t, "the report is gone for the answer", []string{string(a.Report), string(a.Answer)}, []string{"", `{"success":true}`})
			return err
		})
		clock.Advance(8 * 24 * time.Hour)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.AddAgentScan(ctx, model.AgentScan{UniqueID: "v"}); err != nil {
				return err
			}
			_, err := tx.AgentScan(ctx, "u")
			fails(t, "a scan of last week", err, model.ErrNotFound)
			return nil
		})
	}
}
