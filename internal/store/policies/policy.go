package policies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// PolicyColumns are the columns of table policy that ScanPolicy reads.
const PolicyColumns = `id, name, slug, product, is_default, scope_json, excludes_json, block_all, conditions_json, ` +
	`last_condition, due_json`

// policyReach is the stored form of a policy's scope and branches.
type policyReach struct {
	model.PolicyScope
	Branches model.ProjectGlobs `json:"branches,omitempty"`
}

func reachOf(p model.Policy) policyReach { return policyReach{p.Scope, p.Branches} }

// ScanPolicy reads a policy from a row of PolicyColumns.
func ScanPolicy(r sqldb.Row) (p model.Policy, err error) {
	var reach policyReach
	err = r.Scan(&p.ID, &p.Name, &p.Slug, &p.Product, &p.Default, sqldb.Decoded(&reach), sqldb.Decoded(&p.Excludes),
		&p.BlockAll, sqldb.Decoded(&p.Conditions), &p.LastCondition, sqldb.Decoded(&p.Due))
	p.Scope, p.Branches = reach.PolicyScope, reach.Branches
	p.LastCondition = max(p.LastCondition, lastCondition(p))
	if len(p.Conditions) == 0 {
		p.Conditions = nil
	}
	if len(p.Excludes) == 0 {
		p.Excludes = nil
	}
	return p, err
}

// lastCondition returns the highest id of a policy's conditions.
func lastCondition(p model.Policy) (last int64) {
	for i := range p.Conditions {
		last = max(last, p.Conditions[i].ID)
	}
	return last
}

func policyValues(p model.Policy) []any {
	return []any{
		p.ID, p.Name, p.Slug, p.Product, p.Default, sqldb.Encoded(reachOf(p)), sqldb.Encoded(sqldb.OrEmpty(p.Excludes)),
		p.BlockAll, sqldb.Encoded(sqldb.OrEmpty(p.Conditions)), lastCondition(p), sqldb.Encoded(p.Due),
	}
}

// defaultPolicies are the policies that every deployment starts with, one per product
// (docs/reference/policies.md).
var defaultPolicies = []model.Policy{
	{Name: "Code", Slug: "code", Product: model.SAST, Default: true},
	{Name: "Supply chain", Slug: "supply-chain", Product: model.SCA, Default: true},
	{Name: "Secrets", Slug: "secrets", Product: model.Secrets, Default: true},
}

// policyImage is the content of audit events about a policy.
type policyImage struct {
	Name     string   `json:"name"`
	Slug     string   `json:"slug"`
	Product  string   `json:"product"`
	Default  bool     `json:"default"`
	Projects []string `json:"projects,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Branches []string `json:"branches,omitempty"`
	Excludes []string `json:"excludes,omitempty"`
	BlockAll bool     `json:"block_all,omitempty"`

	Conditions []string      `json:"conditions,omitempty"` // as in "1 block: critical"
	Due        model.DueDays `json:"due_days,omitzero"`
}

func imageOfPolicy(p model.Policy) policyImage {
	var conditions []string
	for i := range p.Conditions {
		c := &p.Conditions[i]
		conditions = append(conditions, fmt.Sprintf("%d %s: %s", c.ID, c.Mode, c))
	}
	return policyImage{
		p.Name, p.Slug, p.Product.String(), p.Default, p.Scope.Projects,
		p.Scope.Tags, p.Branches, p.Excludes, p.BlockAll, conditions, p.Due,
	}
}

func (tx *Tx) addPolicies(ctx context.Context, policies []model.Policy) error {
	rows := make([][]any, len(policies))
	for i, p := range policies {
		rows[i] = policyValues(p)
		tx.Change(sqldb.ChangePolicy, p.ID)
		tx.Audit("policy.create", sqldb.Subject("policy", p.ID), nil, imageOfPolicy(p))
	}
	return tx.Insert(ctx, "policy (deployment_id, "+PolicyColumns+")", rows, "")
}

// AddDefaultPolicies adds one default policy per product (docs/reference/policies.md).
func (tx *Tx) AddDefaultPolicies(ctx context.Context) error {
	ids, err := tx.NewIDs(ctx, seqPolicy, len(defaultPolicies))
	if err != nil {
		return err
	}
	policies := slices.Clone(defaultPolicies)
	for i := range policies {
		policies[i].ID = ids[i]
	}
	return tx.addPolicies(ctx, policies)
}

// CreatePolicy adds a policy without rules to a product and returns it with its id. An empty slug
// is derived from the name; a slug in use is model.ErrConflict.
func (tx *Tx) CreatePolicy(ctx context.Context, p model.Policy) (model.Policy, error) {
	if p.Slug == "" {
		p.Slug = model.SlugOf(p.Name)
	}
	p.Default = false
	if err := p.Check(); err != nil {
		return p, err
	}
	var err error
	if p.ID, err = tx.NewID(ctx, seqPolicy); err != nil {
		return p, err
	}
	err = tx.addPolicies(ctx, []model.Policy{p})
	if errors.Is(err, model.ErrConflict) {
		err = fmt.Errorf("a policy with the slug %s already exists: %w", p.Slug, model.ErrConflict)
	}
	return p, err
}

// UpdatePolicy updates a policy except its product and slug, and returns the previous one. The
// highest id of a condition never decreases. Findings are not updated here. An unknown policy is
// model.ErrNotFound.
func (tx *Tx) UpdatePolicy(ctx context.Context, p model.Policy) (before model.Policy, err error) {
	if before, err = tx.Policy(ctx, p.ID); err != nil {
		return before, err
	}
	p.Slug, p.Product, p.Default = before.Slug, before.Product, before.Default
	if err := p.Check(); err != nil || sqldb.Encoded(imageOfPolicy(before)) == sqldb.Encoded(imageOfPolicy(p)) {
		return before, err
	}
	err = tx.Write(ctx, `UPDATE policy SET name = $3, scope_json = $4, excludes_json = $5, block_all = $6, `+
		`conditions_json = $7, last_condition = $8, due_json = $9 WHERE deployment_id = $1 AND id = $2`,
		p.ID, p.Name, sqldb.Encoded(reachOf(p)), sqldb.Encoded(sqldb.OrEmpty(p.Excludes)), p.BlockAll,
		sqldb.Encoded(sqldb.OrEmpty(p.Conditions)), max(before.LastCondition, lastCondition(p)), sqldb.Encoded(p.Due))
	tx.Change(sqldb.ChangePolicy, p.ID)
	tx.Audit("policy.update", sqldb.Subject("policy", p.ID), imageOfPolicy(before), imageOfPolicy(p))
	return before, err
}

// DeletePolicy deletes a policy and its list of rules; the rules' versions stay. The next full scan
// removes the findings of rules that no other policy of the project has
// (docs/explanation/life-of-a-finding.md). The default policy of a product is model.ErrConflict.
func (tx *Tx) DeletePolicy(ctx context.Context, id int64) error {
	p, err := tx.Policy(ctx, id)
	if err != nil {
		return err
	}
	if p.Default {
		return fmt.Errorf("%s is the default policy of its product and cannot be removed; remove its rules instead: %w",
			p.Slug, model.ErrConflict)
	}
	rules, err := sqldb.Many(
		ctx, tx, sqldb.Scalar[int64], `SELECT id FROM policy_rule WHERE deployment_id = $1 AND policy_id = $2`, id,
	)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM policy_rule WHERE deployment_id = $1 AND policy_id = $2`,
		`DELETE FROM policy WHERE deployment_id = $1 AND id = $2`,
	} {
		if err := tx.Write(ctx, statement, id); err != nil {
			return err
		}
	}
	tx.ChangeDeleted(sqldb.ChangePolicyRule, rules...)
	tx.ChangeDeleted(sqldb.ChangePolicy, id)
	tx.Audit("policy.delete", sqldb.Subject("policy", id), imageOfPolicy(p), nil)
	return nil
}

// Policies returns the deployment's policies by id.
func (tx *Tx) Policies(ctx context.Context) ([]model.Policy, error) {
	return sqldb.Many(ctx, tx, ScanPolicy, `SELECT `+PolicyColumns+` FROM policy WHERE deployment_id = $1 ORDER BY id`)
}

// Policy returns a policy by id.
func (tx *Tx) Policy(ctx context.Context, id int64) (model.Policy, error) {
	p, err := sqldb.One(
		ctx, tx, ScanPolicy, `SELECT `+PolicyColumns+` FROM policy WHERE deployment_id = $1 AND id = $2`, id,
	)
	if err != nil {
		return p, fmt.Errorf("policy %d: %w", id, err)
	}
	return p, nil
}

const seqPolicy sqldb.Sequence = "policy"
