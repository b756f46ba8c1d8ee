// Command main calls the ten operations of the contract with the client that oapi-codegen
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
func must[T any](body *T, status int, err error) *T {
	if err != nil || status != http.StatusOK || body == nil {
		log.Fatalf("status %d: %v", status, err)
	}
	return body
}

func main() {
	ctx, deployment := context.Background(), os.Getenv("DEPLOYMENT")
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
		return nil
	}
	c, err := redoubt.NewClientWithResponses(os.Getenv("SERVER"), redoubt.WithRequestEditorFn(bearer))
	if err != nil {
		log.Fatal(err)
	}
	read := map[string]any{}

	findings, err := c.ListFindingsWithResponse(ctx, deployment, &redoubt.ListFindingsParams{Repos: &[]string{"acme/payments"}, Severities: &[]redoubt.ListFindingsParamsSeverities{"low", "medium"}})
	var ids []int64
	for _, f := range must(findings.JSON200, findings.StatusCode(), err).SastFindings.Findings {
		ids = append(ids, f.Id)
	}
	read["findings"] = ids

	note := "by a generated client"
	var first redoubt.WholeNumber
	if err := first.FromWholeNumber0(ids[0]); err != nil {
		log.Fatal(err)
	}
	triaged, err := c.TriageFindingsWithResponse(ctx, deployment, nil, redoubt.TriageRequest{IssueType: "sast", IssueIds: &[]redoubt.WholeNumber{first}, NewNote: &note})
	read["triaged"] = must(triaged.JSON200, triaged.StatusCode(), err).NumTriaged

	projects, err := c.ListProjectsWithResponse(ctx, deployment, nil)
	names := []string{}
	for _, p := range must(projects.JSON200, projects.StatusCode(), err).Projects {
		names = append(names, p.Name)
	}
	read["projects"] = names

	var tags redoubt.TextList
	if err := tags.FromTextList0([]string{"made", "by go"}); err != nil {
		log.Fatal(err)
	}
	project, err := c.UpdateProjectWithResponse(ctx, deployment, "acme/payments", nil, redoubt.UpdateProjectRequest{Tags: &tags})
	read["tags"] = must(project.JSON200, project.StatusCode(), err).Project.Tags

	on := true
	managed, err := c.ToggleManagedScanWithResponse(ctx, deployment, "acme/payments", nil, redoubt.ToggleManagedScanRequest{FullScan: &redoubt.Switch{Enabled: &on}})
	read["full"] = must(managed.JSON200, managed.StatusCode(), err).Project.ManagedScanConfig.FullScan.Enabled

	limit := int64(5)
	scans, err := c.SearchScansWithResponse(ctx, deployment, redoubt.SearchScansRequest{Limit: &limit})
	scanIDs := []string{}
	for _, s := range must(scans.JSON200, scans.StatusCode(), err).Scans {
		scanIDs = append(scanIDs, s.Id)
	}
	read["scans"] = scanIDs

	name := "lodash"
	dependencies, err := c.ListDependenciesWithResponse(ctx, deployment, redoubt.ListDependenciesRequest{DependencyFilter: &redoubt.DependencyFilter{Name: &name}})
	versions := []string{}
	for _, d := range must(dependencies.JSON200, dependencies.StatusCode(), err).Dependencies {
		versions = append(versions, d.Name+" "+d.Version)
	}
	read["dependencies"] = versions

	lockfiles, err := c.ListLockfilesWithResponse(ctx, deployment, os.Getenv("PROJECT"), redoubt.ListLockfilesRequest{})
	paths := []string{}
	for _, l := range must(lockfiles.JSON200, lockfiles.StatusCode(), err).LockfileSummaries {
		paths = append(paths, l.LockfilePath)
	}
	read["lockfiles"] = paths

	rules, err := c.ListPolicyRulesWithResponse(ctx, deployment, os.Getenv("POLICY"), nil)
	rulePaths := []string{}
	for _, r := range must(rules.JSON200, rules.StatusCode(), err).Rules {
		rulePaths = append(rulePaths, r.Path)
	}
	read["rules"] = rulePaths

	export, err := c.CreateSBOMExportWithResponse(ctx, deployment, nil, redoubt.CreateSBOMExportRequest{})
	read["export"] = must(export.JSON200, export.StatusCode(), err).TaskToken != ""

	if err := json.NewEncoder(os.Stdout).Encode(read); err != nil {
		log.Fatal(err)
	}
}
