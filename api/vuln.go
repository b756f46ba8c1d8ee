package api

// ListVulnsRequest contains the parameters for listing supply-chain findings in the hosted
// service's older format. Unknown members are rejected, so that a misspelled filter does not widen
// the selection.
type ListVulnsRequest struct {
	_            struct{}    `additionalProperties:"false"`
	DeploymentID ID          `json:"deploymentId,omitempty" doc:"Same as in the path."`
	PageSize     int64       `json:"pageSize,omitempty" minimum:"1" maximum:"3000" default:"100" doc:"Findings in one answer."`
	Page         int64       `json:"page,omitempty" minimum:"0" maximum:"4294967295" doc:"Page to answer, from 0, for clients that send no cursor."`
	Cursor       *VulnCursor `json:"cursor,omitempty" doc:"Cursor of the previous answer; it beats page."`
	Exposure     []string    `json:"exposure,omitempty" enum:"REACHABLE,ALWAYS_REACHABLE,CONDITIONALLY_REACHABLE,UNREACHABLE,UNKNOWN,UNKNOWN_EXPOSURE" doc:"Only these reachabilities."`
	Severities   []string    `json:"severities,omitempty" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"Only these severities."`
	Statuses     []string    `json:"statuses,omitempty" enum:"NEW,TRIAGED,IN_PROGRESS,FIXED,IGNORED" doc:"Only these statuses; NEW is open, TRIAGED reviewing, IN_PROGRESS fixing."`
	Refs         []string    `json:"refs,omitempty" maxItems:"1" doc:"Only what is on this ref, full or short; _default is the primary branch of each project."`
	Query        string      `json:"query,omitempty" maxLength:"512" doc:"Only what has this text, in any case, in the name of its rule, project, package or vulnerability."`
}

// VulnCursor is a position in the list.
type VulnCursor struct {
	VulnOffset  Int `json:"vulnOffset" doc:"Findings before it."`
	IssueOffset Int `json:"issueOffset,omitempty" doc:"Not used: a finding here has one use at most."`
}

// ListVulnsResponse is one page of supply-chain findings, newest first.
type ListVulnsResponse struct {
	Vulns   []Vuln      `json:"vulns" doc:"Findings by the time since which they are relevant, and id, descending."`
	HasMore bool        `json:"hasMore" doc:"Whether there are more."`
	Cursor  *VulnCursor `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// Vuln is a supply-chain finding in the older format.
type Vuln struct {
	GroupKey               string       `json:"groupKey" doc:"Id of the finding." example:"1234"`
	Title                  string       `json:"title" doc:"What the rule says." example:"Prototype pollution in lodash"`
	RepositoryName         string       `json:"repositoryName" doc:"Name of the project." example:"acme/payments"`
	Ref                    string       `json:"ref" doc:"Branch or other ref, in full." example:"refs/heads/main"`
	Advisory               VulnAdvisory `json:"advisory" doc:"What is known of the vulnerability."`
	ExposureType           string       `json:"exposureType" enum:"REACHABLE,ALWAYS_REACHABLE,CONDITIONALLY_REACHABLE,UNREACHABLE,UNKNOWN_EXPOSURE" doc:"Whether the project's code gets to the vulnerable part." example:"REACHABLE"`
	MatchedDependency      VulnPackage  `json:"matchedDependency" doc:"The vulnerable dependency."`
	ClosestSafeDependency  *VulnPackage `json:"closestSafeDependency,omitempty" doc:"Version that is not vulnerable; absent when none is known."`
	DependencyFileLocation VulnPlace    `json:"dependencyFileLocation" doc:"Where the dependency is named."`
	Transitivity           string       `json:"transitivity" enum:"DIRECT,TRANSITIVE,UNKNOWN_TRANSITIVITY" doc:"Whether the project asked for it itself." example:"DIRECT"`
	OpenedAt               Time         `json:"openedAt" doc:"When it was first seen, or came back last." example:"2024-05-28T06:38:54.962941Z"`
	Triage                 VulnTriage   `json:"triage" doc:"State and triage together."`
	Usages                 []VulnUsage  `json:"usages" doc:"Where the code uses it; empty when no use is known."`
}

// VulnAdvisory describes a vulnerability.
type VulnAdvisory struct {
	RuleID       string         `json:"ruleId" doc:"Name of the rule." example:"ssc-6f5e2f3a"`
	Title        string         `json:"title" doc:"What the rule says." example:"Prototype pollution in lodash"`
	Description  string         `json:"description" doc:"What the rule says of this match."`
	Ecosystem    string         `json:"ecosystem" doc:"Package manager's world." example:"npm"`
	Severity     string         `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much harm it may do." example:"HIGH"`
	Reachability string         `json:"reachability" doc:"The same as exposureType." example:"REACHABLE"`
	ReachableIf  string         `json:"reachableIf" doc:"Under which condition it is reachable; empty when not told."`
	References   VulnReferences `json:"references" doc:"Its names elsewhere."`
}

// VulnReferences contains external references of a vulnerability.
type VulnReferences struct {
	CVEIDs []string `json:"cveIds" doc:"CVE or other identifier." example:"[\"CVE-2021-44228\"]"`
	CWEIDs []string `json:"cweIds" doc:"Weaknesses."`
	URLs   []string `json:"urls" doc:"Addresses; empty."`
}

// VulnPackage is a version of a package.
type VulnPackage struct {
	Name             string `json:"name" doc:"Name of the package." example:"lodash"`
	VersionSpecifier string `json:"versionSpecifier" doc:"Version." example:"4.17.20"`
}

// VulnPlace is a place in a file. Lines and columns count from 1; 0 is unknown.
type VulnPlace struct {
	Path      string `json:"path" doc:"Path in the repository." example:"package-lock.json"`
	StartLine int64  `json:"startLine" doc:"First line." example:"10"`
	StartCol  int64  `json:"startCol" doc:"First column." example:"5"`
	EndLine   int64  `json:"endLine" doc:"Last line." example:"10"`
	EndCol    int64  `json:"endCol" doc:"Column behind the last one." example:"20"`
	URL       string `json:"url" doc:"Link to it, or to the finding here." example:"https://redoubt.example.com/orgs/acme/findings/1234"`
}

// VulnTriage is the status of a finding.
type VulnTriage struct {
	Status        string `json:"status" enum:"NEW,TRIAGED,IN_PROGRESS,FIXED,IGNORED" doc:"State and triage together." example:"NEW"`
	DismissReason string `json:"dismissReason,omitempty" doc:"Why it is ignored; absent otherwise." example:"false_positive"`
}

// VulnUsage is a place where the code uses a vulnerable package.
type VulnUsage struct {
	FindingID string    `json:"findingId" doc:"Id of the finding." example:"1234"`
	Location  VulnPlace `json:"location" doc:"The place."`
}
