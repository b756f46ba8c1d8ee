package api

// DependencyFilter selects dependencies that match all members. Unknown members are rejected, so
// that a misspelled filter does not widen the selection.
type DependencyFilter struct {
	_              struct{}        `additionalProperties:"false"`
	License        []string        `json:"license,omitempty" doc:"Licences, any of them." example:"[\"MIT\"]"`
	LockfilePath   string          `json:"lockfilePath,omitempty" doc:"Path of the lockfile." example:"package-lock.json"`
	Name           string          `json:"name,omitempty" doc:"Part of the name, in any case." example:"lodash"`
	PackageFilters []PackageFilter `json:"packageFilters,omitempty" maxItems:"1000" doc:"Packages and versions; any of them."`
	RepositoryID   []Int           `json:"repositoryId,omitempty" doc:"Projects, by id."`
	Version        string          `json:"version,omitempty" doc:"Exact version." example:"4.17.20"`
	Ecosystem      []string        `json:"ecosystem,omitempty" maxItems:"100" minLength:"1" maxLength:"64" doc:"Ecosystems, any of them, in any case, as the answers or package URLs spell them; one that nothing here is of and nobody knows is an error." example:"[\"npm\"]"`
	Transitivity   []string        `json:"transitivity,omitempty" maxItems:"100" pattern:"^(direct|transitive|unknown|DIRECT|TRANSITIVE|UNKNOWN_TRANSITIVITY)$" patternDescription:"direct, transitive or unknown, or DIRECT, TRANSITIVE or UNKNOWN_TRANSITIVITY" doc:"Whether the project asks for it itself, any of them, in either spelling." example:"[\"direct\"]"`
}

// PackageFilter selects versions of packages. Unknown members are rejected.
type PackageFilter struct {
	_                 struct{} `additionalProperties:"false"`
	ExactNameMatch    bool     `json:"exactNameMatch,omitempty" doc:"Whether name is the whole name rather than a part of it in any case."`
	ExactVersion      string   `json:"exactVersion,omitempty" doc:"Exact version; it beats the bounds."`
	Name              string   `json:"name,omitempty" doc:"Name, or a part of it." example:"lodash"`
	VersionLowerBound string   `json:"versionLowerBound,omitempty" doc:"Lowest version, included; an operator in front is honoured." example:">=4.0.0"`
	VersionUpperBound string   `json:"versionUpperBound,omitempty" doc:"Highest version, included; an operator in front is honoured." example:"<5.0.0"`
}

// ListDependenciesRequest contains the parameters for listing dependencies of primary branches.
type ListDependenciesRequest struct {
	_                struct{}          `additionalProperties:"false"`
	DeploymentID     ID                `json:"deploymentId,omitempty" doc:"Same as in the path."`
	Cursor           ID                `json:"cursor,omitempty" doc:"Cursor of the previous answer."`
	DependencyFilter *DependencyFilter `json:"dependencyFilter,omitempty" doc:"What to list; everything when absent."`
	PageSize         int64             `json:"pageSize,omitempty" minimum:"1" maximum:"10000" default:"1000" doc:"Dependencies in one answer."`
}

// ListDependenciesResponse is one page of dependencies.
type ListDependenciesResponse struct {
	Dependencies []Dependency `json:"dependencies" doc:"Dependencies, by id."`
	Cursor       string       `json:"cursor" pattern:"^[0-9]*$" doc:"Pass it to get the next page; empty on the last one." example:"9223372036854775807"`
	HasMore      bool         `json:"hasMore" doc:"Whether there are more."`
}

// Dependency is one package version in one lockfile.
type Dependency struct {
	ID           string   `json:"id" pattern:"^[0-9]+$" doc:"Id of the dependency." example:"123"`
	Name         string   `json:"name" doc:"Name of the package." example:"lodash"`
	Version      string   `json:"version" doc:"Version of the package." example:"4.17.20"`
	Ecosystem    string   `json:"ecosystem" doc:"Package manager's world (an extension)." example:"npm"`
	RepositoryID string   `json:"repositoryId" pattern:"^[0-9]+$" doc:"Project that has it (an extension)." example:"17"`
	LockfilePath string   `json:"lockfilePath" doc:"Lockfile that names it (an extension)." example:"package-lock.json"`
	Transitivity string   `json:"transitivity" enum:"direct,transitive,unknown" doc:"Whether the project asked for it itself (an extension)." example:"direct"`
	Licenses     []string `json:"licenses" doc:"Licences, as SPDX expressions where known (an extension)." example:"[\"MIT\"]"`
	PURL         string   `json:"purl" doc:"Package URL; empty when none can be made (an extension)." example:"pkg:npm/lodash@4.17.20"`
	Line         int64    `json:"-"` // in the lockfile; 0 if unknown
	Link         string   `json:"-"` // to that line at the code host; empty if its address is unknown
}

// ListDependencyRepositoriesRequest contains the parameters for listing projects with dependencies.
type ListDependencyRepositoriesRequest struct {
	_                struct{}          `additionalProperties:"false"`
	DeploymentID     ID                `json:"deploymentId,omitempty" doc:"Same as in the path."`
	Cursor           ID                `json:"cursor,omitempty" doc:"Cursor of the previous answer."`
	DependencyFilter *DependencyFilter `json:"dependencyFilter,omitempty" doc:"Count only these dependencies; projects without any are left out."`
	PageSize         int64             `json:"pageSize,omitempty" minimum:"1" maximum:"100" default:"5" doc:"Projects in one answer."`
}

// ListDependencyRepositoriesResponse is one page of projects with dependencies.
type ListDependencyRepositoriesResponse struct {
	RepositorySummaries []RepositorySummary `json:"repositorySummaries" doc:"Projects, by id."`
	Cursor              string              `json:"cursor" pattern:"^[0-9]*$" doc:"Pass it to get the next page; empty on the last one." example:"9223372036854775807"`
	HasMore             bool                `json:"hasMore" doc:"Whether there are more."`
}

// RepositorySummary counts the dependencies of a project's primary branch.
type RepositorySummary struct {
	ID                    int64  `json:"id" doc:"Id of the project." example:"17"`
	Name                  string `json:"name" doc:"Name of the project." example:"acme/payments"`
	NumDependencies       int64  `json:"numDependencies" doc:"Dependencies of its primary branch that pass the filter." example:"132"`
	HasDependencyPathScan bool   `json:"hasDependencyPathScan" doc:"Whether dependencies are listed with the path that led to them: they are not. An SBOM has the graph."`
}

// ListLockfilesRequest contains the parameters for listing lockfiles of a project's primary branch.
type ListLockfilesRequest struct {
	_                struct{}          `additionalProperties:"false"`
	DeploymentID     ID                `json:"deploymentId,omitempty" doc:"Same as in the path."`
	RepositoryID     ID                `json:"repositoryId,omitempty" doc:"Same as in the path."`
	Cursor           ID                `json:"cursor,omitempty" doc:"Cursor of the previous answer."`
	DependencyFilter *DependencyFilter `json:"dependencyFilter,omitempty" doc:"Count only these dependencies; lockfiles without any are left out."`
	PageSize         int64             `json:"pageSize,omitempty" minimum:"1" maximum:"100" default:"5" doc:"Lockfiles in one answer."`
}

// ListLockfilesResponse is one page of lockfiles.
type ListLockfilesResponse struct {
	LockfileSummaries []LockfileSummary `json:"lockfileSummaries" doc:"Lockfiles."`
	Cursor            string            `json:"cursor" doc:"Pass it to get the next page; empty on the last one."`
	HasMore           bool              `json:"hasMore" doc:"Whether there are more."`
}

// LockfileSummary counts the dependencies of a lockfile.
type LockfileSummary struct {
	LockfilePath    string `json:"lockfilePath" doc:"Path in the repository." example:"package-lock.json"`
	NumDependencies int64  `json:"numDependencies" doc:"Dependencies in it that pass the filter." example:"132"`
}
