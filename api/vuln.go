package api

// ListVulnsRequest contains the parameters for listing supply-chain findings in the hosted
// service's older format. Unknown members are rejected, so that a misspelled filter does not widen
// the selection.
type ListVulnsRequest struct {
	_            struct{}    `additionalProperties:"false"`
	DeploymentID ID          `json:"deploymentId,omitempty" doc:"Same as in the path."`
	PageSize     int64       `json:"pageSize,omitempty" minimum:"1" maximum:"3000" default:"100" doc:"Findings per page."`
	Page         int64       `json:"page,omitempty" minimum:"0" maximum:"4294967295" doc:"Page number, from 0, for clients that send no cursor."`
	Cursor       *VulnCursor `json:"cursor,omitempty" doc:"Cursor of the previous response; overrides page."`
	Exposure     []string    `json:"exposure,omitempty" enum:"REACHABLE,ALWAYS_REACHABLE,CONDITIONALLY_REACHABLE,UNREACHABLE,UNKNOWN,UNKNOWN_EXPOSURE" doc:"Only these reachabilities."`
	Severities   []string    `json:"severities,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Only these severities."`
	Statuses     []string    `json:"statuses,omitempty" enum:"NEW,TRIAGED,IN_PROGRESS,FIXED,IGNORED" doc:"Only these statuses; NEW is open, TRIAGED reviewing, IN_PROGRESS fixing."`
	Refs         []string    `json:"refs,omitempty" maxItems:"1" doc:"Only findings on this ref, full or short; _default is the primary branch of each project."`
	Query        string      `json:"query,omitempty" maxLength:"512" doc:"Only findings whose rule, project, package or vulnerability has this text in its name, case-insensitive."`
}

// VulnCursor is a position in the list.
type VulnCursor struct {
	VulnOffset  Int `json:"vulnOffset" doc:"Number of preceding findings."`
	IssueOffset Int `json:"issueOffset,omitempty" doc:"Not used: a finding has at most one use."`
}

// ListVulnsResponse is one page of supply-chain findings, newest first.
type ListVulnsResponse struct {
	Vulns   []Vuln      `json:"vulns" doc:"Findings by relevant_since and id, descending."`
	HasMore bool        `json:"hasMore" doc:"Whether there are more results."`
	Cursor  *VulnCursor `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// Vuln is a supply-chain finding in the older format.
type Vuln struct {
	GroupKey               string       `json:"groupKey" doc:"Id of the finding." example:"1234"`
	Title                  string       `json:"title" doc:"Title of the rule." example:"Prototype pollution in lodash"`
	RepositoryName         string       `json:"repositoryName" doc:"Name of the project." example:"acme/payments"`
	Ref                    string       `json:"ref" doc:"Full name of the branch or other ref." example:"refs/heads/main"`
	Advisory               VulnAdvisory `json:"advisory" doc:"Details of the vulnerability."`
	ExposureType           string       `json:"exposureType" enum:"REACHABLE,ALWAYS_REACHABLE,CONDITIONALLY_REACHABLE,UNREACHABLE,UNKNOWN_EXPOSURE" doc:"Whether the project's code reaches the vulnerable part." example:"REACHABLE"`
	MatchedDependency      VulnPackage  `json:"matchedDependency" doc:"The vulnerable dependency."`
	ClosestSafeDependency  *VulnPackage `json:"closestSafeDependency,omitempty" doc:"Closest fixed version; absent if unknown."`
	DependencyFileLocation VulnPlace    `json:"dependencyFileLocation" doc:"Location of the dependency."`
	Transitivity           string       `json:"transitivity" enum:"DIRECT,TRANSITIVE,UNKNOWN_TRANSITIVITY" doc:"Whether the dependency is direct or transitive." example:"DIRECT"`
	OpenedAt               Time         `json:"openedAt" doc:"When the finding was first seen or last reopened." example:"2024-05-28T06:38:54.962941Z"`
	Triage                 VulnTriage   `json:"triage" doc:"Status: state and triage combined."`
	Usages                 []VulnUsage  `json:"usages" doc:"Uses in the code; empty if unknown."`
}

// VulnAdvisory describes a vulnerability.
type VulnAdvisory struct {
	RuleID       string         `json:"ruleId" doc:"Name of the rule." example:"ssc-6f5e2f3a"`
	Title        string         `json:"title" doc:"Title of the rule." example:"Prototype pollution in lodash"`
	Description  string         `json:"description" doc:"Message of the rule for this match."`
	Ecosystem    string         `json:"ecosystem" doc:"Ecosystem of the package." example:"npm"`
	Severity     string         `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Severity." example:"HIGH"`
	Reachability string         `json:"reachability" doc:"Same as exposureType." example:"REACHABLE"`
	ReachableIf  string         `json:"reachableIf" doc:"Condition for reachability; empty if unknown."`
	References   VulnReferences `json:"references" doc:"External references."`
}

// VulnReferences contains external references of a vulnerability.
type VulnReferences struct {
	CVEIDs []string `json:"cveIds" doc:"CVE or other identifier." example:"[\"CVE-2021-44228\"]"`
	CWEIDs []string `json:"cweIds" doc:"Weaknesses."`
	URLs   []string `json:"urls" doc:"URLs; always empty."`
}

// VulnPackage is a version of a package.
type VulnPackage struct {
	Name             string `json:"name" doc:"Name of the package." example:"lodash"`
	VersionSpecifier string `json:"versionSpecifier" doc:"Exact version." example:"4.17.20"`
}

// VulnPlace is a place in a file. Lines and columns count from 1; 0 is unknown.
type VulnPlace struct {
	Path      string `json:"path" doc:"Path in the repository." example:"package-lock.json"`
	StartLine int64  `json:"startLine" doc:"First line." example:"10"`
	StartCol  int64  `json:"startCol" doc:"First column." example:"5"`
	EndLine   int64  `json:"endLine" doc:"Last line." example:"10"`
	EndCol    int64  `json:"endCol" doc:"Column after the last one." example:"20"`
	URL       string `json:"url" doc:"Link to the location, or to the finding in Redoubt." example:"https://redoubt.example.com/orgs/acme/findings/1234"`
}

// VulnTriage is the status of a finding.
type VulnTriage struct {
	Status        string `json:"status" enum:"NEW,TRIAGED,IN_PROGRESS,FIXED,IGNORED" doc:"Status: state and triage combined." example:"NEW"`
	DismissReason string `json:"dismissReason,omitempty" doc:"Triage reason; absent if not ignored." example:"false_positive"`
}

// VulnUsage is a place where the code uses a vulnerable package.
type VulnUsage struct {
	FindingID string    `json:"findingId" doc:"Id of the finding." example:"1234"`
	Location  VulnPlace `json:"location" doc:"Location of the use."`
}
