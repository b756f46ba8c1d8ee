package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// InertID is a rule that matches nothing. Scanners read lockfiles only if they receive a
// supply-chain rule.
const InertID = "redoubt.lockfiles"

var inert = json.RawMessage(`{"id":"` + InertID + `","languages":["generic"],"severity":"INFO","message":"Reads ` +
	`the lockfiles.",` +
	`"` + dependsOn + `":{"namespace":"pypi","package":"redoubt-matches-nothing","version":"== 0.0.0"},` +
	`"metadata":{"dev.semgrep.actions":[],"sca-kind":"upgrade-only"}}`)

// Products returns the requested products, or all if none is valid.
func Products(requested []string) model.Products {
	var p model.Products
	for _, word := range requested {
		if t, ok := model.ParseIssueType(word); ok {
			p = p.With(t)
		}
	}
	if p == 0 {
		return p.With(model.SAST).With(model.SCA).With(model.Secrets)
	}
	return p
}

// Ignored returns the excludes as pairs of a product and its globs, or nil if there are none.
func (e EffectivePolicy) Ignored() [][2]any {
	var pairs [][2]any
	for _, product := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		if globs := e.Excludes(product); len(globs) > 0 {
			pairs = append(pairs, [2]any{product.String(), globs})
		}
	}
	return pairs
}

// Document returns the rules of the products in the format for scanners. It removes actions,
// because the server implements the gate (docs/reference/policies.md), and adds the policy and the
// version. If only is not empty, it restricts the result to these rules.
func Document(
	rules []model.ServedRule, policies []model.Policy, products model.Products, only []string,
) (json.RawMessage, error) {
	list := []json.RawMessage{}
	for _, r := range rules {
		if !products.Has(r.Rule.IssueType) || len(only) > 0 && !slices.Contains(only, r.Rule.Name) {
			continue
		}
		i := slices.IndexFunc(policies, func(p model.Policy) bool { return p.ID == r.PolicyID })
		if i < 0 {
			return nil, fmt.Errorf("rule %s belongs to the unknown policy %d", r.Rule.Name, r.PolicyID)
		}
		text, err := served(r, policies[i])
		if err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	if products.Has(model.SCA) && len(only) == 0 {
		list = append(list, inert)
	}
	return json.Marshal(map[string]any{"rules": list})
}

func served(r model.ServedRule, p model.Policy) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Text, &members); err != nil {
		return nil, fmt.Errorf("the text of rule %s: %w", r.Rule.Name, err)
	}
	metadata := map[string]any{}
	if raw, given := members["metadata"]; given {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return nil, fmt.Errorf("the metadata of rule %s: %w", r.Rule.Name, err)
		}
	}
	metadata["dev.semgrep.actions"] = []string{}
	delete(metadata, "dev.semgrep.validation_state.actions")
	metadata["semgrep.policy"] = map[string]any{"id": p.ID, "name": p.Name, "slug": p.Slug}
	metadata["redoubt"] = map[string]any{"rule_version": r.Version}
	text, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	members["metadata"] = text
	return json.Marshal(members)
}
