package apihttp

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/apihttp/findings"
	"github.com/redoubt/redoubt/internal/apihttp/policies"
	"github.com/redoubt/redoubt/internal/apihttp/scans"
)

// differences lists the differences between the hosted dialect and the contract.
var differences = []core.Difference{
	{
		Operation: "listFindings",
		Contract:  "`sastFindings.findings` and `scaFindings.findings`",
		Hosted:    "only `findings`",
	},
	{
		Operation: "listFindings",
		Contract:  "`page_size` below 100 or above 3000 is an error",
		Hosted:    "clamped to 1 to 3000; 0 means 100",
		Query:     findings.ClampPageSize,
	},
	{
		Operation: "listFindings",
		Contract:  "one `issue_type`; filters of other types are errors",
		Hosted:    "several types form one list; a filter applies to the types that support it",
		Query:     findings.MergeIssueTypes,
	},
	{
		Operation: "listFindings",
		Contract:  "unknown filter values are errors",
		Hosted:    "values without an equivalent, such as `provisionally_ignored`, match nothing",
	},
	{
		Operation: "listFindings",
		Contract:  "nested objects in camelCase: `location.filePath`, `rule.cweNames`, `external_ticket.externalSlug`",
		Hosted:    "in snake_case: `file_path`, `cwe_names`, `external_slug`",
	},
	{
		Operation: "listFindings",
		Contract:  "`ref` in full: `refs/heads/main`",
		Hosted:    "branches by name: `main`",
	},
	{
		Operation: "listFindings",
		Contract:  "`reachability` as `always_reachable`, `unknown`",
		Hosted:    "as `always reachable`, `no reachability analysis`",
	},
	{
		Operation: "listFindings",
		Contract:  "`usage.location` in the form of other locations",
		Hosted:    "also with `path`, `start_line`, `start_col`, `end_col` and `url`",
	},
	{
		Operation: "listFindings",
		Contract:  "`line_of_code_url`, `repository.url` empty if no address is known",
		Hosted:    "the address of the finding's or the project's page in Redoubt",
	},
	{
		Operation: "listFindings",
		Contract:  "`rule_message`, `state_updated_at` can be null",
		Hosted:    "the rule's template, and `created_at`",
	},
	{
		Operation: "listFindings",
		Contract:  "`sourcing_policy` absent if no policy has the rule",
		Hosted:    "null",
	},
	{
		Operation: "getFinding",
		Contract:  "as in the list",
		Hosted:    "as in the list of this dialect",
	},
	{
		Operation: "listDependencies",
		Contract:  "`transitivity` as `direct`",
		Hosted: "as `DIRECT`, `TRANSITIVE`, `UNKNOWN_TRANSITIVITY`; also with `package`, " +
			"`definedAt`, `resolvedUrl` and `pathToTransitivity`",
		Answer: dependencies.HostedDependencies,
	},
	{
		Operation: "listDependencyRepositories",
		Contract:  "`cursor` as text",
		Hosted:    "as a number, 0 on the last page",
		Answer:    dependencies.HostedRepositories,
	},
	{
		Operation: "searchScans",
		Contract:  "`cursor` absent on the last page",
		Hosted:    "always present, with `hasMore`",
		Answer:    scans.HostedScans,
	},
	{
		Operation: "listDependencies",
		Contract:  "`includeArchived` and `licensePolicySettings` in `dependencyFilter` are errors",
		Hosted:    "accepted: `includeArchived: true` matches nothing, and all licenses are allowed",
	},
	{
		Operation: "searchScans",
		Contract:  "`statuses` that Redoubt does not use are errors",
		Hosted:    "`SCAN_STATUS_PENDING` and `SCAN_STATUS_CANCELLED` select nothing",
	},
	{
		Operation: "listSecrets",
		Contract:  "values of `status` that Redoubt does not use are errors",
		Hosted:    "`FINDING_STATUS_REMOVED` and `FINDING_STATUS_UNKNOWN` select nothing",
	},
	{
		Operation: "listPolicies",
		Contract:  "policies of all products",
		Hosted:    "policies of code and secrets",
		Answer:    policies.HostedPolicies,
	},
	{
		Operation: "listPolicyRules",
		Contract:  "rules of all policies",
		Hosted:    "rules of code and secrets; a 404 for the supply chain",
	},
}
