package server

// differences returns the table.
func differences() []difference {
	return []difference{
		{"listFindings", "`sastFindings.findings` and `scaFindings.findings`", "`findings`, and nothing beside it", nil, nil},
		{
			"listFindings", "`page_size` below 100 or above 3000 is an error",
			"brought into 1 to 3000; 0 is 100", clampPageSize, nil,
		},
		{
			"listFindings", "one `issue_type`; filters of the other one are an error",
			"several make one list; a filter holds for the types that have it", mergeIssueTypes, nil,
		},
		{
			"listFindings", "words that no filter knows are an error",
			"words of the hosted service that nothing here can be, as `provisionally_ignored`, select nothing", nil, nil,
		},
		{
			"listFindings", "sub-objects in camelCase: `location.filePath`, `rule.cweNames`, `external_ticket.externalSlug`",
			"in snake_case: `file_path`, `cwe_names`, `external_slug`", nil, nil,
		},
		{"listFindings", "`ref` in full: `refs/heads/main`", "branches by name: `main`", nil, nil},
		{
			"listFindings", "`reachability` as `always_reachable`, `unknown`",
			"as `always reachable`, `no reachability analysis`", nil, nil,
		},
		{
			"listFindings", "`usage.location` as every location",
			"with `path`, `start_line`, `start_col`, `end_col` and `url` beside", nil, nil,
		},
		{
			"listFindings", "`line_of_code_url`, `repository.url` empty where no address is known",
			"the address of the finding's and the project's page here", nil, nil,
		},
		{"listFindings", "`rule_message`, `state_updated_at` may be null", "the rule's template, and `created_at`", nil, nil},
		{"listFindings", "`sourcing_policy` absent where no policy has the rule", "null", nil, nil},
		{"getFinding", "as in the list", "as in the list, in its dialect", nil, nil},
		{"listDependencies", "`transitivity` as `direct`", "as `DIRECT`, `TRANSITIVE`, `UNKNOWN_TRANSITIVITY`; `package`, " +
			"`definedAt`, `resolvedUrl` and `pathToTransitivity` beside", nil, hostedDependencies},
		{"listDependencyRepositories", "`cursor` as text", "as a number, 0 on the last page", nil, hostedRepositories},
		{"searchScans", "`cursor` absent on the last page", "always there, with `hasMore`", nil, hostedScans},
		{
			"listDependencies", "`includeArchived` and `licensePolicySettings` in `dependencyFilter` are errors",
			"taken: nothing is of archived projects alone, and all licences are allowed", nil, nil,
		},
		{
			"searchScans", "`statuses` that no scan here has are errors",
			"`SCAN_STATUS_PENDING` and `SCAN_STATUS_CANCELLED` select nothing", nil, nil,
		},
		{
			"listSecrets", "words of `status` that no secret here has are errors",
			"`FINDING_STATUS_REMOVED` and `FINDING_STATUS_UNKNOWN` select nothing", nil, nil,
		},
		{"listPolicies", "policies of all products", "those of code and secrets: it knows no others", nil, hostedPolicies},
		{"listPolicyRules", "the rules of any policy", "those of code and secrets; of the supply chain's a 404", nil, nil},
	}
}
