package dependencies

import (
	"cmp"
	"strconv"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// hostedDependency is a dependency in the format of the hosted service, with the contract's
// members.
type hostedDependency struct {
	api.Dependency
	Transitivity string         `json:"transitivity"`
	Package      hostedPackage  `json:"package"`
	DefinedAt    hostedLocation `json:"definedAt"`
	ResolvedURL  string         `json:"resolvedUrl"`
	Path         []any          `json:"pathToTransitivity"`
}

type hostedPackage struct {
	Name             string `json:"name"`
	VersionSpecifier string `json:"versionSpecifier"`
}

// hostedLocation is the location of a dependency in a lockfile. Numbers are strings in this format.
type hostedLocation struct {
	Path        string `json:"path"`
	StartLine   string `json:"startLine"`
	EndLine     string `json:"endLine"`
	StartCol    string `json:"startCol"`
	EndCol      string `json:"endCol"`
	URL         string `json:"url"`
	CommittedAt string `json:"committedAt"`
}

// unknownTime is the hosted service's value for an unknown time.
const unknownTime = "1970-01-01T00:00:00Z"

// HostedDependencies returns a page of dependencies in the hosted dialect.
func HostedDependencies(c *core.Call, v any) any {
	in, ok := v.(*api.ListDependenciesResponse)
	if !ok {
		return v // an error
	}
	out := struct {
		Dependencies []hostedDependency `json:"dependencies"`
		Cursor       string             `json:"cursor"`
		HasMore      bool               `json:"hasMore"`
	}{make([]hostedDependency, len(in.Dependencies)), in.Cursor, in.HasMore}
	for i, d := range in.Dependencies {
		line := core.Decimal(d.Line)
		out.Dependencies[i] = hostedDependency{
			Dependency: d, Transitivity: core.HostedTransitivity(d.Transitivity),
			Package: hostedPackage{d.Name, d.Version}, Path: []any{},
			DefinedAt: hostedLocation{
				Path:        d.LockfilePath,
				StartLine:   line,
				EndLine:     line,
				StartCol:    "0",
				EndCol:      "0",
				URL:         cmp.Or(d.Link, c.Org()+"/dependencies"),
				CommittedAt: unknownTime,
			},
		}
	}
	return out
}

// HostedRepositories returns a page of projects with their dependencies in the hosted dialect.
func HostedRepositories(_ *core.Call, v any) any {
	in, ok := v.(*api.ListDependencyRepositoriesResponse)
	if !ok {
		return v
	}
	cursor, _ := strconv.ParseInt(in.Cursor, 10, 64)
	return struct {
		RepositorySummaries []api.RepositorySummary `json:"repositorySummaries"`
		HasMore             bool                    `json:"hasMore"`
		Cursor              int64                   `json:"cursor"`
	}{in.RepositorySummaries, in.HasMore, cursor}
}
