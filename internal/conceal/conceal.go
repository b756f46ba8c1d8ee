// Package conceal converts stored code findings to secrets when their rule turns out to be a
// secrets rule. The findings retain their ids, dates and decisions. No stored data remains from
// which a secret could be guessed.
package conceal

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Reading is a parsed upload from which known secrets were removed before the transaction. The
// store may have more secrets rules by then (docs/reference/secrets.md).
type Reading interface {
	// Reports returns a report for each source. The function known reports the secrets rules of a
	// tool, including ones found after the reading was cleaned.
	Reports(known func(tool, rule string) bool) []*model.Report
}

// RuleStore provides the secrets rules by tool and name.
type RuleStore interface {
	// SecretRules returns the rules that are secrets rules according to uploads or policies. The
	// value is true for those that PutSecretRules stored.
	SecretRules(ctx context.Context) (map[model.SecretRule]bool, error)
}

// Store provides the storage of Resolve within one transaction.
type Store interface {
	RuleStore
	PutSecretRules(ctx context.Context, rules []model.SecretRule) error
	// PutRules stores contents not seen before and returns the id of each, in the given order.
	PutRules(ctx context.Context, rules []*model.Rule) ([]int64, error)
	// CodeFindings reads all code findings of the rules, on all refs and in all states, with bodies
	// and evidence.
	CodeFindings(ctx context.Context, rules []model.SecretRule) ([]model.FindingWrite, error)
	// AddIdentities adds identities to lineages.
	AddIdentities(ctx context.Context, projectID int64, links []model.IdentityLink) error
	// ConcealFindings rewrites code findings that are now secrets. It deletes all former data,
	// identities included.
	ConcealFindings(ctx context.Context, findings []model.FindingWrite) error
}

// KnownRules returns a function that reports known secrets rules. It is used to clean an upload
// before its transaction.
func KnownRules(ctx context.Context, s RuleStore) (known func(tool, rule string) bool, err error) {
	rules, err := s.SecretRules(ctx)
	return isAmong(rules), err
}

func isAmong(rules map[model.SecretRule]bool) func(tool, rule string) bool {
	return func(tool, rule string) bool {
		_, ok := rules[model.SecretRule{Tool: model.CanonicalTool(tool), Name: rule}]
		return ok
	}
}

// Resolve returns the reports of an upload, in which results of secrets rules are secrets. If the
// upload is the first to declare a rule a secrets rule, Resolve rewrites the rule's stored
// findings. They retain ids, dates and triage, and lose their code and everything from which it
// could be guessed. The next full scan is aligned with them like with any findings without code.
//
// Every upload must pass through Resolve, in the transaction that stores it.
func Resolve(ctx context.Context, s Store, reading Reading) ([]*model.Report, error) {
	known, err := s.SecretRules(ctx)
	if err != nil {
		return nil, err
	}
	reports := reading.Reports(isAmong(known))
	c := concealment{s: s, described: map[model.SecretRule]*model.Rule{}, ids: map[model.SecretRule]int64{}}
	var fresh []model.SecretRule
	for _, report := range reports {
		for _, rule := range rulesOf(report) {
			key := model.SecretRule{Tool: model.CanonicalTool(report.Tool), Name: rule.Name}
			if rule.IssueType == model.Secrets && c.described[key] == nil {
				c.described[key] = rule
				if _, seen := known[key]; !seen {
					fresh = append(fresh, key)
				}
			}
		}
	}
	for key, settled := range known {
		if !settled {
			fresh = append(fresh, key)
		}
	}
	if len(fresh) == 0 {
		return reports, nil
	}
	slices.SortFunc(fresh, func(a, b model.SecretRule) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Name, b.Name))
	})
	if err := c.run(ctx, fresh); err != nil {
		return nil, fmt.Errorf("rewrite findings of rules that look for secrets: %w", err)
	}
	return reports, s.PutSecretRules(ctx, fresh)
}

func rulesOf(report *model.Report) []*model.Rule {
	if report == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(report.Rules), func(r *model.Rule) bool {
		return r == nil || r.Name == "" || !model.IsStorable(r.Name)
	})
}

// concealment converts stored code findings to secrets.
type concealment struct {
	s         Store
	described map[model.SecretRule]*model.Rule // as the upload describes them
	ids       map[model.SecretRule]int64       // of the stored rules
}

func (c *concealment) run(ctx context.Context, rules []model.SecretRule) error {
	rows, err := c.s.CodeFindings(ctx, rules)
	if err != nil || len(rows) == 0 {
		return err
	}
	links := map[int64][]model.IdentityLink{} // by project
	for i := range rows {
		w := &rows[i]
		rule, id, err := c.rule(ctx, w)
		if err != nil {
			return err
		}
		if err := conceal(w, rule, id); err != nil {
			return err
		}
		links[w.ProjectID] = append(links[w.ProjectID], model.IdentityLink{Identity: w.Identity, LineageID: w.LineageID})
	}
	for project, list := range links {
		if err := c.s.AddIdentities(ctx, project, list); err != nil {
			return err
		}
	}
	return c.s.ConcealFindings(ctx, rows)
}

// rule returns the rule of a finding and its id. It creates a rule if only a policy has it.
func (c *concealment) rule(ctx context.Context, w *model.FindingWrite) (*model.Rule, int64, error) {
	key := model.SecretRule{Tool: toolOf(w.Source), Name: w.RuleName}
	rule := c.described[key]
	if rule == nil {
		rule = &model.Rule{Name: w.RuleName, IssueType: model.Secrets, Severity: w.Severity, Confidence: w.Confidence}
		c.described[key] = rule
	}
	if c.ids[key] == 0 {
		ids, err := c.s.PutRules(ctx, []*model.Rule{rule})
		if err != nil {
			return nil, 0, err
		}
		c.ids[key] = ids[0]
	}
	return rule, c.ids[key], nil
}

func toolOf(source string) string {
	tool, _, _ := strings.Cut(source, ":")
	return tool
}

// conceal converts a code finding to a secret without code. It gets a generated identity, because
// all other identities contain a digest of the code, which could be guessed from it.
func conceal(w *model.FindingWrite, rule *model.Rule, ruleID int64) (err error) {
	var body model.Body
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", w.Body), &body); err != nil {
		return fmt.Errorf("the body of finding %d: %w", w.ID, err)
	}
	var evidence model.Evidence
	if len(w.Evidence) > 0 {
		if err := json.Unmarshal(w.Evidence, &evidence); err != nil {
			return fmt.Errorf("the evidence of finding %d: %w", w.ID, err)
		}
	}
	w.Identity = model.NumberedIdentity(model.IdentitySecret, model.MatchKey("concealed 1", model.Digest{}), w.ID)
	none := model.Digest{}
	w.CodeHash, w.PatternHash, w.EdgeHash, w.Content = none, none, none, none
	w.IssueType, w.SecretType, w.ValidationState = model.Secrets, rule.SecretType, model.NoValidator
	w.RuleID, w.ProOnly = ruleID, false
	message := cmp.Or(rule.Message, rule.Name)
	body.RuleMessage = &message
	body.SyntacticID, body.MatchBasedID = "", hex.EncodeToString(w.Identity.Hash[:])
	if w.Body, err = body.Members(); err != nil {
		return err
	}
	w.Evidence, err = json.Marshal(model.Evidence{Blocking: evidence.Blocking})
	return err
}
