package policies

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

func settingsOf(p model.Policy) api.PolicySettings {
	return api.PolicySettings{
		Projects: core.OrEmpty(p.Scope.Projects),
		Tags:     core.OrEmpty(p.Scope.Tags),
		Branches: core.OrEmpty(p.Branches),
		Excludes: core.OrEmpty(p.Excludes),
		BlockAll: p.BlockAll,
	}
}

// settingsTag returns the ETag of a policy's settings.
func settingsTag(p model.Policy) string {
	return core.TagOf(struct {
		ID       int64
		Name     string
		Settings api.PolicySettings
	}{p.ID, p.Name, settingsOf(p)})
}

func getPolicySettings(ctx context.Context, c *core.Call, _ *core.None) (*api.PolicySettingsResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	c.Tag = settingsTag(p)
	return &api.PolicySettingsResponse{Policy: policyOf(p), Settings: settingsOf(p)}, nil
}

func createPolicy(
	ctx context.Context, c *core.Call, in *core.Request[api.CreatePolicyRequest],
) (*api.PolicyChangeResponse, error) {
	b := &in.Body
	product, _ := model.ParseIssueType(b.Product)
	return savePolicy(ctx, c, model.Policy{
		Name: b.Name, Slug: b.Slug, Product: product, Scope: model.PolicyScope{Projects: b.Projects, Tags: b.Tags},
		Branches: b.Branches, Excludes: b.Excludes, BlockAll: b.BlockAll,
	})
}

func setPolicySettings(
	ctx context.Context, c *core.Call, in *core.Request[api.SetPolicySettingsRequest],
) (*api.PolicyChangeResponse, error) {
	p, err := policyInPath(ctx, c)
	if err == nil {
		err = c.Unchanged("policy", settingsTag(p))
	}
	if err != nil {
		return nil, err
	}
	b := &in.Body
	p.Name, p.Scope, p.Branches, p.Excludes, p.BlockAll = b.Name, model.PolicyScope{
		Projects: b.Projects,
		Tags:     b.Tags,
	}, b.Branches, b.Excludes, b.BlockAll
	return savePolicy(ctx, c, p)
}

func savePolicy(ctx context.Context, c *core.Call, p model.Policy) (*api.PolicyChangeResponse, error) {
	p, removed, err := policy.Save(ctx, c.Tx, p)
	if errors.Is(err, model.ErrConflict) {
		return nil, core.NewProblem(
			api.CodeConflict, fmt.Sprintf("Another policy has the slug %q. Send another name, or a slug.", p.Slug), nil,
		)
	}
	if err != nil {
		return nil, core.InBody(err)
	}
	c.Tag = settingsTag(p)
	return &api.PolicyChangeResponse{Policy: policyOf(p), Settings: settingsOf(p), Removed: int64(removed)}, nil
}

func deletePolicy(ctx context.Context, c *core.Call, _ *core.None) (*api.PolicyChangeResponse, error) {
	p, err := policyInPath(ctx, c)
	if err == nil {
		err = c.Unchanged("policy", settingsTag(p))
	}
	if err != nil {
		return nil, err
	}
	if p.Default {
		return nil, core.NewProblem(api.CodeConflict,
			fmt.Sprintf("%s is a default policy and cannot be deleted. Set its rules to monitor.", p.Slug), nil)
	}
	c.Tag = settingsTag(p)
	return &api.PolicyChangeResponse{Policy: policyOf(p), Settings: settingsOf(p)}, c.Tx.DeletePolicy(ctx, p.ID)
}

func previewPolicy(
	ctx context.Context, c *core.Call, in *core.Request[api.PreviewPolicyRequest],
) (*api.PolicyImpact, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	would := policy.Proposal{Policy: p, Deleted: b.Deleted}
	if !b.Deleted {
		would.Policy.Scope, would.Policy.Branches = model.PolicyScope{Projects: b.Projects, Tags: b.Tags}, b.Branches
		would.Policy.Excludes, would.Policy.BlockAll = b.Excludes, b.BlockAll
		if b.Name != "" {
			would.Policy.Name = b.Name
		}
		if err := would.Policy.Check(); err != nil {
			return nil, core.InBody(err)
		}
	}
	i, err := policy.Preview(ctx, c.Tx, would)
	if err != nil {
		return nil, err
	}
	var unmatched policy.Unmatched
	if !b.Deleted {
		if unmatched, err = policy.UnmatchedBranches(ctx, c.Tx, would.Policy); err != nil {
			return nil, err
		}
	}
	out := &api.PolicyImpact{
		Policy: policyOf(p), Projects: int64(i.Projects),
		ProjectsNow: int64(i.Before), Branches: int64(i.Branches), Open: int64(i.Open),
		Blocking: int64(i.Blocking), BlockingNow: int64(i.Now),
		Builds: int64(i.Builds), BuildsNow: int64(i.Failing), Removed: int64(i.Removed),
		UnservedRules: core.OrEmpty(i.Unserved), Changed: []api.ChangedBranch{},
		Matches: []api.PolicyMatch{}, Partial: i.Cut || i.Large > 0, LargerBranches: int64(i.Large),
		UnmatchedBranches: core.OrEmpty(unmatched.Globs), ScannedRefs: core.OrEmpty(unmatched.Refs),
	}
	for _, one := range i.Changed {
		out.Changed = append(out.Changed, api.ChangedBranch{
			Project:     one.Project.Name,
			Ref:         one.Ref,
			BlockingNow: int64(one.Before),
			Blocking:    int64(one.After),
		})
	}
	if b.Project == "" {
		return out, nil
	}
	return out, addMatches(ctx, c, p, b, out)
}

// maxMatches limits the matches in a response.
const maxMatches = 1000

// addMatches adds the stored findings of a project that the policy's conditions match.
func addMatches(
	ctx context.Context, c *core.Call, p model.Policy, b *api.PreviewPolicyRequest, out *api.PolicyImpact,
) error {
	project, err := c.Tx.ProjectByName(ctx, b.Project)
	if err != nil {
		return err
	}
	mode, _ := model.ParsePolicyMode(b.Mode)
	matches, err := policy.FindMatches(ctx, c.Tx, project, p, mode)
	for i := range matches {
		m := &matches[i]
		if out.MatchCount++; m.Fails {
			out.MatchesFailing++
		}
		if i < maxMatches {
			out.Matches = append(out.Matches, api.PolicyMatch{
				Ref: m.Ref, Mode: m.Mode.String(), Known: m.Known, Fails: m.Fails, Text: m.Explained(),
			})
		}
	}
	return err
}
