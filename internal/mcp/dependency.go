package mcp

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
)

func (a *assistant) dependencyTools(s *sdk.Server) {
	reader(s, tool{
		"search_dependencies", "Search dependencies",
		"Lists the dependencies of primary branches by name, version range, ecosystem, license or project; 25 per page.",
	}, a.searchDependencies)
	reader(s, tool{
		"get_advisory", "Read an advisory",
		"Returns a vulnerability by any of its ids (CVE, GHSA …): affected versions, fixes, scores and known exploitation.",
	}, a.getAdvisory)
	reader(s, tool{
		"get_advisory_impact", "Find affected projects",
		"Lists the projects, branches and lockfiles with a vulnerability, and the version to upgrade to; 25 per page.",
	}, a.getImpact)
}

type dependenciesInput struct {
	Name         string   `json:"name,omitempty" jsonschema:"name of the package"`
	Exact        bool     `json:"exact,omitempty" jsonschema:"whether name is the whole name, not a part of it"`
	FromVersion  string   `json:"from_version,omitempty" jsonschema:"lowest version, inclusive unless it has an operator, such as >4.0.0; requires name"`
	ToVersion    string   `json:"to_version,omitempty" jsonschema:"highest version, inclusive unless it has an operator, such as <5.0.0; requires name"`
	Version      string   `json:"version,omitempty" jsonschema:"exact version"`
	Ecosystem    []string `json:"ecosystem,omitempty" jsonschema:"ecosystems, such as npm"`
	License      []string `json:"license,omitempty" jsonschema:"licenses, such as MIT"`
	Transitivity []string `json:"transitivity,omitempty" jsonschema:"direct, transitive or unknown"`
	Projects     []string `json:"projects,omitempty" jsonschema:"names of projects, such as acme/payments; at most 25"`
	ProjectIDs   []int64  `json:"project_ids,omitempty" jsonschema:"ids of projects, from list_projects"`
	Cursor       string   `json:"cursor,omitempty" jsonschema:"cursor returned with the previous page"`
}

func (a *assistant) searchDependencies(ctx context.Context, in dependenciesInput) (*sdk.CallToolResult, error) {
	f := &api.DependencyFilter{
		License:      in.License,
		Version:      in.Version,
		Ecosystem:    in.Ecosystem,
		Transitivity: in.Transitivity,
	}
	named, err := a.projectIDs(ctx, in.Projects)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Concat(in.ProjectIDs, named) {
		f.RepositoryID = append(f.RepositoryID, api.Int(id))
	}
	switch ranged := in.FromVersion != "" || in.ToVersion != ""; {
	case ranged && in.Name == "":
		return nil, fmt.Errorf("from_version and to_version require name: versions of different packages cannot be compared")
	case in.Name != "":
		f.PackageFilters = []api.PackageFilter{
			{Name: in.Name, ExactNameMatch: in.Exact, VersionLowerBound: in.FromVersion, VersionUpperBound: in.ToVersion},
		}
	}
	list, err := a.Client.ListDependencies(ctx, a.Deployment, api.ListDependenciesRequest{
		DependencyFilter: f,
		PageSize:         pageSize,
		Cursor:           api.ID(in.Cursor),
	})
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d dependencies.%s", len(list.Dependencies), next(list.Cursor)), list.Dependencies)
}

type advisoryInput struct {
	ID string `json:"id" jsonschema:"any id of the vulnerability, such as CVE-2021-44228"`
}

func (a *assistant) getAdvisory(ctx context.Context, in advisoryInput) (*sdk.CallToolResult, error) {
	advisory, err := a.Client.GetAdvisory(ctx, a.Deployment, in.ID)
	if err != nil {
		return nil, err
	}
	return answer("The advisory.", advisory.Advisory)
}

type impactInput struct {
	ID     string `json:"id" jsonschema:"any id of the vulnerability"`
	All    bool   `json:"all,omitempty" jsonschema:"include fixed and removed findings"`
	Cursor string `json:"cursor,omitempty" jsonschema:"cursor returned with the previous page"`
}

func (a *assistant) getImpact(ctx context.Context, in impactInput) (*sdk.CallToolResult, error) {
	list, err := a.Client.AdvisoryImpact(ctx, a.Deployment, in.ID, api.ImpactQuery{
		All:    in.All,
		Cursor: in.Cursor,
		Limit:  pageSize,
	})
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d affected findings.%s", len(list.Impact), next(list.Cursor)), list.Impact)
}
