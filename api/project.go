package api

// ProjectsQuery contains the parameters for listing projects.
type ProjectsQuery struct {
	Page     int64 `query:"page" minimum:"0" maximum:"4294967295" default:"0" doc:"Page number, from 0."`
	PageSize int64 `query:"page_size" minimum:"0" maximum:"4294967295" default:"100" doc:"Projects per page; 0 means the default."`
}

// ListProjectsResponse is one page of projects, by name.
type ListProjectsResponse struct {
	Projects []Project `json:"projects" doc:"Projects by name; empty past the last page."`
}

// Project is a repository, or a part of one that is scanned separately.
type Project struct {
	ID                int64        `json:"id" doc:"Id of the project." example:"17"`
	Name              string       `json:"name" doc:"Name of the project, as a path." example:"acme/payments"`
	URL               string       `json:"url" doc:"URL of the repository; empty if no scan reported it." example:"https://github.com/acme/payments"`
	Tags              []string     `json:"tags" doc:"Tags of the project." example:"[\"pci\",\"team-money\"]"`
	CreatedAt         Time         `json:"created_at" doc:"Creation time." example:"2024-05-28T06:38:54.962941Z"`
	LatestScanAt      *Time        `json:"latest_scan_at" nullable:"true" doc:"Time of the last scan; null before the first scan." example:"2024-05-28T06:38:54.962941Z"`
	DefaultBranch     string       `json:"default_branch" doc:"First branch with a full scan, as a full ref name." example:"refs/heads/main"`
	PrimaryBranch     string       `json:"primary_branch" doc:"Branch used for dependencies and deduplication, as a full ref name." example:"refs/heads/main"`
	Visibility        string       `json:"visibility" enum:"public,private,unknown" doc:"Visibility of the repository at its host (Redoubt extension)." example:"private"`
	ManagedScanConfig *ManagedScan `json:"managed_scan_config,omitempty" doc:"Scheduled scans; beta. Absent in lists."`

	ManagedScanStatus *ManagedScanStatus `json:"managed_scan_status,omitempty" doc:"Effective state of the scheduled scans, with the remedy of a problem; absent in lists (Redoubt extension)."`
}

// ManagedScan contains the switches for scheduled scans.
type ManagedScan struct {
	DiffScan *Enabled `json:"diff_scan,omitempty" doc:"Diff scans."`
	FullScan *Enabled `json:"full_scan,omitempty" doc:"Full scans."`
}

// Enabled reports whether a switch is on.
type Enabled struct {
	Enabled bool `json:"enabled" doc:"Whether it is on." example:"true"`
}

// ManagedScanUpdate changes the switches for scheduled scans.
type ManagedScanUpdate struct {
	DiffScan *Switch `json:"diff_scan,omitempty" doc:"Diff scans; absent: unchanged."`
	FullScan *Switch `json:"full_scan,omitempty" doc:"Full scans; absent: unchanged."`
}

// Switch changes a setting that is on or off.
type Switch struct {
	Enabled *bool `json:"enabled,omitempty" doc:"Whether to switch it on; absent: unchanged." example:"true"`
}

// ProjectResponse contains one project.
type ProjectResponse struct {
	Project Project `json:"project" doc:"The project, after the change if there was one."`
	ETag    string  `json:"-"` // ETag header: version of the settings, for IfMatch
}

func (r *ProjectResponse) setTag(tag string) { r.ETag = tag }

// CreateProjectRequest creates a project before its first scan.
type CreateProjectRequest struct {
	DeploymentSlug ID           `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	Name           string       `json:"name" minLength:"3" maxLength:"512" doc:"Name with at least two segments." example:"acme/payments"`
	URL            string       `json:"url,omitempty" maxLength:"2048" doc:"URL of the repository: absolute, http or https, without a user or password." example:"https://github.com/acme/payments"`
	Tags           List[string] `json:"tags,omitempty" doc:"At most 10 tags of up to 64 characters."`
	PrimaryBranch  string       `json:"primary_branch,omitempty" maxLength:"512" doc:"Primary branch, without spaces; default: follows the default branch." example:"refs/heads/main"`
	Visibility     string       `json:"visibility,omitempty" enum:"public,private,unknown" doc:"Visibility of the repository at its host."`
}

// UpdateProjectRequest changes a project. Absent members are left unchanged.
type UpdateProjectRequest struct {
	DeploymentSlug    ID                 `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	ProjectName       string             `json:"projectName,omitempty" doc:"Same as in the path."`
	ManagedScanConfig *ManagedScanUpdate `json:"managed_scan_config,omitempty" doc:"Scheduled scans; beta."`
	PrimaryBranch     *string            `json:"primary_branch,omitempty" maxLength:"512" doc:"Full or short branch name; None: follow the default branch." example:"refs/heads/main"`
	Tags              *List[string]      `json:"tags,omitempty" doc:"Replaces the tags: a list or a comma-separated string; at most 10 tags of up to 64 characters."`
	Visibility        string             `json:"visibility,omitempty" enum:"public,private,unknown" doc:"Visibility of the repository at its host (Redoubt extension)."`
}

// ProjectTagsRequest contains tags to add to a project.
type ProjectTagsRequest struct {
	_              struct{}     `additionalProperties:"false"`
	DeploymentSlug ID           `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	ProjectName    string       `json:"projectName,omitempty" doc:"Same as in the path."`
	Tags           List[string] `json:"tags" doc:"A list or a comma-separated string. A project has at most 10 tags of up to 64 characters." example:"[\"pci\"]"`
}

// RemoveProjectTagsQuery contains tags to remove from a project.
type RemoveProjectTagsQuery struct {
	Tags []string `query:"tags" doc:"Tags; also accepted in the body."`
}

// RemoveProjectTagsRequest contains tags to remove from a project.
type RemoveProjectTagsRequest struct {
	_              struct{}     `additionalProperties:"false"`
	DeploymentSlug ID           `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	ProjectName    string       `json:"projectName,omitempty" doc:"Same as in the path."`
	Tags           List[string] `json:"tags,omitempty" doc:"A list or a comma-separated string; also accepted in the query."`
}

// ToggleManagedScanRequest changes the switches for scheduled scans. Absent members are left
// unchanged.
type ToggleManagedScanRequest struct {
	DeploymentSlug ID      `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	ProjectName    string  `json:"projectName,omitempty" doc:"Same as in the path."`
	DiffScan       *Switch `json:"diff_scan,omitempty" doc:"Diff scans."`
	FullScan       *Switch `json:"full_scan,omitempty" doc:"Full scans."`
	Schedule       string  `json:"schedule,omitempty" enum:"weekly,daily,push,off" doc:"Schedule of full scans (Redoubt extension); absent: unchanged."`
}

// DeleteRefQuery identifies a ref of a project.
type DeleteRefQuery struct {
	Project string `query:"project" required:"true" minLength:"1" maxLength:"512" doc:"Name of the project." example:"acme/payments"`
	Ref     string `query:"ref" required:"true" minLength:"1" maxLength:"512" doc:"Branch or other ref, full or short." example:"refs/heads/feature"`
}

// DeleteRefResponse identifies the deleted ref.
type DeleteRefResponse struct {
	ProjectName string `json:"project_name" doc:"Name of the project." example:"acme/payments"`
	Ref         string `json:"ref" doc:"Full name of the deleted ref." example:"refs/heads/feature"`
}

// DeleteProjectResponse identifies the deleted project.
type DeleteProjectResponse struct {
	ProjectName string `json:"project_name" doc:"Name of the deleted project." example:"acme/payments"`
}

// RenameProjectRequest renames a project.
type RenameProjectRequest struct {
	_       struct{} `additionalProperties:"false"`
	Project string   `json:"project" minLength:"1" maxLength:"512" doc:"Name of the project." example:"acme/pay"`
	Name    string   `json:"name" minLength:"3" maxLength:"512" doc:"Unused name with at least two segments." example:"acme/payments"`
}

// MergeProjectRequest merges a project into another.
type MergeProjectRequest struct {
	_       struct{} `additionalProperties:"false"`
	Project string   `json:"project" minLength:"1" maxLength:"512" doc:"Name of the project to merge." example:"acme/pay"`
	Into    string   `json:"into" minLength:"1" maxLength:"512" doc:"Name of the target project." example:"acme/payments"`
}

// MergeProjectResponse contains the project after the merge.
type MergeProjectResponse struct {
	Project         Project `json:"project" doc:"The project after the merge."`
	FindingsChanged int64   `json:"findings_changed" doc:"Findings of advisories that changed with the merge. Of two reports about a lockfile, the newer one counts." example:"1"`
}
