package cli

import (
	"fmt"
	"time"

	"github.com/redoubt/redoubt/api"
)

// FindingFlags select findings for lists and exports. The status is excluded, as its default
// differs between the two.
type FindingFlags struct {
	Project      []string `help:"Only these projects." placeholder:"NAME"`
	ProjectTag   []string `help:"Only projects with one of these tags." placeholder:"TAG"`
	Visibility   []string `help:"Only repositories that are public, private or unknown." enum:"public,private,unknown" placeholder:"WHO"`
	Ref          string   `help:"Only this branch or other ref." placeholder:"REF"`
	Severity     []string `help:"Only these severities: low, medium, high, critical." enum:"low,medium,high,critical" placeholder:"SEVERITY"`
	Confidence   []string `help:"Only these confidences: low, medium, high." enum:"low,medium,high" placeholder:"CONFIDENCE"`
	Reason       []string `help:"Only what is ignored for one of these reasons: acceptable_risk, false_positive, no_time, no_triage_reason." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" placeholder:"REASON"`
	Assignee     []string `help:"Only findings that these users have; @nobody selects findings without one." placeholder:"USER"`
	Rule         []string `help:"Only findings of these rules." placeholder:"NAME"`
	Ruleset      []string `help:"Only findings of rules of these rulesets." placeholder:"NAME"`
	Category     []string `help:"Only findings of these categories." placeholder:"NAME"`
	Mode         []string `help:"Only findings of rules that monitor, comment or block now." enum:"monitor,comment,block" placeholder:"MODE"`
	Verdict      string   `help:"Only findings with this verdict of the assistant: true_positive or false_positive." enum:",true_positive,false_positive" default:"" placeholder:"VERDICT"`
	ComponentTag []string `help:"Only findings in components with these tags." placeholder:"TAG"`
	PRState      []string `name:"pr-state" help:"Only findings with a fixing change request that is open or merged." enum:"open,merged" placeholder:"STATE"`
	Due          []string `help:"Only what is overdue, due within 7 or 30 days (7d, 30d), later, or has no due date (none)." enum:"overdue,7d,30d,later,none" placeholder:"WHEN"`
	DueBefore    string   `help:"Only what is due before this day, in UTC." placeholder:"2027-01-31"`
	Since        string   `help:"Only what was first seen, or came back, on this day or later, in UTC." placeholder:"2026-01-31"`

	Pro *bool `help:"Only what needs advanced analysis; --no-pro: all else. Code only." negatable:""`

	Dependency   []string `help:"Only findings about these packages. Supply chain only." placeholder:"NAME"`
	EPSS         []string `name:"epss" help:"Only this probability of exploitation: high from 0.5, medium from 0.1, low below, none without a score. Supply chain only." enum:"high,medium,low,none" placeholder:"BAND"`
	Reachability []string `help:"Only reachable, always_reachable, conditionally_reachable, unreachable or unknown. Supply chain only." enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" placeholder:"WORD"`
	Transitivity []string `help:"Only direct, transitive or unknown dependencies. Supply chain only." enum:"direct,transitive,unknown" placeholder:"WORD"`
	Malicious    *bool    `help:"Only malicious dependencies; --no-malicious: all others. Supply chain only." negatable:""`
	Exploited    *bool    `help:"Only vulnerabilities that are known to be exploited; --no-exploited: all others. Supply chain only." negatable:""`
	Unrated      *bool    `help:"Only vulnerabilities without a severity; --no-unrated: all others. Supply chain only." negatable:""`

	SecretType []string `help:"Only these kinds of credentials. Secrets only." placeholder:"NAME"`
	Validation []string `help:"Only credentials of which this is known: confirmed_valid, confirmed_invalid, validation_error, no_validator. Secrets only." enum:"confirmed_valid,confirmed_invalid,validation_error,no_validator" placeholder:"STATE"`
	Historical *bool    `help:"--no-historical leaves out what is in the history of the code alone. Secrets only." negatable:""`
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
			return out, fmt.Errorf("--%s %s is no day as 2026-01-31", flag, day)
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
