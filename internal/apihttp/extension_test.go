package apihttp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// elsewhere are the operations of the contract or the hosted service. All other operations are
// extensions, and must be marked.
var elsewhere = []string{
	"ping", "listDeployments", "listDeploymentsV2", "getDeployment", "pingAgent", "checkHealth", "getMe",
	"listFindings", "triageFindings", "listSecrets", "searchIssues", "listVulns", "createTickets", "linkTicket", "unlinkTicket", "deleteTicket",
	"listProjects", "getProject", "updateProject", "deleteProject", "toggleManagedScan", "addProjectTags", "removeProjectTags",
	"listDependencies", "listDependencyRepositories", "listLockfiles", "createSBOMExport", "getSBOMExport", "downloadSBOM",
	"searchScans", "getScan", "listPolicies", "listPolicyRules", "updatePolicy",
	"getIdentity", "getAuthorizationServer",
}

// TestExtensionsAreMarked checks that openapi.json marks each operation, parameter and member that
// is an extension, and that its text contains the same.
func TestExtensionsAreMarked(t *testing.T) {
	type described struct {
		Name        string
		Description string
		Extension   bool `json:"x-redoubt"`
		Schema      struct {
			Several bool `json:"x-redoubt"` // several values, of which the contract accepts one
		}
	}
	var doc struct {
		Paths map[string]map[string]struct {
			described
			OperationID string
			Parameters  []described
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]described }
		}
	}
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	marked, several := 0, []string{}
	check := func(what string, d described) {
		if documented := strings.Contains(d.Description, "(Redoubt extension)"); documented != d.Extension {
			t.Errorf("%s is marked %t, but its text is %q", what, d.Extension, d.Description)
		}
		if d.Extension {
			marked++
		}
	}
	for _, methods := range doc.Paths {
		for _, op := range methods {
			documented := strings.Contains(op.Description, "An extension of Redoubt.")
			if ours := !slices.Contains(elsewhere, op.OperationID); op.Extension != ours || documented != ours {
				t.Errorf("%s is an extension: %t; marked %t, in the text %t", op.OperationID, ours, op.Extension, documented)
			}
			for _, p := range op.Parameters {
				check(op.OperationID+" "+p.Name, p)
				if documented := strings.Contains(p.Description, "(several: Redoubt extension)"); documented != p.Schema.Several {
					t.Errorf("%s of %s accepts several values, marked %t, but its text is %q", p.Name, op.OperationID, p.Schema.Several, p.Description)
				} else if documented {
					several = append(several, op.OperationID+" "+p.Name)
				}
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		for member, d := range schema.Properties {
			check(name+"."+member, d)
		}
	}
	if !slices.Equal(several, []string{"listFindings status"}) {
		t.Errorf("several values are an extension of %v", several)
	}
	if marked < 10 {
		t.Errorf("only %d parameters and members are marked", marked)
	}
}
