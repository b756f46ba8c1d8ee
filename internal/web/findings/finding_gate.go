package findings

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// gateSaying is the gate's result for a finding.
type gateSaying struct {
	Code string // identifies the result in tests
	Word string // tag
	Why  string // sentence that names the policy and the reason

	Condition bool // a condition of the policy is the reason, instead of the mode of a rule
}

// evaluateGate evaluates whether builds of the finding's branch fail on it. The evaluation reads the
// primary branch, so it is skipped if no policy can block on the finding.
func evaluateGate(req *ui.Request, view *index.View, d *findingDetail) error {
	return req.View(func(ctx context.Context, tx *store.Tx) error {
		o, err := tx.Finding(ctx, d.ID)
		if err != nil || o.State != model.Unresolved {
			return err
		}
		policies, err := tx.Policies(ctx)
		if err != nil || !mayBlock(view, o, policies) {
			return err
		}
		scan := model.Scan{
			ProjectID: o.ProjectID,
			Ref:       o.Ref,
			Source:    o.Source,
			Products:  model.Products(0).With(o.IssueType),
		}
		result, err := policy.Reevaluate(ctx, tx, d.Project, scan, []model.Finding{o.Finding})
		if err != nil {
			return err
		}
		d.Gate = sayingOf(result, o)
		return nil
	})
}

// mayBlock reports whether a policy has the finding's rule in mode block, or has conditions for
// such findings.
func mayBlock(view *index.View, o store.Occurrence, policies []model.Policy) bool {
	byRule := model.FindingFilter{
		IssueType: o.IssueType,
		HasIDs:    true,
		IDs:       []int64{o.ID},
		Modes:     []model.PolicyMode{model.ModeBlock},
	}
	return view.Count(byRule) > 0 ||
		slices.ContainsFunc(policies, func(p model.Policy) bool { return p.Product == o.IssueType && len(p.Conditions) > 0 })
}

// sayingOf describes the gate's result. A finding that passes only because the primary branch has
// it is distinguished: it fails the builds of other projects.
func sayingOf(result policy.Outcome, o store.Occurrence) *gateSaying {
	is := func(s policy.Sighting) bool { return s.Finding.ID == o.ID }
	at := slices.IndexFunc(result.Blocking, is)
	if at >= 0 {
		why := "Blocks builds of " + ui.Branch(o.Ref) + ": " + whyBlocked(result.Policy, &result.Blocking[at]) + "."
		return &gateSaying{"blocks", "Blocks builds", why, result.Blocking[at].Condition != ""}
	}
	at = slices.IndexFunc(result.Judged, is)
	if at < 0 {
		return nil
	}
	s := result.Judged[at]
	s.Known = false
	fresh := policy.Evaluate(policy.Findings{Ref: o.Ref, List: []policy.Sighting{s}}, result.Policy)
	if len(fresh.Blocking) == 0 {
		return nil
	}
	why := "Blocks new occurrences only (" + whyBlocked(result.Policy, &fresh.Blocking[0]) +
		"). Already on the primary branch, so it does not block now."
	return &gateSaying{"blocks-new", "Blocks if new", why, fresh.Blocking[0].Condition != ""}
}

// whyBlocked describes which policy blocks on a finding, and why.
func whyBlocked(effective policy.EffectivePolicy, s *policy.Sighting) string {
	if s.Condition != "" {
		return s.Condition
	}
	at := slices.IndexFunc(effective.Policies, func(p model.Policy) bool { return p.ID == s.PolicyID })
	if at < 0 {
		return "rule in mode block"
	}
	return "rule in mode block of policy " + effective.Policies[at].Name
}
