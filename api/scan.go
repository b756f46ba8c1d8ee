package api

// SearchScansRequest contains the parameters for listing scans, newest first. Unknown members are
// rejected. Beta.
type SearchScansRequest struct {
	_            struct{}         `additionalProperties:"false"`
	DeploymentID ID               `json:"deploymentId,omitempty" doc:"Same as in the path."`
	Branch       string           `json:"branch,omitempty" maxLength:"512" doc:"Only scans of this branch, full or short." example:"main"`
	Cursor       ID               `json:"cursor,omitempty" doc:"Cursor of the previous response."`
	IsFullScan   *Flag            `json:"is_full_scan,omitempty" doc:"1: only full scans; 0: only diff scans."`
	Limit        int64            `json:"limit,omitempty" minimum:"0" maximum:"500" default:"100" doc:"Scans per page; 0 means the default."`
	PageSize     int64            `json:"pageSize,omitempty" minimum:"0" maximum:"500" doc:"Alternative name of limit, which it overrides (Redoubt extension)."`
	Products     List[Product]    `json:"products,omitempty" doc:"Only scans with one of these products enabled; PRODUCT_UNSPECIFIED sets no filter."`
	RepositoryID Int              `json:"repository_id,omitempty" doc:"Only scans of this project."`
	Since        Instant          `json:"since,omitempty" doc:"Only scans created after this time: an ISO 8601 date, meaning its start, or date and time; UTC without a time zone." example:"2024-05-28"`
	Statuses     List[ScanStatus] `json:"statuses,omitempty" doc:"Only scans with one of these statuses: a value or a list."`
	TotalTime    *TotalTimeRange  `json:"total_time,omitempty" doc:"Only scans with this duration."`
}

// Product is a product in the notation of scan search, for example PRODUCT_SAST.
type Product string

// ScanStatus is the status of a scan, for example SCAN_STATUS_COMPLETED.
type ScanStatus string

// TotalTimeRange is a range of seconds. An absent bound is unlimited.
type TotalTimeRange struct {
	_   struct{} `additionalProperties:"false"`
	Min *float64 `json:"min,omitempty" doc:"Minimum in seconds." example:"1.5"`
	Max *float64 `json:"max,omitempty" doc:"Maximum in seconds." example:"60"`
}

// SearchScansResponse is one page of scans.
type SearchScansResponse struct {
	Cursor string `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
	Scans  []Scan `json:"scans" doc:"Scans, by started_at, descending."`
}

// Scan is one run of a scanner.
type Scan struct {
	ID              string         `json:"id" pattern:"^[0-9]+$" doc:"Id of the scan." example:"42"`
	DeploymentID    string         `json:"deployment_id" pattern:"^[0-9]+$" doc:"Id of the deployment." example:"1"`
	RepositoryID    string         `json:"repository_id" pattern:"^[0-9]+$" doc:"Id of the project." example:"17"`
	Branch          string         `json:"branch" doc:"Full name of the scanned ref." example:"refs/heads/main"`
	Commit          string         `json:"commit" doc:"Scanned commit; empty if unknown." example:"fd2f6e0c7b2b4a6f8f3b1d2c3e4f5a6b7c8d9e0f"`
	StartedAt       Time           `json:"started_at" doc:"Start time." example:"2024-05-28T06:38:54.962941Z"`
	CompletedAt     *Time          `json:"completed_at" nullable:"true" doc:"End time; null while running."`
	ExitCode        *int64         `json:"exit_code" doc:"0 or 1: completed; others: failed; null while running." example:"0"`
	IsFullScan      bool           `json:"is_full_scan" doc:"Whether it is a full scan rather than a diff scan."`
	EnabledProducts []string       `json:"enabled_products" enum:"sast,sca,secrets" doc:"Products of the scan's rules." example:"[\"sast\",\"secrets\"]"`
	FindingsCounts  FindingsCounts `json:"findings_counts" doc:"Reported findings."`
	Status          string         `json:"status" enum:"SCAN_STATUS_RUNNING,SCAN_STATUS_COMPLETED,SCAN_STATUS_ERROR,SCAN_STATUS_NEVER_FINISHED" doc:"Current state." example:"SCAN_STATUS_COMPLETED"`
	TotalTime       *float64       `json:"total_time" doc:"Duration of the scan in seconds; null if unknown." example:"12.5"`
	UnreadLockfiles []string       `json:"unread_lockfiles,omitempty" doc:"Lockfiles that the scanner found but could not read. Absent if there are none (Redoubt extension)." example:"[\"web/package-lock.json\"]"`
	Outcome         string         `json:"outcome,omitempty" enum:"late,superseded" doc:"Reason why the scan is only recorded and changed no finding. late: a scan that started later is already applied; superseded: the ref had this commit before and others since. Absent if applied or running (Redoubt extension)." example:"late"`
	Error           string         `json:"error,omitempty" doc:"Reason of the failure; absent otherwise (Redoubt extension)." example:"the scanner ended with exit code 7"`
}

// FindingsCounts counts the findings of a scan by product.
type FindingsCounts struct {
	Code        int64 `json:"code" doc:"Code findings." example:"3"`
	Secrets     int64 `json:"secrets" doc:"Secrets." example:"1"`
	SupplyChain int64 `json:"supply_chain" doc:"Supply-chain findings." example:"2"`
	Total       int64 `json:"total" doc:"Total count." example:"6"`
}

// ScanResponse contains one scan. Its ids are numbers, unlike those of the search.
type ScanResponse struct {
	ID              int64     `json:"id" doc:"Id of the scan." example:"42"`
	DeploymentID    int64     `json:"deployment_id" doc:"Id of the deployment." example:"1"`
	RepositoryID    int64     `json:"repository_id" doc:"Id of the scanned project." example:"17"`
	StartedAt       Time      `json:"started_at" doc:"Start time." example:"2024-05-28T06:38:54.962941Z"`
	CompletedAt     *Time     `json:"completed_at" nullable:"true" doc:"End time; null while running." example:"2024-05-28T06:39:54.962941Z"`
	ExitCode        *int64    `json:"exit_code" nullable:"true" doc:"Exit code of the scanner; null while running." example:"1"`
	Status          string    `json:"status" enum:"SCAN_STATUS_RUNNING,SCAN_STATUS_COMPLETED,SCAN_STATUS_ERROR,SCAN_STATUS_NEVER_FINISHED" doc:"Status of the scan (Redoubt extension)." example:"SCAN_STATUS_COMPLETED"`
	IsFullScan      bool      `json:"is_full_scan" doc:"Whether it is a full scan (Redoubt extension)."`
	EnabledProducts []string  `json:"enabled_products" enum:"sast,sca,secrets" doc:"Products of the scan's rules." example:"[\"sast\"]"`
	HasLogs         bool      `json:"has_logs" doc:"Whether its log is stored."`
	Meta            ScanMeta  `json:"meta" doc:"Subject of the scan."`
	Stats           ScanStats `json:"stats" doc:"Results of the scan."`
}

// ScanMeta describes the code that was scanned.
type ScanMeta struct {
	Repository string `json:"repository" doc:"Name of the project." example:"acme/payments"`
	RepoURL    string `json:"repo_url" doc:"URL of the repository; empty if unknown." example:"https://github.com/acme/payments"`
	Branch     string `json:"branch" doc:"Full name of the ref." example:"refs/heads/main"`
	Commit     string `json:"commit" doc:"Commit; empty if unknown." example:"4f1c0de"`
}

// ScanStats counts the findings of a scan.
type ScanStats struct {
	Findings  int64    `json:"findings" doc:"Findings of all products without suppressed ones." example:"6"`
	TotalTime *float64 `json:"total_time" nullable:"true" doc:"Duration of the scan in seconds; null if unknown." example:"12.5"`
}
