package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// InertID is the rule that makes scanners read all lockfiles: without a
// supply-chain rule they read none. It matches nothing.
const InertID = "redoubt.lockfiles"

var inert = json.RawMessage(`{"id":"` + InertID + `","languages":["generic"],"severity":"INFO","message":"Reads ` +
	`the lockfiles.",` +
	`"` + dependsOn + `":{"namespace":"pypi","package":"redoubt-matches-nothing","version":"== 0.0.0"},` +
	`"metadata":{"dev.semgrep.actions":[],"sca-kind":"upgrade-only"}}`)

// Products are what a scan looks for: what was asked for, or all where nothing
// was.
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

// Ignored are the paths that scanners leave out, as pairs of a product and its
// globs; nil where there are none.
func (e EffectivePolicy) Ignored() [][2]any {
	var pairs [][2]any
	for _, product := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		if globs := e.Excludes(product); len(globs) > 0 {
			pairs = append(pairs, [2]any{product.String(), globs})
		}
	}
	return pairs
}

// Document is the rules of the products as scanners get them: as they were
// added, but for the actions, since the gate is the server's (docs/reference/policies.md),
// and with their policy and version. Where only is not empty, no others are in
// it.
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
			return nil, fmt.Errorf("rule %s is of a policy %d that is not there", r.Rule.Name, r.PolicyID)
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
