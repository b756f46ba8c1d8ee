package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// pageSize is the number of findings in one response. Four of them are the smallest page of the Web
// API.
const (
	pageSize    = 25
	apiPageSize = 100
)

// findingsFilter contains the filters of findings.
type findingsFilter struct {
	IssueType  string   `json:"issue_type" jsonschema:"sast for code, sca for vulnerable dependencies"`
	Projects   []string `json:"projects,omitempty" jsonschema:"names of projects, such as acme/payments"`
	Status     []string `json:"status,omitempty" jsonschema:"open, reviewing, fixing, ignored or fixed; all when absent"`
	Severities []string `json:"severities,omitempty" jsonschema:"low, medium, high or critical"`
	Rules      []string `json:"rules,omitempty" jsonschema:"names of rules; sast only"`
	Categories []string `json:"categories,omitempty" jsonschema:"categories of rules, such as security; sast only"`
	Exposures  []string `json:"exposures,omitempty" jsonschema:"reachable, always_reachable, conditionally_reachable, unreachable or unknown; sca only"`
	Assignees  []string `json:"assignees,omitempty" jsonschema:"names of users; @nobody for unassigned findings"`
	Due        []string `json:"due,omitempty" jsonschema:"overdue, 7d or 30d (due within as many days), later, or none (no due date)"`
	Ref        string   `json:"ref,omitempty" jsonschema:"a branch; when absent, each finding is listed once, preferably from the primary branch"`
	Since      string   `json:"since,omitempty" jsonschema:"only findings that appeared since this date (2027-01-31) or time (RFC 3339)"`
}

// query converts the filter to a query of the Web API.
func (f findingsFilter) query() (api.FindingsQuery, error) {
	q := api.FindingsQuery{
		IssueType: f.IssueType, Repos: f.Projects, Status: f.Status,
		Severities: f.Severities, Rules: f.Rules, Categories: f.Categories,
		Exposures: f.Exposures, Assignees: f.Assignees, Due: f.Due, Ref: f.Ref, Dedup: f.Ref == "",
	}
	if f.Since == "" {
		return q, nil
	}
	since, err := time.Parse(time.RFC3339, f.Since)
	if err != nil {
		if since, err = time.Parse(time.DateOnly, f.Since); err != nil {
			return q, fmt.Errorf("invalid since %q: use a date, such as 2027-01-31, or a time, such as 2027-01-31T12:00:00Z",
				f.Since)
		}
	}
	q.Since = float64(since.Unix())
	return q, nil
}

// findingLine is a finding in a list.
type findingLine struct {
	ID            int64  `json:"id"`
	Project       string `json:"project"`
	Ref           string `json:"ref"`
	Severity      string `json:"severity"`
	Status        string `json:"status"`
	Rule          string `json:"rule"`
	Message       string `json:"message,omitempty"`
	Path          string `json:"path"`
	Line          int64  `json:"line"`
	Since         string `json:"since"`
	Assignee      string `json:"assignee,omitempty"`
	Due           string `json:"due,omitempty"` // last day, in UTC
	Overdue       bool   `json:"overdue,omitempty"`
	TriageReason  string `json:"triage_reason,omitempty"`
	Package       string `json:"package,omitempty"`
	Version       string `json:"version,omitempty"`
	Vulnerability string `json:"vulnerability,omitempty"`
	Reachability  string `json:"reachability,omitempty"`
}

// maxMessage limits the bytes of a message in a list.
const maxMessage = 300

func lineOf(f api.FindingCore) findingLine {
	out := findingLine{
		ID: f.ID, Project: f.Repository.Name, Ref: f.Ref, Severity: f.Severity,
		Status: f.Status, Rule: f.RuleName, Message: shortened(f.Rule.Message, maxMessage),
		Path: f.Location.FilePath, Line: f.Location.Line, Since: f.RelevantSince.Format(time.RFC3339), Assignee: f.Assignee,
	}
	if f.RuleMessage != nil {
		out.Message = shortened(*f.RuleMessage, maxMessage)
	}
	if f.DueAt != nil {
		out.Due, out.Overdue = f.DueAt.Format(time.DateOnly), f.Overdue != nil && *f.Overdue
	}
	if f.TriageReason != nil {
		out.TriageReason = *f.TriageReason
	}
	return out
}

func supplyLine(f api.SupplyChainFinding) findingLine {
	out := lineOf(f.FindingCore)
	if f.Unrated {
		out.Severity = model.NotRated + ", counts as " + f.Severity
	}
	out.Package, out.Version, out.Reachability = f.FoundDependency.Package, f.FoundDependency.Version, f.Reachability
	if f.VulnerabilityIdentifier != nil {
		out.Vulnerability = *f.VulnerabilityIdentifier
	}
	return out
}

// linesOf converts the findings of a response.
func linesOf(r *api.ListFindingsResponse) (out []findingLine) {
	for _, f := range r.SASTFindings.Findings {
		out = append(out, lineOf(f.FindingCore))
	}
	for _, f := range r.SCAFindings.Findings {
		out = append(out, supplyLine(f))
	}
	return out
}

func (a *assistant) findingTools(s *sdk.Server) {
	reader(s, tool{
		"search_findings", "Search findings",
		"Lists findings of code or of vulnerable dependencies, 25 per page, newest first unless sort is set. A " +
			"finding must match all filters, and any value of each. A saved view replaces the filters.",
	}, a.searchFindings)
	reader(s, tool{
		"get_finding", "Read a finding",
		"Returns a finding of any type by its id, with its code, data flow, dependency paths, history, triage " +
			"decisions, and the decisions about other findings of the rule. Read it before judging the finding.",
	}, a.getFinding)
	reader(s, tool{
		"count_findings", "Count findings",
		"Counts the findings of a filter, grouped by status, severity, repository, rule or another field.",
	}, a.countFindings)
	reader(s, tool{
		"list_secrets", "List secrets",
		"Lists the credentials found in repositories: kind, location and whether they are valid. The credentials " +
			"themselves are not stored.",
	}, a.listSecrets)
	reader(s, tool{"list_saved_views", "List saved views", "Lists saved views with their id and issue type, for the " +
		"view parameter of search_findings and count_findings."}, a.listSavedViews)
	reader(s, tool{"list_exceptions", "List exceptions", "Lists pending, active and past exceptions, including VEX " +
		"documents, with target, scope, justification and expiry; 25 per page, newest first."},
		a.listExceptions)
}

type searchInput struct {
	findingsFilter
	ofView
	Sort string `json:"sort,omitempty" jsonschema:"newest, oldest, severity (the most severe first) or due (the nearest first); sca only: epss, kev or reachability. Default: newest, or the order of the view"`
	Page int64  `json:"page,omitempty" jsonschema:"page of 25 findings, starting at 0"`
}

func (a *assistant) searchFindings(ctx context.Context, in searchInput) (*sdk.CallToolResult, error) {
	q, err := in.ofView.query(in.findingsFilter)
	if err != nil {
		return nil, err
	}
	if in.Page < 0 {
		return nil, fmt.Errorf("invalid page %d: pages start at 0", in.Page)
	}
	q.Page, q.PageSize = in.Page*pageSize/apiPageSize, apiPageSize
	if q.Sort = in.Sort; q.Sort == "severity" {
		q.Sort = "risk" // name in the Web API
	}
	list, err := a.Client.ListFindings(ctx, a.Deployment, q)
	if err != nil {
		return nil, err
	}
	all := linesOf(list)
	from := min(int(in.Page*pageSize%apiPageSize), len(all))
	page := all[from:min(from+pageSize, len(all))]
	lost, err := a.warning(ctx, in.ofView)
	if err != nil {
		return nil, err
	}
	order := "newest first"
	switch {
	case in.Sort != "":
		order = "sorted by " + in.Sort
	case in.View != 0:
		order = "in the order of the view"
	}
	message := fmt.Sprintf("%d findings on page %d, %s.%s", len(page), in.Page, order, lost)
	if len(page) == pageSize {
		message += fmt.Sprintf(" There may be more: request page %d.", in.Page+1)
	}
	return answer(message, page)
}

type findingInput struct {
	ID int64 `json:"id" jsonschema:"id of the finding"`
}

// findingDetails is a finding with its evidence and history.
type findingDetails struct {
	Finding  api.Finding           `json:"finding"`
	Evidence *api.EvidenceResponse `json:"evidence"`
	History  []api.FindingEvent    `json:"history"`
}

func (a *assistant) finding(ctx context.Context, id int64) (out findingDetails, err error) {
	found, err := a.Client.GetFinding(ctx, a.Deployment, id)
	if err != nil {
		return out, err
	}
	out.Finding = found.Finding
	if out.Evidence, err = a.Client.GetEvidence(ctx, a.Deployment, id); err != nil {
		return out, err
	}
	past, err := a.Client.GetFindingHistory(ctx, a.Deployment, id)
	if err != nil {
		return out, err
	}
	out.History = past.Events
	return out, nil
}

func (a *assistant) getFinding(ctx context.Context, in findingInput) (*sdk.CallToolResult, error) {
	details, err := a.finding(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	message := fmt.Sprintf("Finding %d, its code and flow, its history, and the precedent of its rule.", in.ID)
	return answer(message, details)
}

type countInput struct {
	findingsFilter
	ofView
	GroupBy string `json:"group_by,omitempty" jsonschema:"status, severity, repository, rule, category, confidence, assignee, due, dependency, exposure, triage_reason, policy_mode or another value listed in the error; severity when absent"`
}

// maxGroups limits the values of one count.
const maxGroups = 50

func (a *assistant) countFindings(ctx context.Context, in countInput) (*sdk.CallToolResult, error) {
	q, err := in.ofView.query(in.findingsFilter)
	if err != nil {
		return nil, err
	}
	by := cmp.Or(in.GroupBy, "severity")
	counts, err := a.Client.CountFindings(ctx, a.Deployment, api.CountFindingsQuery{
		FindingsSelection: api.FindingsSelection{
			IssueType: []string{q.IssueType}, Since: q.Since, Dedup: q.Dedup,
			Repos: q.Repos, Status: q.Status, Severities: q.Severities, Ref: q.Ref,
			Rules: q.Rules, Categories: q.Categories, Exposures: q.Exposures, Assignees: q.Assignees, Due: q.Due, View: q.View,
		},
		GroupBy: []string{by}, Limit: maxGroups,
	})
	if err != nil {
		return nil, err
	}
	lost, err := a.warning(ctx, in.ofView)
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d findings.%s", counts.Total, lost), counts.Groups)
}

type secretsInput struct {
	Projects   []string `json:"projects,omitempty" jsonschema:"names of projects"`
	Status     []string `json:"status,omitempty" jsonschema:"open, ignored or fixed"`
	Severities []string `json:"severities,omitempty" jsonschema:"low, medium, high or critical" also:"severity"`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"cursor returned with the previous page"`
}

func (a *assistant) listSecrets(ctx context.Context, in secretsInput) (*sdk.CallToolResult, error) {
	list, err := a.Client.ListSecrets(ctx, a.Deployment, api.SecretsQuery{
		Repo: in.Projects, Status: prefixed("FINDING_STATUS_", in.Status),
		Severity: prefixed("SEVERITY_", in.Severities), Cursor: in.Cursor, Limit: pageSize,
	})
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d secrets.%s", len(list.Findings), next(list.Cursor)), list.Findings)
}

// prefixed converts words to the notation of the secrets operations: open becomes
// FINDING_STATUS_OPEN.
func prefixed(prefix string, words []string) (out []string) {
	for _, word := range words {
		out = append(out, prefix+strings.TrimPrefix(strings.ToUpper(word), prefix))
	}
	return out
}

// next returns the instruction for reading the next page.
func next(cursor string) string {
	if cursor == "" {
		return " There are no more."
	}
	return " There are more: repeat the call with the cursor " + fmt.Sprintf("%q", cursor) + "."
}
