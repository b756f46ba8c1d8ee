package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// configuration is the scan configuration for a scanner.
type configuration struct {
	Config scanConfig   `json:"config"`
	Engine engineConfig `json:"engine_params"`
}

// engineConfig contains the non-default engine settings: pairs of a product and its excluded globs.
type engineConfig struct {
	Ignored [][2]any `json:"product_ignored_files,omitempty"`
}

type scanConfig struct {
	Rules               json.RawMessage `json:"rules"`
	IgnoredSyntacticIDs []string        `json:"triage_ignored_syntactic_ids"`
	IgnoredMatchIDs     []string        `json:"triage_ignored_match_based_ids"`
}

// config returns the configuration of a scan that was started. It is available immediately, so that
// no retry is needed.
func (a *Agent) config(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	var known model.AgentScan
	err := a.Store.View(r.Context(), caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		known, err = findRun(ctx, tx, caller, r.PathValue("uniqueId"))
		return err
	})
	if err != nil {
		return err
	}
	config, err := a.configOf(r.Context(), caller, known)
	if err != nil {
		return err
	}
	return answer(w, struct {
		Status string `json:"status"`
		configuration
	}{"success", config})
}

func (a *Agent) configOf(ctx context.Context, caller auth.Caller, known model.AgentScan) (c configuration, err error) {
	err = a.Store.View(ctx, caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		project, b, err := projectOfRun(ctx, tx, caller, known)
		if err != nil {
			return err
		}
		var ignored []store.IgnoredMatch
		if project.ID != 0 {
			if ignored, err = tx.IgnoredMatches(ctx, project.ID); err != nil {
				return err
			}
		}
		given, err := policy.LoadEffectivePolicy(ctx, tx, project)
		if err != nil {
			return err
		}
		c.Config.ignore(ignored, given.Rules)
		c.Engine.Ignored = given.Ignored()
		c.Config.Rules, err = policy.Document(given.Rules, given.Policies, policy.Products(b.Products), b.OnlyRules)
		return err
	})
	return c, err
}

// ignore adds the ids of ignored findings. It only uses ids that cannot hide other code. These are
// syntactic ids, which include the code, and match_based_ids whose metavariables bind the code and
// that are unique in their formula group.
func (c *scanConfig) ignore(list []store.IgnoredMatch, rules []model.ServedRule) {
	c.IgnoredMatchIDs, c.IgnoredSyntacticIDs = []string{}, []string{}
	binds := map[string]bool{}
	for i := range rules {
		binds[rules[i].Rule.Name] = policy.HasMetavariables(rules[i].Text)
	}
	for _, m := range list {
		if m.SyntacticID != "" {
			c.IgnoredSyntacticIDs = append(c.IgnoredSyntacticIDs, m.SyntacticID)
		}
		if m.Alone && binds[m.RuleName] {
			c.IgnoredMatchIDs = append(c.IgnoredMatchIDs, m.MatchBasedID)
		}
	}
}

// lints handles `semgrep --validate`, which requests rules about rules and waits long without a
// response.
func (a *Agent) lints(w http.ResponseWriter, _ *http.Request, _ auth.Caller) error {
	return write(w, "application/json", []byte(`{"rules":[]}`))
}

// policy returns the rules of a policy, by id or slug, for `semgrep scan --config p/NAME`.
func (a *Agent) policy(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	name := r.PathValue("policy")
	return a.rules(w, r, caller, func(s model.ServedRule, p model.Policy) bool {
		return s.PolicyID == p.ID && (p.Slug == name || strconv.FormatInt(p.ID, 10) == name)
	})
}

// rule returns one rule, for `semgrep scan --config r/NAME`.
func (a *Agent) rule(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	name := r.PathValue("rule")
	return a.rules(w, r, caller, func(s model.ServedRule, p model.Policy) bool {
		return s.PolicyID == p.ID && s.Rule.Name == name
	})
}

// rules returns the served rules that the function keep selects, or model.ErrNotFound.
func (a *Agent) rules(
	w http.ResponseWriter, r *http.Request, caller auth.Caller, keep func(model.ServedRule, model.Policy) bool,
) error {
	var text json.RawMessage
	err := a.Store.View(r.Context(), caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		policies, err := gate.SeenPolicies(ctx, tx, caller.Globs())
		if err != nil {
			return err
		}
		rules, err := tx.ServedRules(ctx)
		if err != nil {
			return err
		}
		var served []model.ServedRule
		var names []string
		for _, s := range rules {
			if slices.ContainsFunc(policies, func(p model.Policy) bool { return keep(s, p) }) &&
				!slices.Contains(names, s.Rule.Name) {
				served, names = append(served, s), append(names, s.Rule.Name)
			}
		}
		if names == nil {
			return model.ErrNotFound
		}
		text, err = policy.Document(served, policies, policy.Products(nil), names)
		return err
	})
	if err != nil {
		return err
	}
	return write(w, "application/json", text)
}
