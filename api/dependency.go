package api

// DependencyFilter selects dependencies that match all members. Unknown members are rejected, so
// that a misspelled filter does not widen the selection.
type DependencyFilter struct {
	_              struct{}        `additionalProperties:"false"`
	License        []string        `json:"license,omitempty" doc:"Licenses, of which a dependency must have one." example:"[\"MIT\"]"`
	LockfilePath   string          `json:"lockfilePath,omitempty" doc:"Path of the lockfile." example:"package-lock.json"`
	Name           string          `json:"name,omitempty" doc:"Part of the name, case-insensitive." example:"lodash"`
	PackageFilters []PackageFilter `json:"packageFilters,omitempty" maxItems:"1000" doc:"Packages and versions, of which one must match."`
	RepositoryID   []Int           `json:"repositoryId,omitempty" doc:"Projects, by id."`
	Version        string          `json:"version,omitempty" doc:"Exact version." example:"4.17.20"`
	Ecosystem      []string        `json:"ecosystem,omitempty" maxItems:"100" minLength:"1" maxLength:"64" doc:"Ecosystems, of which one must match, case-insensitive, as spelled in responses or package URLs. An unknown ecosystem without dependencies is an error." example:"[\"npm\"]"`
	Transitivity   []string        `json:"transitivity,omitempty" maxItems:"100" pattern:"^(direct|transitive|unknown|DIRECT|TRANSITIVE|UNKNOWN_TRANSITIVITY)$" patternDescription:"direct, transitive or unknown, or DIRECT, TRANSITIVE or UNKNOWN_TRANSITIVITY" doc:"Any of these kinds of dependency, in either spelling." example:"[\"direct\"]"`
}

// PackageFilter selects versions of packages. Unknown members are rejected.
type PackageFilter struct {
	_                 struct{} `additionalProperties:"false"`
	ExactNameMatch    bool     `json:"exactNameMatch,omitempty" doc:"Whether name is the whole name instead of a case-insensitive part."`
	ExactVersion      string   `json:"exactVersion,omitempty" doc:"Exact version; overrides the bounds."`
	Name              string   `json:"name,omitempty" doc:"Name, or a part of it." example:"lodash"`
	VersionLowerBound string   `json:"versionLowerBound,omitempty" doc:"Lowest version, inclusive; a leading operator overrides this." example:">=4.0.0"`
	VersionUpperBound string   `json:"versionUpperBound,omitempty" doc:"Highest version, inclusive; a leading operator overrides this." example:"<5.0.0"`
}

// ListDependenciesRequest contains the parameters for listing dependencies of primary branches.
type ListDependenciesRequest struct {
	_                struct{}          `additionalProperties:"false"`
	DeploymentID     ID                `json:"deploymentId,omitempty" doc:"Same as in the path."`
	Cursor           ID                `json:"cursor,omitempty" doc:"Cursor of the previous response."`
	DependencyFilter *DependencyFilter `json:"dependencyFilter,omitempty" doc:"Filter; default: all dependencies."`
	PageSize         int64             `json:"pageSize,omitempty" minimum:"1" maximum:"10000" default:"1000" doc:"Dependencies per page."`
}

// ListDependenciesResponse is one page of dependencies.
type ListDependenciesResponse struct {
	Dependencies []Dependency `json:"dependencies" doc:"Dependencies, by id."`
	Cursor       string       `json:"cursor" pattern:"^[0-9]*$" doc:"Cursor of the next page; empty on the last page." example:"9223372036854775807"`
	HasMore      bool         `json:"hasMore" doc:"Whether there are more results."`
}

// Dependency is one package version in one lockfile.
type Dependency struct {
	ID           string   `json:"id" pattern:"^[0-9]+$" doc:"Id of the dependency." example:"123"`
	Name         string   `json:"name" doc:"Name of the package." example:"lodash"`
	Version      string   `json:"version" doc:"Version of the package." example:"4.17.20"`
	Ecosystem    string   `json:"ecosystem" doc:"Ecosystem of the package (Redoubt extension)." example:"npm"`
	RepositoryID string   `json:"repositoryId" pattern:"^[0-9]+$" doc:"Id of the project (Redoubt extension)." example:"17"`
	LockfilePath string   `json:"lockfilePath" doc:"Path of the lockfile (Redoubt extension)." example:"package-lock.json"`
	Transitivity string   `json:"transitivity" enum:"direct,transitive,unknown" doc:"Whether the dependency is direct or transitive (Redoubt extension)." example:"direct"`
	Licenses     []string `json:"licenses" doc:"Licenses, as SPDX expressions where known (Redoubt extension)." example:"[\"MIT\"]"`
	PURL         string   `json:"purl" doc:"Package URL; empty if it cannot be derived (Redoubt extension)." example:"pkg:npm/lodash@4.17.20"`
	Line         int64    `json:"-"` // in the lockfile; 0 if unknown
	Link         string   `json:"-"` // to that line at the code host; empty if its address is unknown
}

// ListDependencyRepositoriesRequest contains the parameters for listing projects with dependencies.
type ListDependencyRepositoriesRequest struct {
	_                struct{}          `additionalProperties:"false"`
	DeploymentID     ID                `json:"deploymentId,omitempty" doc:"Same as in the path."`
	Cursor           ID                `json:"cursor,omitempty" doc:"Cursor of the previous response."`
	DependencyFilter *DependencyFilter `json:"dependencyFilter,omitempty" doc:"Count only these dependencies; projects without any are excluded."`
	PageSize         int64             `json:"pageSize,omitempty" minimum:"1" maximum:"100" default:"5" doc:"Projects per page."`
}

// ListDependencyRepositoriesResponse is one page of projects with dependencies.
type ListDependencyRepositoriesResponse struct {
	RepositorySummaries []RepositorySummary `json:"repositorySummaries" doc:"Projects, by id."`
	Cursor              string              `json:"cursor" pattern:"^[0-9]*$" doc:"Cursor of the next page; empty on the last page." example:"9223372036854775807"`
	HasMore             bool                `json:"hasMore" doc:"Whether there are more results."`
}

// RepositorySummary counts the dependencies of a project's primary branch.
type RepositorySummary struct {
	ID                    int64  `json:"id" doc:"Id of the project." example:"17"`
	Name                  string `json:"name" doc:"Name of the project." example:"acme/payments"`
	NumDependencies       int64  `json:"numDependencies" doc:"Dependencies of its primary branch that match the filter." example:"132"`
	HasDependencyPathScan bool   `json:"hasDependencyPathScan" doc:"Whether dependencies include their dependency path. Always false; an SBOM has the graph."`
}

// ListLockfilesRequest contains the parameters for listing lockfiles of a project's primary branch.
type ListLockfilesRequest struct {
	_                struct{}          `additionalProperties:"false"`
	DeploymentID     ID                `json:"deploymentId,omitempty" doc:"Same as in the path."`
	RepositoryID     ID                `json:"repositoryId,omitempty" doc:"Same as in the path."`
	Cursor           ID                `json:"cursor,omitempty" doc:"Cursor of the previous response."`
	DependencyFilter *DependencyFilter `json:"dependencyFilter,omitempty" doc:"Count only these dependencies; lockfiles without any are excluded."`
	PageSize         int64             `json:"pageSize,omitempty" minimum:"1" maximum:"100" default:"5" doc:"Lockfiles per page."`
}

// ListLockfilesResponse is one page of lockfiles.
type ListLockfilesResponse struct {
	LockfileSummaries []LockfileSummary `json:"lockfileSummaries" doc:"Lockfiles."`
	Cursor            string            `json:"cursor" doc:"Cursor of the next page; empty on the last page."`
	HasMore           bool              `json:"hasMore" doc:"Whether there are more results."`
}

// LockfileSummary counts the dependencies of a lockfile.
type LockfileSummary struct {
	LockfilePath    string `json:"lockfilePath" doc:"Path in the repository." example:"package-lock.json"`
	NumDependencies int64  `json:"numDependencies" doc:"Dependencies of the lockfile that match the filter." example:"132"`
}
