package findings

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// issuesInput is a request of an assistant, with one filter per ref.
type issuesInput struct {
	Body    api.SearchIssuesRequest
	filters []model.FindingFilter
}

// issueTabs maps the status names of the hosted service's pages.
var issueTabs = map[string]model.Status{
	"ISSUE_TAB_OPEN": model.StatusOpen, "ISSUE_TAB_CLOSED": model.StatusFixed, "ISSUE_TAB_IGNORED": model.StatusIgnored,
	"ISSUE_TAB_REVIEWING": model.StatusReviewing, "ISSUE_TAB_FIXING": model.StatusFixing,
}

// Resolve converts the body to filters.
func (in *issuesInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	f := in.Body.Filter
	filter := model.FindingFilter{
		IssueType: model.SAST, Visible: core.CallOf(ctx.Context()).Caller.Globs(),
		Primary: f.OnPrimaryBranch, Projects: f.RepositoryNames,
		Severities: core.Parsed(lowered("SEVERITY_", f.Severities), model.ParseSeverity),
	}
	for _, tab := range f.Status {
		filter.Statuses = append(filter.Statuses, issueTabs[tab])
	}
	if in.Body.IssueType == "ISSUE_TYPE_SCA" {
		filter.IssueType = model.SCA
	} else {
		filter.Confidences = core.Parsed(lowered("CONFIDENCE_", f.Confidences), model.ParseConfidence)
		filter.Verdicts = core.Parsed(lowered("VERDICT_", f.AIVerdicts), model.ParseVerdict)
	}
	refs := map[string]bool{}
	for _, ref := range f.Refs {
		refs[core.RefFilter(ref)] = true
	}
	if len(refs) == 0 || refs[""] {
		refs = map[string]bool{"": true}
	}
	for ref := range refs {
		filter.Ref = ref
		in.filters = append(in.filters, filter)
	}
	return bad
}

// lowered returns values of an enumeration in lower case without the hosted service's prefix.
func lowered(prefix string, words []string) []string {
	return model.Map(words, func(w string) string { return strings.ToLower(strings.TrimPrefix(w, prefix)) })
}

// searchIssues returns the newest findings of some refs.
func searchIssues(ctx context.Context, c *core.Call, in *issuesInput) (*api.SearchIssuesResponse, error) {
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	var found []api.Finding
	out := &api.SearchIssuesResponse{Issues: []api.IssueEntry{}}
	for _, f := range in.filters {
		out.Total += int64(view.Count(f))
		part, err := findingsOf(ctx, view, f, 0, int(in.Body.Limit))
		if err != nil {
			return nil, err
		}
		found = append(found, part...)
	}
	slices.SortFunc(found, func(a, b api.Finding) int {
		return cmp.Or(b.RelevantSince.Compare(a.RelevantSince.Time), cmp.Compare(b.ID, a.ID))
	})
	found = found[:min(len(found), int(in.Body.Limit))]
	out.HasMore = out.Total > int64(len(found))
	projects := map[string]api.IssueRepository{}
	for _, f := range found {
		if _, seen := projects[f.Repository.Name]; !seen {
			p, err := c.Tx.ProjectByName(ctx, f.Repository.Name)
			if err != nil {
				return nil, err
			}
			projects[f.Repository.Name] = api.IssueRepository{
				ID:         p.ID,
				Name:       p.Name,
				PrimaryRef: api.IssuePrimary{Ref: p.Primary()},
			}
		}
		issue := issueOf(c, f, in.filters[0].IssueType)
		issue.Repository = projects[f.Repository.Name]
		out.Issues = append(out.Issues, api.IssueEntry{Issue: issue})
	}
	hint(c.W.Header(), len(out.Issues), "issues")
	return out, nil
}

// findingsOf returns a page of a selection. It decodes the encoding of the index: these formats are
// requested rarely and need no faster path.
func findingsOf(
	ctx context.Context, view *index.View, f model.FindingFilter, n, size int,
) (list []api.Finding, err error) {
	page, err := view.Page(ctx, f, n, size)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if _, err := page.WriteTo(&text); err != nil {
		return nil, err
	}
	return list, json.Unmarshal(text.Bytes(), &list)
}

// issueOf converts a finding, except for its project.
func issueOf(c *core.Call, f api.Finding, t model.IssueType) api.Issue {
	out := api.Issue{
		ID: f.ID, IssueType: "ISSUE_TYPE_" + strings.ToUpper(t.String()),
		CreatedAt: f.CreatedAt, RelevantSince: f.RelevantSince, Ref: f.Ref,
		SyntacticID: f.SyntacticID, MatchBasedID: f.MatchBasedID,
		TriageState: f.TriageState, FirstSeenScan: api.IssueScan{ID: f.FirstSeenScanID},
		LineOfCodeURL: cmp.Or(f.LineOfCodeURL, c.Org()+"/findings/"+core.Decimal(f.ID)),
		FilePath:      f.Location.FilePath, Line: f.Location.Line, Column: f.Location.Column,
		EndLine: f.Location.EndLine, EndColumn: f.Location.EndColumn,
		Severity: "SEVERITY_" + strings.ToUpper(f.Severity), Confidence: "CONFIDENCE_" + strings.ToUpper(f.Confidence),
		Message: f.Rule.Message, RulePath: f.RuleName, ExternalTicket: f.ExternalTicket,
	}
	if f.RuleMessage != nil {
		out.Message = *f.RuleMessage
	}
	if f.TriageReason != nil {
		out.TriageReason = *f.TriageReason
	}
	for tab, status := range issueTabs {
		if status.String() == f.Status {
			out.Status = tab
		}
	}
	return out
}
