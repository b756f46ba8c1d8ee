// Command main calls the operations of the contract with the client that openapi-generator
// generates, and prints the results.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"generated.test/client/redoubt"
)

// must returns the body of a successful response.
func must[T any](body *T, response *http.Response, err error) *T {
	if err != nil || response.StatusCode != http.StatusOK {
		log.Fatalf("%T: %v", body, err)
	}
	return body
}

// each returns a value of each item.
func each[T, V any](items []T, value func(T) V) []V {
	out := []V{}
	for _, item := range items {
		out = append(out, value(item))
	}
	return out
}

func main() {
	ctx, deployment := context.WithValue(context.Background(), redoubt.ContextAccessToken, os.Getenv("TOKEN")), os.Getenv("DEPLOYMENT")
	config := redoubt.NewConfiguration()
	config.Servers = redoubt.ServerConfigurations{{URL: os.Getenv("SERVER")}}
	c := redoubt.NewAPIClient(config)

	findings := must(c.FindingsAPI.ListFindings(ctx, deployment).Repos([]string{"acme/payments"}).Severities([]string{"low", "medium"}).Execute()).SastFindings.Findings
	supplyChain := must(c.FindingsAPI.ListFindings(ctx, deployment).IssueType("sca").Execute()).ScaFindings.Findings

	triage := redoubt.NewTriageRequest("sast")
	triage.SetIssueIds([]redoubt.WholeNumber{redoubt.Int64AsWholeNumber(&findings[0].Id)})
	triage.SetNewNote("by a generated client")
	triaged := must(c.FindingsAPI.TriageFindings(ctx, deployment).TriageRequest(*triage).Execute())

	projects := must(c.ProjectsAPI.ListProjects(ctx, deployment).Execute()).Projects
	update := redoubt.NewUpdateProjectRequest()
	update.SetTags(redoubt.ArrayOfStringAsTextList(&[]string{"made", "by openapi-generator-go"}))
	tagged := must(c.ProjectsAPI.UpdateProject(ctx, deployment, "acme/payments").UpdateProjectRequest(*update).Execute())
	toggle, on := redoubt.NewToggleManagedScanRequest(), redoubt.NewSwitch()
	on.SetEnabled(true)
	toggle.SetFullScan(*on)
	managed := must(c.ProjectsAPI.ToggleManagedScan(ctx, deployment, "acme/payments").ToggleManagedScanRequest(*toggle).Execute())

	search := redoubt.NewSearchScansRequest()
	search.SetLimit(5)
	scans := must(c.ScansAPI.SearchScans(ctx, deployment).SearchScansRequest(*search).Execute()).Scans
	list, filter := redoubt.NewListDependenciesRequest(), redoubt.NewDependencyFilter()
	filter.SetName("lodash")
	list.SetDependencyFilter(*filter)
	dependencies := must(c.DependenciesAPI.ListDependencies(ctx, deployment).ListDependenciesRequest(*list).Execute()).Dependencies
	lockfiles := must(c.DependenciesAPI.ListLockfiles(ctx, deployment, os.Getenv("PROJECT")).ListLockfilesRequest(*redoubt.NewListLockfilesRequest()).Execute()).LockfileSummaries
	rules := must(c.PoliciesAPI.ListPolicyRules(ctx, deployment, os.Getenv("POLICY")).Execute()).Rules
	export := must(c.DependenciesAPI.CreateSBOMExport(ctx, deployment).CreateSBOMExportRequest(*redoubt.NewCreateSBOMExportRequest()).Execute())

	err := json.NewEncoder(os.Stdout).Encode(map[string]any{
		"findings":     each(findings, func(f redoubt.CodeFinding) int64 { return f.Id }),
		"supply chain": each(supplyChain, func(f redoubt.SupplyChainFinding) int64 { return f.Id }),
		"triaged":      triaged.NumTriaged,
		"projects":     each(projects, func(p redoubt.Project) string { return p.Name }),
		"tags":         tagged.Project.Tags,
		"full":         managed.Project.ManagedScanConfig.FullScan.Enabled,
		"scans":        each(scans, func(s redoubt.Scan) string { return s.Id }),
		"dependencies": each(dependencies, func(d redoubt.Dependency) string { return d.Name + " " + d.Version }),
		"lockfiles":    each(lockfiles, func(l redoubt.LockfileSummary) string { return l.LockfilePath }),
		"rules":        each(rules, func(r redoubt.PolicyRule) string { return r.Path }),
		"export":       export.TaskToken != "",
	})
	if err != nil {
		log.Fatal(err)
	}
}
