package apihttp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

const (
	ofAnyFinding = "id created_at relevant_since state_updated_at triaged_at first_seen_scan_id categories confidence severity ref repository location " +
		"line_of_code_url match_based_id syntactic_id rule rule_name rule_message state status triage_state triage_reason triage_comment external_ticket review_comments "
	ofAnyList = "cursor deploymentId pageSize dependencyFilter "
)

// contractMembers are the members of the contract, by schema.
var contractMembers = map[string]string{
	"Project":                 "id name tags created_at default_branch latest_scan_at managed_scan_config primary_branch url",
	"Dependency":              "id name version",
	"DependencyFilter":        "license lockfilePath name packageFilters repositoryId version",
	"PackageFilter":           "exactNameMatch exactVersion name versionLowerBound versionUpperBound",
	"LockfileSummary":         "lockfilePath numDependencies",
	"Scan":                    "id deployment_id repository_id branch commit started_at completed_at exit_code is_full_scan enabled_products findings_counts status total_time",
	"FindingsCounts":          "code secrets supply_chain total",
	"Policy":                  "id isDefault name productType slug",
	"PolicyRule":              "id path category confidence severity policyMode source cweCategories owaspCategories vulnerabilityClass languages technologies rulesets registryMaintainer lastChangeAt lastChangeBy url",
	"CodeFinding":             ofAnyFinding + "sourcing_policy click_to_fix_prs click_to_fix_failures assistant",
	"SupplyChainFinding":      ofAnyFinding + "epss_score fix_recommendations found_dependency is_malicious reachability reachable_condition usage vulnerability_identifier",
	"Location":                "column endColumn endLine filePath line",
	"ExternalTicket":          "externalSlug id linkedIssueIds url",
	"RuleSummary":             "category confidence message name cweNames owaspNames subcategories vulnerabilityClasses",
	"Repository":              "name url",
	"SourcingPolicy":          "id name slug",
	"ReviewComment":           "externalDiscussionId externalNoteId",
	"ClickToFixPR":            "created_at url",
	"ClickToFixFailure":       "created_at reason",
	"Assistant":               "autofix autotriage component guidance rule_explanation",
	"Autofix":                 "explanation fix_code",
	"Autotriage":              "reason verdict",
	"Component":               "risk tag",
	"Guidance":                "instructions summary",
	"RuleExplanation":         "explanation summary",
	"EPSSScore":               "percentile score",
	"FixRecommendation":       "package version",
	"FoundDependency":         "ecosystem lockfile_line_url package transitivity version",
	"Usage":                   "external_ticket location",
	"ListDependenciesRequest": ofAnyList,
	"ListDependenciesResult":  "dependencies cursor hasMore",
	"ListLockfilesRequest":    ofAnyList + "repositoryId",
	"ListLockfilesResult":     "cursor hasMore lockfileSummaries",
	"SearchScansRequest":      "branch cursor deploymentId is_full_scan limit products repository_id since statuses total_time",
	"SearchScansResult":       "cursor scans",
	"TotalTimeRange":          "min max",
	"ListPolicyRulesResult":   "cursor policy rules",
	"TriageRequest": "issue_type issue_ids limit new_triage_state new_triage_reason new_note deploymentSlug autotriage_verdict categories component_tags confidence dependencies " +
		"epss_probability exposures include_historical policies policy_mode pro_only project_tags ref repos repository_visibility rules ruleset secret_types severities since status " +
		"transitivities triage_reasons validation_state",
	"TriageResult":             "num_triaged triaged_issues",
	"UpdateProjectRequest":     "deploymentSlug projectName managed_scan_config primary_branch tags",
	"ToggleManagedScanRequest": "deploymentSlug projectName diff_scan full_scan",
	"ProjectResult":            "project",
	"ListFindingsResult":       "sastFindings scaFindings",
	"CreateSBOMExportRequest":  "deploymentId formatVersion metadataComponentType metadataSupplier ref repositoryId sbomOutputFormat",
	"CreateSBOMExportResult":   "taskToken",
	"FormatVersion":            "format version",
	"Supplier":                 "name url contact",
	"SupplierContact":          "email name phone",
	"ListProjectsResult":       "projects",
}

// hostedMembers are the additional members of the hosted service.
var hostedMembers = map[string]string{
	"DependencyFilter": "ecosystem transitivity",
	"FormatVersion":    "cyclonedxVersion",
}

// TestContractExtensionsAreMarked checks that members of the contract exist without the
// extension mark, and that all other members have it.
func TestContractExtensionsAreMarked(t *testing.T) {
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct {
					Extension bool `json:"x-redoubt"`
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for schema, names := range contractMembers {
		members := doc.Components.Schemas[schema].Properties
		elsewhere := append(strings.Fields(names), strings.Fields(hostedMembers[schema])...)
		for _, name := range elsewhere {
			if _, exists := members[name]; !exists {
				t.Errorf("%s lacks %s", schema, name)
			}
		}
		for name, m := range members {
			if ours := !slices.Contains(elsewhere, name); ours != m.Extension {
				t.Errorf("%s.%s is an extension: %t; marked: %t", schema, name, ours, m.Extension)
			}
		}
	}
}
