package api

// FindingsQuery contains the parameters for listing findings: the 21 parameters of the format
// contract (docs/reference/response-formats.md), and extensions of Redoubt from Assignees on. Lists
// may be sent as repos=a&repos=b, repos=a,b, repos[]=a or repos[0]=a.
type FindingsQuery struct {
	IssueType          string         `query:"issue_type" enum:"sast,sca" default:"sast" doc:"Code (sast) or supply-chain (sca) findings."`
	Since              float64        `query:"since" doc:"Epoch seconds; only findings relevant since then or later. Default: all."`
	Page               int64          `query:"page" minimum:"0" maximum:"4294967295" default:"0" doc:"Page number, from 0."`
	PageSize           int64          `query:"page_size" minimum:"100" maximum:"3000" default:"100" doc:"Findings per page."`
	Dedup              bool           `query:"dedup" default:"false" doc:"One finding for all refs: the one on the primary branch, else the newest."`
	Repos              []string       `query:"repos,explode" doc:"Only these projects, by name, case-insensitive."`
	RepositoryIDs      []int64        `query:"repository_ids,explode" minimum:"0" maximum:"4294967295" doc:"Only these projects, by id."`
	Status             []string       `query:"status,explode" enum:"open,fixed,ignored,reviewing,fixing" doc:"Only findings with one of these statuses (several: Redoubt extension)."`
	TriageReasons      []string       `query:"triage_reasons,explode" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Only findings ignored for one of these reasons."`
	Severities         []string       `query:"severities,explode" enum:"low,medium,high,critical" doc:"Only these severities."`
	Ref                string         `query:"ref" maxLength:"512" doc:"Only findings on this ref, full or short; _default: all refs."`
	Policies           []string       `query:"policies,explode" enum:"rule-board-audit,rule-board-pr-comments,rule-board-block" doc:"Only findings with these current modes: monitor, comment, block. Code only."`
	Rules              []string       `query:"rules,explode" doc:"Only findings of these rules. Code only."`
	Categories         []string       `query:"categories,explode" doc:"Only findings of these categories. Code only."`
	Confidence         []string       `query:"confidence,explode" enum:"low,medium,high" doc:"Only these confidence levels. Code only."`
	AutotriageVerdict  string         `query:"autotriage_verdict" enum:"true_positive,false_positive" doc:"Only findings with this assistant verdict. Code only."`
	ComponentTags      []string       `query:"component_tags,explode" doc:"Only findings in components with these tags."`
	Exposures          []string       `query:"exposures,explode" enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" doc:"Only these reachabilities. Supply chain only."`
	Transitivities     []string       `query:"transitivities,explode" enum:"direct,transitive,unknown" doc:"Only dependencies of these kinds. Supply chain only."`
	IsMalicious        Optional[bool] `query:"is_malicious" doc:"true: only malicious dependencies; false: all others. Supply chain only."`
	ClickToFixPRStates []string       `query:"click_to_fix_pr_state,explode" enum:"open,merged" doc:"Only findings with a fixing change request in one of these states."`
	Assignees          []string       `query:"assignees,explode" doc:"Only findings assigned to these users, by name; @nobody for unassigned findings (Redoubt extension)."`
	Due                []string       `query:"due,explode" enum:"overdue,7d,30d,later,none" doc:"Only findings that are overdue, due within 7 or 30 days from today (UTC), due later, or have no due date (Redoubt extension)."`
	DueBefore          string         `query:"due_before" format:"date" doc:"Only findings due before this day (UTC) (Redoubt extension)."`
	View               int64          `query:"view" minimum:"0" doc:"Id of a saved view whose filters and order apply. Other filters are not allowed, and issue_type is the view's (Redoubt extension)."`
	Sort               string         `query:"sort" enum:"newest,oldest,risk,severity_asc,due,due_desc,epss,epss_asc,kev,reachability,reachability_asc" doc:"Order by age, severity (risk: highest first) or due date (due: nearest first); supply chain only: by EPSS score, known exploitation or reachability. Ties are newest first. Default: newest, or the view's order (Redoubt extension)."`
	FurtherFilters
}

// FurtherFilters are extensions of lists, counts and exports. KnownExploited and SeverityUnrated
// correspond to groups of CountFindings. The contract defines the others for bulk triage only.
type FurtherFilters struct {
	ProjectTags          []string       `query:"project_tags,explode" doc:"Only projects with one of these tags, case-insensitive (Redoubt extension)."`
	RepositoryVisibility []string       `query:"repository_visibility,explode" enum:"public,private,unknown" doc:"Only repositories with this visibility (Redoubt extension)."`
	PolicyMode           []string       `query:"policy_mode,explode" enum:"monitor,comment,block" doc:"Only findings with these current modes, from their rule or a condition; same as policies (Redoubt extension)."`
	Ruleset              []string       `query:"ruleset,explode" doc:"Only findings of rules of these rulesets (Redoubt extension)."`
	ProOnly              Optional[bool] `query:"pro_only" doc:"true: only findings that need advanced analysis; false: all others. Code only (Redoubt extension)."`
	Dependencies         []string       `query:"dependencies,explode" doc:"Only findings about these packages. Supply chain only (Redoubt extension)."`
	EPSSProbability      []string       `query:"epss_probability,explode" enum:"high,medium,low,none" doc:"high from 0.5, medium from 0.1, low below, none without a score. Supply chain only (Redoubt extension)."`
	KnownExploited       Optional[bool] `query:"known_exploited" doc:"true: only known exploited vulnerabilities; false: all others. Supply chain only (Redoubt extension)."`
	SeverityUnrated      Optional[bool] `query:"severity_unrated" doc:"true: only vulnerabilities without a severity rating; false: all others. Supply chain only (Redoubt extension)."`
}

// Selection converts the query to a selection, without the page, the saved view and the order.
func (q FindingsQuery) Selection() FindingsSelection {
	return FindingsSelection{
		IssueType: []string{q.IssueType}, Since: q.Since, Dedup: q.Dedup, Repos: q.Repos, RepositoryIDs: q.RepositoryIDs,
		Status: q.Status, TriageReasons: q.TriageReasons,
		Severities: q.Severities, Ref: q.Ref, Policies: q.Policies, Rules: q.Rules,
		Categories: q.Categories, Confidence: q.Confidence,
		AutotriageVerdict: q.AutotriageVerdict, ComponentTags: q.ComponentTags,
		Exposures: q.Exposures, Transitivities: q.Transitivities,
		IsMalicious: q.IsMalicious, ClickToFixPRStates: q.ClickToFixPRStates,
		Assignees: q.Assignees, Due: q.Due, DueBefore: q.DueBefore, FurtherFilters: q.FurtherFilters,
	}
}

// ListFindingsResponse is one page of findings. Both members are always present. The list of the
// issue type that was not requested is empty.
type ListFindingsResponse struct {
	SASTFindings CodeFindings        `json:"sastFindings" doc:"Code findings."`
	SCAFindings  SupplyChainFindings `json:"scaFindings" doc:"Supply-chain findings."`
}

// CodeFindings contains code findings.
type CodeFindings struct {
	Findings []CodeFinding `json:"findings" doc:"Findings, by relevant_since and id, descending, unless another order is requested."`
}

// SupplyChainFindings contains supply-chain findings.
type SupplyChainFindings struct {
	Findings []SupplyChainFinding `json:"findings" doc:"Findings, by relevant_since and id, descending, unless another order is requested."`
}

// FindingCore contains the members that code and supply-chain findings share.
type FindingCore struct {
	ID              int64           `json:"id" doc:"Id of the finding." example:"1234"`
	CreatedAt       Time            `json:"created_at" doc:"When the finding was first seen on its ref." example:"2024-05-28T06:38:54.962941Z"`
	RelevantSince   Time            `json:"relevant_since" doc:"When the finding was first seen or last reopened." example:"2024-05-28T06:38:54.962941Z"`
	StateUpdatedAt  *Time           `json:"state_updated_at" nullable:"true" doc:"Time of the last change of state; null if the state never changed."`
	TriagedAt       *Time           `json:"triaged_at" nullable:"true" doc:"Time of the last triage; null if the finding was never triaged."`
	FirstSeenScanID int64           `json:"first_seen_scan_id" doc:"Id of the scan that found it." example:"42"`
	Categories      []string        `json:"categories" doc:"Categories of its rule." example:"[\"security\"]"`
	Confidence      string          `json:"confidence" enum:"low,medium,high" doc:"Confidence of the rule." example:"high"`
	Severity        string          `json:"severity" enum:"low,medium,high,critical" doc:"Severity." example:"high"`
	Ref             string          `json:"ref" doc:"Full name of the branch or other ref." example:"refs/heads/main"`
	Repository      Repository      `json:"repository" doc:"The project."`
	Location        Location        `json:"location" doc:"Location in the code."`
	LineOfCodeURL   string          `json:"line_of_code_url" doc:"Link to the line at the code host; empty if the repository's URL is unknown."`
	MatchBasedID    string          `json:"match_based_id" doc:"Scanner fingerprint that is stable when lines move."`
	SyntacticID     string          `json:"syntactic_id" doc:"Scanner fingerprint of the code."`
	Rule            RuleSummary     `json:"rule" doc:"The rule that found it."`
	RuleName        string          `json:"rule_name" doc:"Name of the rule." example:"python.lang.security.audit.eval-detected"`
	RuleMessage     *string         `json:"rule_message" doc:"Message of the rule for this match."`
	State           string          `json:"state" enum:"unresolved,fixed,muted" doc:"State according to scans." example:"unresolved"`
	Status          string          `json:"status" enum:"open,fixed,ignored,reviewing,fixing" doc:"Status: state and triage combined." example:"open"`
	TriageState     string          `json:"triage_state" enum:"untriaged,ignored,reviewing,fixing,reopened" doc:"Triage state." example:"untriaged"`
	TriageReason    *string         `json:"triage_reason" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Triage reason; null if not ignored."`
	TriageComment   *string         `json:"triage_comment" doc:"Note of the last triage."`
	TriageUntil     string          `json:"triage_until,omitempty" format:"date" doc:"Last day of the decision (UTC); absent without an expiry (Redoubt extension)." example:"2027-01-31"`
	Assignee        string          `json:"assignee,omitempty" doc:"Name of the assigned user; absent if unassigned (Redoubt extension)." example:"ada"`
	DueAt           *Time           `json:"due_at,omitempty" doc:"End of the due day (UTC) according to the policies; absent without due days, and for fixed or ignored findings (Redoubt extension)." example:"2027-01-31T23:59:59.999999Z"`
	Overdue         *bool           `json:"overdue,omitempty" doc:"Whether the due day has passed; absent without a due date (Redoubt extension)." example:"false"`
	ExternalTicket  *ExternalTicket `json:"external_ticket" doc:"Linked ticket, or null."`
	ReviewComments  []ReviewComment `json:"review_comments" doc:"Comments on change requests."`
}

// CodeFinding is a code (sast) finding.
type CodeFinding struct {
	FindingCore
	ClickToFixPRs      []ClickToFixPR      `json:"click_to_fix_prs" doc:"Change requests that fix the finding."`
	ClickToFixFailures []ClickToFixFailure `json:"click_to_fix_failures" doc:"Failed attempts to open a change request."`
	SourcingPolicy     *SourcingPolicy     `json:"sourcing_policy,omitempty" doc:"Policy whose rule or condition determines the mode: monitor, comment or block; absent without one."`
	Assistant          *Assistant          `json:"assistant,omitempty" doc:"Results of an AI assistant; absent if there are none."`
}

// SupplyChainFinding is a supply-chain (sca) finding.
type SupplyChainFinding struct {
	FindingCore
	EPSSScore               *EPSSScore          `json:"epss_score" doc:"Published probability of exploitation, or null."`
	FixRecommendations      []FixRecommendation `json:"fix_recommendations" doc:"Fixed versions."`
	FoundDependency         FoundDependency     `json:"found_dependency" doc:"The vulnerable dependency."`
	IsMalicious             bool                `json:"is_malicious" doc:"Whether the package itself is malicious."`
	Reachability            string              `json:"reachability" enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" doc:"Whether the project's code reaches the vulnerable part." example:"reachable"`
	ReachableCondition      *string             `json:"reachable_condition" doc:"Condition for reachability."`
	Usage                   *Usage              `json:"usage" doc:"Location of the use in code, or null if unknown."`
	Unrated                 bool                `json:"severity_unrated,omitempty" doc:"True if the vulnerability has no severity rating; severity is medium then. Absent otherwise (Redoubt extension)."`
	VulnerabilityIdentifier *string             `json:"vulnerability_identifier" doc:"CVE or other identifier." example:"CVE-2021-44228"`
}

// Finding is a finding of any issue type. Members of other types are absent.
type Finding struct {
	FindingCore
	ClickToFixPRs      []ClickToFixPR      `json:"click_to_fix_prs,omitempty" doc:"Code only: change requests that fix the finding."`
	ClickToFixFailures []ClickToFixFailure `json:"click_to_fix_failures,omitempty" doc:"Code only: failed attempts to open a change request."`
	SourcingPolicy     *SourcingPolicy     `json:"sourcing_policy,omitempty" doc:"Code only: policy whose rule or condition determines the mode: monitor, comment or block."`
	Assistant          *Assistant          `json:"assistant,omitempty" doc:"Code only: results of an AI assistant."`

	EPSSScore               *EPSSScore          `json:"epss_score,omitempty" doc:"Supply chain only: published probability of exploitation, or null."`
	FixRecommendations      []FixRecommendation `json:"fix_recommendations,omitempty" doc:"Supply chain only: fixed versions."`
	FoundDependency         *FoundDependency    `json:"found_dependency,omitempty" doc:"Supply chain only: the vulnerable dependency."`
	IsMalicious             *bool               `json:"is_malicious,omitempty" doc:"Supply chain only: whether the package itself is malicious."`
	Reachability            string              `json:"reachability,omitempty" enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" doc:"Supply chain only: whether the project's code reaches the vulnerable part."`
	ReachableCondition      *string             `json:"reachable_condition,omitempty" nullable:"true" doc:"Supply chain only: condition for reachability."`
	Usage                   *Usage              `json:"usage,omitempty" doc:"Supply chain only: location of the use in code."`
	Unrated                 bool                `json:"severity_unrated,omitempty" doc:"Supply chain only: true if the vulnerability has no severity rating; severity is medium then. Absent otherwise (Redoubt extension)."`
	VulnerabilityIdentifier *string             `json:"vulnerability_identifier,omitempty" nullable:"true" doc:"Supply chain only: CVE or other identifier."`

	SecretType      *string `json:"secret_type,omitempty" nullable:"true" doc:"Secrets only: kind of credential." example:"AWS"`
	ValidationState string  `json:"validation_state,omitempty" enum:"no_validator,confirmed_valid,confirmed_invalid,validation_error" doc:"Secrets only: validation state of the credential."`
	Historical      *bool   `json:"historical,omitempty" doc:"Secrets only: found only in the history."`
}

// FindingResponse contains one finding.
type FindingResponse struct {
	Finding Finding `json:"finding" doc:"The finding, after the change if there was one."`
	ETag    string  `json:"-"` // ETag header: version of the annotations, for IfMatch
}

func (r *FindingResponse) setTag(tag string) { r.ETag = tag }

// Repository identifies the project of a finding.
type Repository struct {
	Name string `json:"name" doc:"Name of the project." example:"acme/payments"`
	URL  string `json:"url" doc:"URL of the repository; empty if unknown." example:"https://github.com/acme/payments"`
}

// Location is a place in a file. Lines and columns count from 1; 0 is unknown.
type Location struct {
	FilePath  string `json:"filePath" doc:"Path in the repository." example:"src/app.py"`
	Line      int64  `json:"line" doc:"First line." example:"10"`
	Column    int64  `json:"column" doc:"First column." example:"5"`
	EndLine   int64  `json:"endLine" doc:"Last line." example:"10"`
	EndColumn int64  `json:"endColumn" doc:"Column after the last one." example:"20"`
}

// RuleSummary describes the rule of a finding.
type RuleSummary struct {
	Category             string   `json:"category" doc:"Category; empty if unknown." example:"security"`
	Confidence           string   `json:"confidence" enum:"low,medium,high" doc:"Confidence of the rule."`
	Message              string   `json:"message" doc:"Message of the rule with its placeholders; if the template is unknown, the message for this match."`
	Name                 string   `json:"name" doc:"Name of the rule."`
	CWENames             []string `json:"cweNames" doc:"CWE weaknesses of the rule." example:"[\"CWE-95: Eval Injection\"]"`
	OWASPNames           []string `json:"owaspNames" doc:"OWASP categories." example:"[\"A03:2021 - Injection\"]"`
	Subcategories        []string `json:"subcategories" doc:"Subcategories." example:"[\"vuln\"]"`
	VulnerabilityClasses []string `json:"vulnerabilityClasses" doc:"Classes of vulnerability." example:"[\"Code Injection\"]"`
}

// SourcingPolicy is the policy whose rule or condition determines the mode of a finding.
type SourcingPolicy struct {
	ID   int64  `json:"id" doc:"Id of the policy." example:"3"`
	Name string `json:"name" doc:"Name of the policy." example:"Code"`
	Slug string `json:"slug" doc:"Short name of the policy." example:"code"`
}

// EPSSScore is the published probability that a vulnerability will be exploited.
type EPSSScore struct {
	_          struct{} `nullable:"true"`
	Percentile float64  `json:"percentile" minimum:"0" maximum:"1" doc:"Rank among all vulnerabilities." example:"0.91"`
	Score      float64  `json:"score" minimum:"0" maximum:"1" doc:"Probability." example:"0.42"`
}

// FixRecommendation is a version that is not vulnerable.
type FixRecommendation struct {
	Package string `json:"package" doc:"Name of the package." example:"log4j-core"`
	Version string `json:"version" doc:"Recommended version." example:"2.17.1"`
}

// FoundDependency is the dependency that a supply-chain finding is about.
type FoundDependency struct {
	Ecosystem       string  `json:"ecosystem" doc:"Ecosystem of the package." example:"npm"`
	LockfileLineURL *string `json:"lockfile_line_url" doc:"Link to the line in the lockfile."`
	Package         string  `json:"package" doc:"Name of the package." example:"lodash"`
	Transitivity    string  `json:"transitivity" enum:"direct,transitive,unknown" doc:"Whether the dependency is direct or transitive." example:"direct"`
	Version         string  `json:"version" doc:"Installed version." example:"4.17.20"`
}

// Usage is a place where code uses a vulnerable package.
type Usage struct {
	_              struct{}        `nullable:"true"`
	ExternalTicket *ExternalTicket `json:"external_ticket" doc:"Same as the external_ticket of the finding."`
	Location       Location        `json:"location" doc:"Location of the use."`
}
