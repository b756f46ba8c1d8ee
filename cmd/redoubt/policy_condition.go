package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

type policyConditionCmd struct {
	Add    policyConditionAddCmd    `cmd:"" help:"Add a condition: findings that match all flags fail builds, or are only shown or recorded."`
	List   policyConditionListCmd   `cmd:"" help:"List the conditions of a policy, or of all."`
	Remove policyConditionRemoveCmd `cmd:"" help:"Remove a condition."`
}

type policyConditionAddCmd struct {
	tenant
	Policy     string  `arg:"" help:"The policy, by slug or id."`
	Mode       string  `help:"What a match does to a build: block fails it; comment shows the match with the build; monitor only records it." enum:"monitor,comment,block" default:"block" placeholder:"MODE"`
	Severity   string  `help:"Minimum severity of the finding: low, medium, high or critical." placeholder:"SEVERITY"`
	Confidence string  `help:"Minimum confidence of the finding: low, medium or high." placeholder:"CONFIDENCE"`
	Reachable  bool    `help:"Supply chain only: code reaches it, or it is dangerous without."`
	EPSS       float64 `name:"epss" help:"Supply chain only: an EPSS score of at least this, from 0 to 1." placeholder:"SCORE"`
	KEV        bool    `name:"kev" help:"Supply chain only: in the catalogue of vulnerabilities known to be exploited."`
	Malicious  bool    `help:"Supply chain only: a malicious package."`
	Fixable    bool    `help:"Supply chain only: a fixed version exists."`
	Direct     bool    `help:"Supply chain only: a direct dependency, not a transitive one."`
	Grace      int     `help:"Found at least this many days ago." placeholder:"DAYS"`

	Project []string `help:"Only in projects whose name matches: * for anything but /, ** for anything. May be repeated: one of them is enough." sep:"none" placeholder:"GLOB"`
	Tag     []string `help:"Only in projects with the tag. May be repeated: one of them is enough." sep:"none" placeholder:"TAG"`
	Branch  []string `help:"Only on branches whose name matches, as release/*, or refs in full, as refs/pull/**. May be repeated: one of them is enough." sep:"none" placeholder:"GLOB"`
}

// Run adds the condition to the policy.
func (c policyConditionAddCmd) Run(a *app) error {
	made := redoubt.PolicyCondition{
		Reachable: c.Reachable, EPSS: c.EPSS, Exploited: c.KEV, Malicious: c.Malicious, Fixable: c.Fixable, Direct: c.Direct, GraceDays: c.Grace,
		Scope: redoubt.PolicyScope{Projects: c.Project, Tags: c.Tag}, Branches: c.Branch,
	}
	made.Mode, _ = redoubt.ParsePolicyMode(c.Mode)
	if c.Severity != "" {
		var ok bool
		if made.Severity, ok = redoubt.ParseSeverity(c.Severity); !ok {
			return fmt.Errorf("unknown severity %q: use low, medium, high or critical", c.Severity)
		}
	}
	if c.Confidence != "" {
		var ok bool
		if made.Confidence, ok = redoubt.ParseConfidence(c.Confidence); !ok {
			return fmt.Errorf("unknown confidence %q: use low, medium or high", c.Confidence)
		}
	}
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := policyNamed(ctx, tx, c.Policy)
		if err != nil {
			return "", err
		}
		made, err := policy.AddCondition(ctx, tx, p, made)
		return fmt.Sprintf("condition %d of %s, in mode %s: %s", made.ID, p.Slug, made.Mode, &made), err
	})
}

type policyConditionListCmd struct {
	tenant
	Policy string `arg:"" optional:"" help:"Only of this policy, by slug or id."`
}

// Run lists the conditions.
func (c policyConditionListCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err == nil && c.Policy != "" {
			policies = make([]redoubt.Policy, 1)
			policies[0], err = policyNamed(ctx, tx, c.Policy)
		}
		if err != nil {
			return err
		}
		rows := [][]string{}
		for _, p := range policies {
			for i := range p.Conditions {
				one := &p.Conditions[i]
				rows = append(rows, []string{p.Slug, strconv.FormatInt(one.ID, 10), one.Mode.String(), scopeOf(p), blocksOf(p), one.String()})
			}
		}
		return table(a.out, "POLICY ID MODE FOR BLOCKS CONDITION", rows)
	})
}

type policyConditionRemoveCmd struct {
	tenant
	Policy string `arg:"" help:"The policy, by slug or id."`
	ID     int64  `arg:"" help:"The condition, by its id in the policy."`
}

// Run drops the condition.
func (c policyConditionRemoveCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := policyNamed(ctx, tx, c.Policy)
		if err != nil {
			return "", err
		}
		_, err = policy.RemoveCondition(ctx, tx, p, c.ID)
		if errors.Is(err, redoubt.ErrNotFound) {
			return "", fmt.Errorf("%s has no condition %d; redoubt policy condition list shows what there is", p.Slug, c.ID)
		}
		return fmt.Sprintf("condition %d of %s is gone", c.ID, p.Slug), err
	})
}
