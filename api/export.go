package api

import (
	"context"
	"io"
	"net/http"
)

// ExportFindingsQuery selects the findings and the format of an export.
type ExportFindingsQuery struct {
	FindingsSelection
	Format string `query:"format" enum:"csv,jsonl,sarif,xlsx" default:"csv" doc:"Table (csv, xlsx), one finding per line (jsonl), or a log of results (sarif)."`
}

// FindingsSelection selects findings of several issue types. It has the filters of listing
// findings, of bulk triage and of secrets.
type FindingsSelection struct {
	IssueType          []string       `query:"issue_type,explode" enum:"sast,sca,secrets" doc:"Code (sast), supply chain (sca), secrets. Default: all. A filter of one type requires issue_type to be only that type."`
	Since              float64        `query:"since" doc:"Epoch seconds; only findings relevant since then or later. Default: all."`
	Dedup              bool           `query:"dedup" default:"false" doc:"One finding for all refs: the one on the primary branch, else the newest."`
	Repos              []string       `query:"repos,explode" doc:"Only these projects, by name, case-insensitive."`
	RepositoryIDs      []int64        `query:"repository_ids,explode" minimum:"0" maximum:"4294967295" doc:"Only these projects, by id."`
	Status             []string       `query:"status,explode" enum:"open,fixed,ignored,reviewing,fixing" doc:"Only findings with one of these statuses."`
	TriageReasons      []string       `query:"triage_reasons,explode" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Only findings ignored for one of these reasons."`
	Severities         []string       `query:"severities,explode" enum:"low,medium,high,critical" doc:"Only these severities."`
	Ref                string         `query:"ref" maxLength:"512" doc:"Only findings on this ref, full or short; _default: all refs."`
	Policies           []string       `query:"policies,explode" enum:"rule-board-audit,rule-board-pr-comments,rule-board-block" doc:"Only findings of rules with these current modes: monitor, comment, block."`
	Rules              []string       `query:"rules,explode" doc:"Only findings of these rules."`
	Categories         []string       `query:"categories,explode" doc:"Only findings of these categories."`
	Confidence         []string       `query:"confidence,explode" enum:"low,medium,high" doc:"Only these confidence levels."`
	AutotriageVerdict  string         `query:"autotriage_verdict" enum:"true_positive,false_positive" doc:"Only findings with this assistant verdict."`
	ComponentTags      []string       `query:"component_tags,explode" doc:"Only findings in components with these tags."`
	Exposures          []string       `query:"exposures,explode" enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" doc:"Only these reachabilities. Supply chain only."`
	Transitivities     []string       `query:"transitivities,explode" enum:"direct,transitive,unknown" doc:"Only dependencies of these kinds. Supply chain only."`
	IsMalicious        Optional[bool] `query:"is_malicious" doc:"true: only malicious dependencies; false: all others. Supply chain only."`
	ClickToFixPRStates []string       `query:"click_to_fix_pr_state,explode" enum:"open,merged" doc:"Only findings with a fixing change request in one of these states."`
	Assignees          []string       `query:"assignees,explode" doc:"Only findings assigned to these users, by name; @nobody for unassigned findings."`
	Due                []string       `query:"due,explode" enum:"overdue,7d,30d,later,none" doc:"Only findings that are overdue, due within 7 or 30 days from today (UTC), due later, or have no due date."`
	DueBefore          string         `query:"due_before" format:"date" doc:"Only findings due before this day (UTC)."`
	SecretTypes        []string       `query:"secret_types,explode" doc:"Only these kinds of credentials. Secrets only."`
	ValidationState    []string       `query:"validation_state,explode" enum:"no_validator,confirmed_valid,confirmed_invalid,validation_error,valid,invalid" doc:"Only credentials with this validation state. Secrets only."`
	IncludeHistorical  Optional[bool] `query:"include_historical" doc:"false excludes findings that exist only in the code's history. Default: true. Secrets only."`
	View               int64          `query:"view" minimum:"0" doc:"Id of a saved view whose filters apply. Other filters are not allowed; issue_type must match the view or be absent."`
	FurtherFilters
}

// ExportFindings returns a stream of all selected findings. The caller must close it. If reading
// fails, the export is incomplete.
func (c *Client) ExportFindings(ctx context.Context, deployment string, q ExportFindingsQuery) (io.ReadCloser, error) {
	var body io.ReadCloser
	err := c.send(ctx, call{method: http.MethodGet, path: path(deployment, "findings", "export"), query: values(q)},
		func(resp *http.Response) error {
			body = resp.Body
			return nil
		})
	return body, err
}
