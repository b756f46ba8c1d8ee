package apihttp

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/apihttp/findings"
	"github.com/redoubt/redoubt/internal/apihttp/policies"
	"github.com/redoubt/redoubt/internal/apihttp/scans"
)

// differences returns the table.
var differences = []core.Difference{
	{
		Operation: "listFindings",
		Contract:  "`sastFindings.findings` and `scaFindings.findings`",
		Hosted:    "`findings`, and nothing beside it",
	},
	{
		Operation: "listFindings",
		Contract:  "`page_size` below 100 or above 3000 is an error",
		Hosted:    "brought into 1 to 3000; 0 is 100",
		Query:     findings.ClampPageSize,
	},
	{
		Operation: "listFindings",
		Contract:  "one `issue_type`; filters of the other one are an error",
		Hosted:    "several make one list; a filter holds for the types that have it",
		Query:     findings.MergeIssueTypes,
	},
	{
		Operation: "listFindings",
		Contract:  "words that no filter knows are an error",
		Hosted:    "words of the hosted service that nothing here can be, as `provisionally_ignored`, select nothing",
	},
	{
		Operation: "listFindings",
		Contract:  "sub-objects in camelCase: `location.filePath`, `rule.cweNames`, `external_ticket.externalSlug`",
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
		Contract:  "`usage.location` as every location",
		Hosted:    "with `path`, `start_line`, `start_col`, `end_col` and `url` beside",
	},
	{
		Operation: "listFindings",
		Contract:  "`line_of_code_url`, `repository.url` empty where no address is known",
		Hosted:    "the address of the finding's and the project's page here",
	},
	{
		Operation: "listFindings",
		Contract:  "`rule_message`, `state_updated_at` may be null",
		Hosted:    "the rule's template, and `created_at`",
	},
	{
		Operation: "listFindings",
		Contract:  "`sourcing_policy` absent where no policy has the rule",
		Hosted:    "null",
	},
	{
		Operation: "getFinding",
		Contract:  "as in the list",
		Hosted:    "as in the list, in its dialect",
	},
	{
		Operation: "listDependencies",
		Contract:  "`transitivity` as `direct`",
		Hosted: "as `DIRECT`, `TRANSITIVE`, `UNKNOWN_TRANSITIVITY`; `package`, " +
			"`definedAt`, `resolvedUrl` and `pathToTransitivity` beside",
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
		Hosted:    "always there, with `hasMore`",
		Answer:    scans.HostedScans,
	},
	{
		Operation: "listDependencies",
		Contract:  "`includeArchived` and `licensePolicySettings` in `dependencyFilter` are errors",
		Hosted:    "taken: nothing is of archived projects alone, and all licences are allowed",
	},
	{
		Operation: "searchScans",
		Contract:  "`statuses` that no scan here has are errors",
		Hosted:    "`SCAN_STATUS_PENDING` and `SCAN_STATUS_CANCELLED` select nothing",
	},
	{
		Operation: "listSecrets",
		Contract:  "words of `status` that no secret here has are errors",
		Hosted:    "`FINDING_STATUS_REMOVED` and `FINDING_STATUS_UNKNOWN` select nothing",
	},
	{
		Operation: "listPolicies",
		Contract:  "policies of all products",
		Hosted:    "those of code and secrets: it knows no others",
		Answer:    policies.HostedPolicies,
	},
	{
		Operation: "listPolicyRules",
		Contract:  "the rules of any policy",
		Hosted:    "those of code and secrets; of the supply chain's a 404",
	},
}
