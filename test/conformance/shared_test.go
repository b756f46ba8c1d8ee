package conformance

import (
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// readers are the tests that do not change the world, so they share one.
var readers = []struct {
	name string
	test func(*testing.T, *world)
}{
	{"findings/code filters", testCodeFilters},
	{"findings/supply-chain filters", testSupplyFilters},
	{"findings/code order", testCodeOrder},
	{"findings/supply-chain order", testSupplyOrder},
	{"findings/since", testSince},
	{"findings/spellings of lists", testListSyntax},
	{"findings/spellings of refs", testRefForms},
	{"findings/limits", testFindingsLimits},
	{"findings/all faults at once", testAllErrorsReported},
	{"findings/filters of the other type", testOtherIssueTypeFilters},
	{"findings/defaults", testDefaults},
	{"findings/containers", testListsAlwaysPresent},
	{"findings/code shape", testCodeShape},
	{"findings/supply-chain shape", testSupplyShape},
	{"findings/times", testTimes},
	{"findings/counts", testCounts},
	{"findings/selections", testSelections},
	{"findings/groups", testGroupCountsMatchSelections},
	{"findings/export", testExport},
	{"findings/export of secrets", testExportedSecrets},
	{"findings/export refusals", testExportRefusals},
	{"findings/null rules", testNullConditions},
	{"triage/code filters", testTriageCode},
	{"triage/supply-chain filters", testTriageSupply},
	{"triage/secret filters", testTriageSecrets},
	{"projects/pages", testProjectPages},
	{"projects/names", testProjectNames},
	{"dependencies/filters", testDependencies},
	{"dependencies/shape", testDependencyShape},
	{"dependencies/walk", testDependencyPagination},
	{"dependencies/refusals", testDependencyRefusals},
	{"lockfiles/counts", testLockfiles},
	{"projects with dependencies", testDependencyRepositories},
	{"lockfiles/refusals", testLockfileRefusals},
	{"secrets/filters", testSecrets},
	{"secrets/shape", testSecretShape},
	{"secrets/refusals", testSecretRefusals},
	{"sbom/formats", testSBOM},
	{"sbom/refusals", testSBOMRefusals},
	{"sbom/addresses", testSBOMDownloadURL},
	{"findings/of assistants", testIssues},
	{"findings/supply chain in the older shape", testVulns},
	{"tenants/globs", testGlobs},
	{"tenants/tokens", testTokens},
	{"tenants/foreign ids", testForeignIDs},
	{"errors/unknown routes", testUnknownRoutes},
	{"errors/methods", testMethods},
	{"errors/bodies", testBodies},
	{"errors/request ids", testRequestIDs},
	{"errors/head", testHead},
	{"deployments", testDeployments},
	{"me", testMe},
	{"compression", testCompression},
	{"policies/rules", testPolicyRules},
	{"policies/walk", testPolicyPagination},
}

func TestContract(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, engine)
			for _, reader := range readers {
				t.Run(reader.name, func(t *testing.T) { reader.test(t, w) })
			}
		})
	}
}
