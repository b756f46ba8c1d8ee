package findings

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
)

// annotateInput is a change of annotations. The raw body distinguishes null, which clears a member,
// from an absent member, which is left unchanged.
type annotateInput struct {
	Body    api.AnnotateRequest
	RawBody []byte
	sent    map[string]json.RawMessage
}

// Resolve records the members that were sent, and rejects links that are not safe to follow in a
// browser.
func (in *annotateInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	if json.Unmarshal(in.RawBody, &in.sent) == nil && len(in.sent) == 0 {
		bad.Add("body", nil, "contains no change")
	}
	link := func(location, address string) {
		if address != "" && !core.WebAddress(address) {
			bad.Add(location, nil, core.NotWebAddress)
		}
	}
	if t := in.Body.ExternalTicket; t != nil {
		if _, err := model.ParseTicketURL(t.URL); err != nil {
			bad.Add("body.external_ticket.url", nil, reasonOf(err))
		}
	}
	if list := in.Body.ClickToFixPRs; list != nil {
		for i, p := range *list {
			link(fmt.Sprintf("body.click_to_fix_prs[%d].url", i), p.URL)
		}
	}
	return bad
}

// annotateFinding changes the annotations of the finding's lineage, which all refs share, and
// returns the finding. A repeated request with the same key returns the current finding, because it
// is read from the index and not from the transaction.
func annotateFinding(ctx context.Context, c *core.Call, in *annotateInput) (core.Writer, error) {
	id := c.PathID("findingId")
	_, err := core.RunIdempotent(ctx, c, func(ctx context.Context) (*core.None, error) {
		found, err := shownFinding(ctx, c, id)
		if err != nil {
			return nil, err
		}
		if err := in.checkType(found.IssueType); err != nil {
			return nil, err
		}
		if err := c.Unchanged("finding", core.FindingTag(found.LineageID, found.Lineage.Annotations)); err != nil {
			return nil, err
		}
		if err := writeTicket(ctx, c, in, found.Finding); err != nil {
			return nil, err
		}
		return &core.None{}, c.Tx.Annotate(ctx, found.LineageID, in.edit)
	})
	if err != nil {
		return nil, err
	}
	return finding(ctx, c, id)
}

// pathFinding returns the finding of the path, with the conditions of shownFinding.
func pathFinding(ctx context.Context, c *core.Call) (store.Occurrence, error) {
	id := c.PathID("findingId")
	return shownFinding(ctx, c, id)
}

// shownFinding returns a finding that is listed and visible to the token.
func shownFinding(ctx context.Context, c *core.Call, id int64) (store.Occurrence, error) {
	found, err := c.Tx.Finding(ctx, id)
	if err != nil {
		return found, err
	}
	if _, err := c.VisibleProject(c.Tx.Project(ctx, found.ProjectID)); err != nil {
		return found, err
	}
	if model.StatusOf(found.State, found.Lineage.Triage.State) == 0 {
		return found, removedFinding(ctx, c, id)
	}
	return found, nil
}

// removedFinding returns the not-found error for a removed finding, with the reason. It contains
// the finding that it was merged into, which is always of the same project
// (docs/reference/findings.md).
func removedFinding(ctx context.Context, c *core.Call, id int64) error {
	events, err := c.Tx.History(ctx, id)
	if err != nil {
		return err
	}
	removal := store.LastRemoval(events)
	p := core.NewProblem(
		api.CodeNotFound, fmt.Sprintf("Finding %d was removed: %s.", id, removal.Reason), model.ErrNotFound,
	)
	p.MergedInto = removal.MergedInto
	return p
}

// checkType rejects members that findings of the type do not have.
func (in *annotateInput) checkType(t model.IssueType) error {
	var bad model.InvalidError
	for _, only := range []struct {
		name string
		of   model.IssueType
	}{{"epss_score", model.SCA}, {"reachability", model.SCA}} {
		if _, sent := in.sent[only.name]; sent && t != only.of {
			bad.Fields = append(bad.Fields, model.FieldError{
				Location: "body." + only.name,
				Message:  "is only for findings of issue_type " + only.of.String() + "; this one has " + t.String(),
			})
		}
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// edit applies the members that were sent.
func (in *annotateInput) edit(a *model.Annotations) {
	b := &in.Body
	for name := range in.sent {
		switch name {
		case "assistant":
			a.Assistant = assistant(a.Assistant, in.sent[name])
		case "review_comments":
			a.ReviewComments = mapped(b.ReviewComments, func(r api.ReviewComment) model.ReviewComment {
				return model.ReviewComment(r)
			})
		case "click_to_fix_prs":
			a.ClickToFixPRs = mapped(b.ClickToFixPRs, func(p api.ClickToFixPR) model.ClickToFixPR {
				return model.ClickToFixPR{CreatedAt: p.CreatedAt.UTC(), URL: p.URL, State: cmp.Or(p.State, "open")}
			})
		case "click_to_fix_failures":
			a.ClickToFixFailures = mapped(b.ClickToFixFailures, func(f api.ClickToFixFailure) model.ClickToFixError {
				return model.ClickToFixError{CreatedAt: f.CreatedAt.UTC(), Reason: f.Reason}
			})
		case "epss_score":
			a.EPSS = nil
			if b.EPSSScore != nil {
				a.EPSS = &model.EPSS{Percentile: b.EPSSScore.Percentile, Score: b.EPSSScore.Score}
			}
		case "reachability":
			if a.Reachability, _ = model.ParseReachability(b.Reachability); a.Reachability == model.ReachabilityUnknown {
				a.Reachability = 0
			}
		}
	}
}

func mapped[From, To any](list *[]From, convert func(From) To) []To {
	if list == nil || len(*list) == 0 {
		return nil
	}
	return model.Map(*list, convert)
}

// writeTicket links the finding to the ticket that was sent, or removes the link.
func writeTicket(ctx context.Context, c *core.Call, in *annotateInput, f model.Finding) (err error) {
	if _, sent := in.sent["external_ticket"]; !sent {
		return nil
	}
	findings := []model.Finding{f}
	if t := in.Body.ExternalTicket; t != nil {
		_, err = ticket.Link(ctx, c.Tx, ticket.Target{URL: t.URL, Slug: t.ExternalSlug, Globs: c.Caller.Globs()}, findings)
	} else {
		_, err = ticket.Unlink(ctx, c.Tx, findings)
	}
	return err
}

// assistant replaces the members that were sent. Null removes all of them.
func assistant(old *model.Assistant, sent json.RawMessage) *model.Assistant {
	var fresh *model.Assistant
	if err := json.Unmarshal(sent, &fresh); err != nil || fresh == nil { // the body was validated before
		return nil
	}
	if old == nil {
		return fresh
	}
	out := *old
	replace(&out.Autofix, fresh.Autofix)
	replace(&out.Autotriage, fresh.Autotriage)
	replace(&out.Component, fresh.Component)
	replace(&out.Guidance, fresh.Guidance)
	replace(&out.RuleExplanation, fresh.RuleExplanation)
	return &out
}

func replace[T any](member **T, sent *T) {
	if sent != nil {
		*member = sent
	}
}
