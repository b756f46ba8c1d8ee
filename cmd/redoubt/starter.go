package main

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy/starter"
	"github.com/redoubt/redoubt/internal/store"
)

// starterFlag is what the commands that make a deployment take.
type starterFlag struct {
	StarterRules bool `help:"Serve the rules that come with the server from the start; they only monitor." default:"true" negatable:"" env:"REDOUBT_STARTER_RULES"`
}

// rules fills the policies of a new deployment.
func (f starterFlag) rules(ctx context.Context, tx *store.Tx) error {
	if !f.StarterRules {
		return nil
	}
	_, err := addStarterRules(ctx, tx, 0)
	return err
}

// addStarterRules serves the rules that come with the server, and says how many
// there are. They count as checked: the tests of this version had the scanner
// parse and run them.
func addStarterRules(ctx context.Context, tx *store.Tx, mode redoubt.PolicyMode) (int, error) {
	rules, err := starter.Rules()
	if err != nil {
		return 0, err
	}
	served, err := serveRules(ctx, tx, rules, store.Serving{Checked: true, Starter: true, Mode: mode})
	return len(served), err
}
