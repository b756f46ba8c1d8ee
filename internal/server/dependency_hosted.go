package server

import (
	"cmp"
	"strconv"

	"github.com/redoubt/redoubt/api"
)

// hostedDependency is a dependency as the hosted service writes it, with the
// contract's members beside.
type hostedDependency struct {
	api.Dependency
	Transitivity string        `json:"transitivity"`
	Package      hostedPackage `json:"package"`
	DefinedAt    hostedPlace   `json:"definedAt"`
	ResolvedURL  string        `json:"resolvedUrl"`
	Path         []any         `json:"pathToTransitivity"`
}

type hostedPackage struct {
	Name             string `json:"name"`
	VersionSpecifier string `json:"versionSpecifier"`
}

// hostedPlace is where a lockfile names a dependency. Numbers are text there.
type hostedPlace struct {
	Path        string `json:"path"`
	StartLine   string `json:"startLine"`
	EndLine     string `json:"endLine"`
	StartCol    string `json:"startCol"`
	EndCol      string `json:"endCol"`
	URL         string `json:"url"`
	CommittedAt string `json:"committedAt"`
}

// unknownTime is how the hosted service writes that a time is not known.
const unknownTime = "1970-01-01T00:00:00Z"

func hostedDependencies(c *call, v any) any {
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
		line := decimal(d.Line)
		out.Dependencies[i] = hostedDependency{
			Dependency: d, Transitivity: hostedTransitivity(d.Transitivity),
			Package: hostedPackage{d.Name, d.Version}, Path: []any{},
			DefinedAt: hostedPlace{
				Path:        d.LockfilePath,
				StartLine:   line,
				EndLine:     line,
				StartCol:    "0",
				EndCol:      "0",
				URL:         cmp.Or(d.Link, c.org()+"/dependencies"),
				CommittedAt: unknownTime,
			},
		}
	}
	return out
}

func hostedRepositories(_ *call, v any) any {
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
