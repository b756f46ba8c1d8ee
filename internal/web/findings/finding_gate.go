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

// gateSaying is what the gate does about a finding, as its page says.
type gateSaying struct {
	Code string // the same, for tests
	Word string // a tag
	Why  string // a sentence: which policy, and by what

	Condition bool // of the policy, and not the mode of a rule, is why
}

// askGate asks the gate about a finding on its own branch: whether a build that
// reports it fails. It is not asked where no policy can want that, for it reads
// what the primary branch has.
func askGate(req *ui.Request, view *index.View, d *findingDetail) error {
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
		again, err := policy.Reevaluate(ctx, tx, d.Project, scan, []model.Finding{o.Finding})
		if err != nil {
			return err
		}
		d.Gate = sayingOf(again, o)
		return nil
	})
}

// mayBlock reports whether a policy has the finding's rule in mode block, or
// conditions for such findings.
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

// sayingOf words the gate's answer. What fails no build only because the primary
// branch has it is told apart: the next branch that brings it to another project
// does fail.
func sayingOf(again policy.Outcome, o store.Occurrence) *gateSaying {
	is := func(s policy.Sighting) bool { return s.Finding.ID == o.ID }
	at := slices.IndexFunc(again.Blocking, is)
	if at >= 0 {
		why := "Builds of " + ui.Branch(o.Ref) + " that have it fail: " + whyBlocked(again.Policy, &again.Blocking[at]) + "."
		return &gateSaying{"blocks", "Blocks builds", why, again.Blocking[at].Condition != ""}
	}
	at = slices.IndexFunc(again.Judged, is)
	if at < 0 {
		return nil
	}
	s := again.Judged[at]
	s.Known = false
	fresh := policy.Evaluate(policy.Findings{Ref: o.Ref, List: []policy.Sighting{s}}, again.Policy)
	if len(fresh.Blocking) == 0 {
		return nil
	}
	why := "Builds fail on it only where it is new, and the primary branch has it: " +
		whyBlocked(again.Policy, &fresh.Blocking[0]) + "."
	return &gateSaying{"blocks-new", "Blocks where new", why, fresh.Blocking[0].Condition != ""}
}

// whyBlocked says which policy fails builds on a finding, and by what.
func whyBlocked(effective policy.EffectivePolicy, s *policy.Sighting) string {
	if s.Condition != "" {
		return s.Condition
	}
	at := slices.IndexFunc(effective.Policies, func(p model.Policy) bool { return p.ID == s.PolicyID })
	if at < 0 {
		return "a policy has its rule in mode block"
	}
	return "policy " + effective.Policies[at].Name + " has its rule in mode block"
}
