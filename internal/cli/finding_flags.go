package cli

import (
	"fmt"
	"time"

	"github.com/redoubt/redoubt/api"
)

// FindingFlags select findings for lists and exports. The status is excluded, as its default
// differs between the two.
type FindingFlags struct {
	Project      []string `help:"Limit to these projects." placeholder:"NAME"`
	ProjectTag   []string `help:"Limit to projects with one of these tags." placeholder:"TAG"`
	Visibility   []string `help:"Limit by repository visibility: public, private or unknown." enum:"public,private,unknown" placeholder:"WHO"`
	Ref          string   `help:"Limit to this branch or other ref." placeholder:"REF"`
	Severity     []string `help:"Limit to these severities: low, medium, high, critical." enum:"low,medium,high,critical" placeholder:"SEVERITY"`
	Confidence   []string `help:"Limit to these confidences: low, medium, high." enum:"low,medium,high" placeholder:"CONFIDENCE"`
	Reason       []string `help:"Limit by triage reason: acceptable_risk, false_positive, no_time, no_triage_reason." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" placeholder:"REASON"`
	Assignee     []string `help:"Limit to these assignees; @nobody selects unassigned findings." placeholder:"USER"`
	Rule         []string `help:"Limit to these rules." placeholder:"NAME"`
	Ruleset      []string `help:"Limit to rules of these rulesets." placeholder:"NAME"`
	Category     []string `help:"Limit to these categories." placeholder:"NAME"`
	Mode         []string `help:"Limit by current rule mode: monitor, comment, block." enum:"monitor,comment,block" placeholder:"MODE"`
	Verdict      string   `help:"Limit by the assistant's verdict: true_positive or false_positive." enum:",true_positive,false_positive" default:"" placeholder:"VERDICT"`
	ComponentTag []string `help:"Limit to components with these tags." placeholder:"TAG"`
	PRState      []string `name:"pr-state" help:"Limit by state of the fixing change request: open, merged." enum:"open,merged" placeholder:"STATE"`
	Due          []string `help:"Limit by due date: overdue, within 7 or 30 days (7d, 30d), later, none." enum:"overdue,7d,30d,later,none" placeholder:"WHEN"`
	DueBefore    string   `help:"Limit to findings due before this date, in UTC." placeholder:"2027-01-31"`
	Since        string   `help:"Limit to findings first seen or returned since this date; in UTC." placeholder:"2026-01-31"`

	Pro *bool `help:"Limit to findings that need advanced analysis; --no-pro excludes them. Code only." negatable:""`

	Dependency   []string `help:"Limit to these packages. Supply chain only." placeholder:"NAME"`
	EPSS         []string `name:"epss" help:"Limit by EPSS score: high (0.5 and above), medium (0.1 and above), low, none (no score). Supply chain only." enum:"high,medium,low,none" placeholder:"BAND"`
	Reachability []string `help:"Limit by reachability: reachable, always_reachable, conditionally_reachable, unreachable, unknown. Supply chain only." enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" placeholder:"WORD"`
	Transitivity []string `help:"Limit by transitivity: direct, transitive, unknown. Supply chain only." enum:"direct,transitive,unknown" placeholder:"WORD"`
	Malicious    *bool    `help:"Limit to malicious dependencies; --no-malicious excludes them. Supply chain only." negatable:""`
	Exploited    *bool    `help:"Limit to known exploited vulnerabilities; --no-exploited excludes them. Supply chain only." negatable:""`
	Unrated      *bool    `help:"Limit to vulnerabilities without a severity; --no-unrated excludes them. Supply chain only." negatable:""`

	SecretType []string `help:"Limit to these secret types. Secrets only." placeholder:"NAME"`
	Validation []string `help:"Limit by validation state: confirmed_valid, confirmed_invalid, validation_error, no_validator. Secrets only." enum:"confirmed_valid,confirmed_invalid,validation_error,no_validator" placeholder:"STATE"`
	Historical *bool    `help:"Include secrets found only in the history; --no-historical excludes them. Secrets only." negatable:""`
}

// selection converts the flags to a selection of the API.
func (f FindingFlags) selection(status []string) (api.FindingsSelection, error) {
	out := api.FindingsSelection{
		Repos: f.Project, Ref: f.Ref, Status: status, Severities: f.Severity,
		Confidence: f.Confidence, TriageReasons: f.Reason, Assignees: f.Assignee,
		Rules: f.Rule, Categories: f.Category, AutotriageVerdict: f.Verdict,
		ComponentTags: f.ComponentTag, ClickToFixPRStates: f.PRState,
		Due: f.Due, DueBefore: f.DueBefore, Exposures: f.Reachability,
		Transitivities: f.Transitivity, IsMalicious: optionalFlag(f.Malicious),
		SecretTypes: f.SecretType, ValidationState: f.Validation, IncludeHistorical: optionalFlag(f.Historical),
		FurtherFilters: api.FurtherFilters{
			ProjectTags: f.ProjectTag, RepositoryVisibility: f.Visibility,
			PolicyMode: f.Mode, Ruleset: f.Ruleset, ProOnly: optionalFlag(f.Pro),
			Dependencies: f.Dependency, EPSSProbability: f.EPSS,
			KnownExploited: optionalFlag(f.Exploited), SeverityUnrated: optionalFlag(f.Unrated),
		},
	}
	for flag, day := range map[string]string{"since": f.Since, "due-before": f.DueBefore} {
		if day == "" {
			continue
		}
		t, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return out, fmt.Errorf("--%s: invalid date %q: use YYYY-MM-DD", flag, day)
		}
		if flag == "since" {
			out.Since = float64(t.Unix())
		}
	}
	return out, nil
}

func optionalFlag(set *bool) api.Optional[bool] {
	if set == nil {
		return api.Optional[bool]{}
	}
	return api.Some(*set)
}
