package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/glob"
	"github.com/redoubt/redoubt/internal/model"
)

// Source is the source of results from scanners that receive policies (docs/reference/findings.md).
// Only findings of this source follow the excludes of policies.
const Source = "semgrep"

// Storage is the storage for changes of policies.
type Storage interface {
	Now() time.Time
	CreatePolicy(ctx context.Context, p model.Policy) (model.Policy, error)
	UpdatePolicy(ctx context.Context, p model.Policy) (before model.Policy, err error)
	// CurrentLocations returns the locations of the unresolved and muted findings of a product and
	// source.
	CurrentLocations(ctx context.Context, product model.IssueType, source string) ([]model.FindingLocation, error)
	VisibleProjects(ctx context.Context, globs model.ProjectGlobs) ([]model.Project, error)
	FindingsByID(ctx context.Context, ids []int64) ([]model.Finding, error)
	UpdateFindings(ctx context.Context, findings []model.FindingWrite) error
	AddEvents(ctx context.Context, events []model.FindingEvent) error
}

// Save creates a policy, or updates the policy with the ID. In the same transaction, it removes
// findings on newly excluded paths (docs/reference/policies.md) on all refs of the policy's
// projects, and returns their number. Otherwise later scans, which skip these paths, would mark the
// findings as fixed.
func Save(ctx context.Context, tx Storage, p model.Policy) (_ model.Policy, removed int, err error) {
	var before model.Policy
	if p.ID == 0 {
		p, err = tx.CreatePolicy(ctx, p)
	} else {
		before, err = tx.UpdatePolicy(ctx, p)
		p.Slug, p.Product, p.Default = before.Slug, before.Product, before.Default
	}
	if err != nil || len(p.Excludes) == 0 || leavesOutTheSame(before, p) {
		return p, 0, err
	}
	ids, err := leftOut(ctx, tx, p)
	if err != nil || len(ids) == 0 {
		return p, 0, err
	}
	return p, len(ids), remove(ctx, tx, ids, p)
}

// AddCondition adds a condition to a stored policy and returns it with its ID, which is not reused.
// It returns a *model.InvalidError for an invalid condition.
func AddCondition(
	ctx context.Context, tx Storage, p model.Policy, c model.PolicyCondition,
) (model.PolicyCondition, error) {
	if err := c.Check(p.Product); err != nil {
		return c, err
	}
	c.ID = p.LastCondition + 1
	p.Conditions = append(slices.Clip(p.Conditions), c)
	_, _, err := Save(ctx, tx, p)
	return c, err
}

// RemoveCondition removes a condition from a stored policy and returns it. It returns
// model.ErrNotFound if the policy does not have the condition.
func RemoveCondition(ctx context.Context, tx Storage, p model.Policy, id int64) (model.PolicyCondition, error) {
	at := slices.IndexFunc(p.Conditions, func(c model.PolicyCondition) bool { return c.ID == id })
	if at < 0 {
		return model.PolicyCondition{}, fmt.Errorf("condition %d of %s: %w", id, p.Slug, model.ErrNotFound)
	}
	c := p.Conditions[at]
	p.Conditions = slices.Delete(slices.Clone(p.Conditions), at, at+1)
	_, _, err := Save(ctx, tx, p)
	return c, err
}

func leavesOutTheSame(a, b model.Policy) bool {
	return slices.Equal(a.Excludes, b.Excludes) && slices.Equal(a.Scope.Projects, b.Scope.Projects) &&
		slices.Equal(a.Scope.Tags, b.Scope.Tags)
}

// leftOut returns the IDs of live findings on paths that a policy excludes.
func leftOut(ctx context.Context, tx Storage, p model.Policy) (ids []int64, err error) {
	locations, err := tx.CurrentLocations(ctx, p.Product, Source)
	if err != nil {
		return nil, err
	}
	projects, err := tx.VisibleProjects(ctx, nil)
	if err != nil {
		return nil, err
	}
	covered := map[int64]bool{}
	for _, project := range projects {
		covered[project.ID] = p.Scope.Covers(project)
	}
	for _, l := range locations {
		if covered[l.ProjectID] && glob.Match(p.Excludes, l.Path) {
			ids = append(ids, l.FindingID)
		}
	}
	return ids, nil
}

// exclusion is the event detail for a finding removed by an exclude.
type exclusion struct {
	Policy string `json:"excluded_by"`
}

func remove(ctx context.Context, tx Storage, ids []int64, p model.Policy) error {
	findings, err := tx.FindingsByID(ctx, ids)
	if err != nil {
		return err
	}
	detail, err := json.Marshal(exclusion{p.Slug})
	if err != nil {
		return err
	}
	writes := make([]model.FindingWrite, len(findings))
	events := make([]model.FindingEvent, len(findings))
	for i, f := range findings {
		f.State, f.StateUpdatedAt = model.StateRemoved, tx.Now()
		writes[i] = model.FindingWrite{Finding: f}
		events[i] = model.FindingEvent{FindingID: f.ID, Kind: model.EventRemoved, Detail: string(detail)}
	}
	if err := tx.UpdateFindings(ctx, writes); err != nil {
		return err
	}
	return tx.AddEvents(ctx, events)
}
