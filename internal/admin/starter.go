package admin

import (
	"context"

	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/policy/starter"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/store"
)

// StarterFlag is the flag of commands that create a deployment.
type StarterFlag struct {
	StarterRules bool `help:"Serve the built-in starter rules in mode monitor." default:"true" negatable:"" env:"REDOUBT_STARTER_RULES"`
}

// Rules adds the starter rules to the policies of a new deployment. They count as checked, as the
// tests of this version run them with the scanner.
func (f StarterFlag) Rules(ctx context.Context, tx *store.Tx) error {
	if !f.StarterRules {
		return nil
	}
	rules, err := starter.Rules()
	if err != nil {
		return err
	}
	return ServeRules(ctx, tx, rules, store.Serving{Checked: true, Starter: true})
}

// ServeRules adds rules to the default policies of their products.
func ServeRules(ctx context.Context, tx *store.Tx, rules []policy.Rule, s store.Serving) error {
	list := make([]store.Serving, len(rules))
	for i, r := range rules {
		content, err := semgrep.ServedRule(r.Text, r.Product)
		if err != nil {
			return err
		}
		s.Rule, s.Text = content, r.Text
		list[i] = s
	}
	_, err := tx.ServeRules(ctx, list)
	return err
}
