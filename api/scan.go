package api

// SearchScansRequest contains the parameters for listing scans, newest first. Unknown members are
// rejected. Beta.
type SearchScansRequest struct {
	_            struct{}         `additionalProperties:"false"`
	DeploymentID ID               `json:"deploymentId,omitempty" doc:"Same as in the path."`
	Branch       string           `json:"branch,omitempty" maxLength:"512" doc:"Only scans of this branch, full or short." example:"main"`
	Cursor       ID               `json:"cursor,omitempty" doc:"Cursor of the previous answer."`
	IsFullScan   *Flag            `json:"is_full_scan,omitempty" doc:"1: only full scans; 0: only diff scans."`
	Limit        int64            `json:"limit,omitempty" minimum:"0" maximum:"500" default:"100" doc:"Scans in one answer; 0 takes the default."`
	PageSize     int64            `json:"pageSize,omitempty" minimum:"0" maximum:"500" doc:"Another name of limit, which it beats (an extension)."`
	Products     List[Product]    `json:"products,omitempty" doc:"Only scans with one of these products enabled; PRODUCT_UNSPECIFIED sets no filter."`
	RepositoryID Int              `json:"repository_id,omitempty" doc:"Only scans of this project."`
	Since        Instant          `json:"since,omitempty" doc:"Only scans created after this time: an ISO 8601 date, which is its first instant, or date and time, in UTC where no zone stands." example:"2024-05-28"`
	Statuses     List[ScanStatus] `json:"statuses,omitempty" doc:"Only scans with one of these statuses: one value or a list."`
	TotalTime    *TotalTimeRange  `json:"total_time,omitempty" doc:"Only scans that took this long."`
}

// Product is a product in the notation of scan search, for example PRODUCT_SAST.
type Product string

// ScanStatus is the status of a scan, for example SCAN_STATUS_COMPLETED.
type ScanStatus string

// TotalTimeRange is a range of seconds. An absent bound is unlimited.
type TotalTimeRange struct {
	_   struct{} `additionalProperties:"false"`
	Min *float64 `json:"min,omitempty" doc:"Fewest seconds." example:"1.5"`
	Max *float64 `json:"max,omitempty" doc:"Most seconds." example:"60"`
}

// SearchScansResponse is one page of scans.
type SearchScansResponse struct {
	Cursor string `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
	Scans  []Scan `json:"scans" doc:"Scans, by started_at, descending."`
}

// Scan is one run of a scanner.
type Scan struct {
	ID              string         `json:"id" pattern:"^[0-9]+$" doc:"Id of the scan." example:"42"`
	DeploymentID    string         `json:"deployment_id" pattern:"^[0-9]+$" doc:"Id of the deployment." example:"1"`
	RepositoryID    string         `json:"repository_id" pattern:"^[0-9]+$" doc:"Id of the project." example:"17"`
	Branch          string         `json:"branch" doc:"Ref that was scanned, in full." example:"refs/heads/main"`
	Commit          string         `json:"commit" doc:"Commit that was scanned; empty when not told." example:"fd2f6e0c7b2b4a6f8f3b1d2c3e4f5a6b7c8d9e0f"`
	StartedAt       Time           `json:"started_at" doc:"When it started." example:"2024-05-28T06:38:54.962941Z"`
	CompletedAt     *Time          `json:"completed_at" nullable:"true" doc:"When it ended; null while it runs."`
	ExitCode        *int64         `json:"exit_code" doc:"0 or 1: completed; others: failed; null while it runs." example:"0"`
	IsFullScan      bool           `json:"is_full_scan" doc:"Whether it looked at everything rather than at a change."`
	EnabledProducts []string       `json:"enabled_products" enum:"sast,sca,secrets" doc:"Products of the rules that ran." example:"[\"sast\",\"secrets\"]"`
	FindingsCounts  FindingsCounts `json:"findings_counts" doc:"Findings that it reported."`
	Status          string         `json:"status" enum:"SCAN_STATUS_RUNNING,SCAN_STATUS_COMPLETED,SCAN_STATUS_ERROR,SCAN_STATUS_NEVER_FINISHED" doc:"How far it came." example:"SCAN_STATUS_COMPLETED"`
	TotalTime       *float64       `json:"total_time" doc:"Seconds that the scanner took; null when not told." example:"12.5"`
	UnreadLockfiles []string       `json:"unread_lockfiles,omitempty" doc:"Lockfiles that the scanner found and could not read: it says nothing about them. Absent when there are none (an extension)." example:"[\"web/package-lock.json\"]"`
	Outcome         string         `json:"outcome,omitempty" enum:"late,superseded" doc:"Why it was recorded only and changed no finding. late: a scan of the ref that started later counts already; superseded: the ref had this commit before and others since. Absent where it counts, or runs (an extension)." example:"late"`
	Error           string         `json:"error,omitempty" doc:"Why it failed; absent when it did not (an extension)." example:"the scanner ended with exit code 7"`
}

// FindingsCounts counts the findings of a scan by product.
type FindingsCounts struct {
	Code        int64 `json:"code" doc:"Code findings." example:"3"`
	Secrets     int64 `json:"secrets" doc:"Secrets." example:"1"`
	SupplyChain int64 `json:"supply_chain" doc:"Supply-chain findings." example:"2"`
	Total       int64 `json:"total" doc:"All of them." example:"6"`
}

// ScanResponse contains one scan. Its ids are numbers, unlike those of the search.
type ScanResponse struct {
	ID              int64     `json:"id" doc:"Id of the scan." example:"42"`
	DeploymentID    int64     `json:"deployment_id" doc:"Id of the deployment." example:"1"`
	RepositoryID    int64     `json:"repository_id" doc:"Project that was scanned." example:"17"`
	StartedAt       Time      `json:"started_at" doc:"When it started." example:"2024-05-28T06:38:54.962941Z"`
	CompletedAt     *Time     `json:"completed_at" nullable:"true" doc:"When it ended; null while it runs." example:"2024-05-28T06:39:54.962941Z"`
	ExitCode        *int64    `json:"exit_code" nullable:"true" doc:"Exit code of the scanner; null while it runs." example:"1"`
	Status          string    `json:"status" enum:"SCAN_STATUS_RUNNING,SCAN_STATUS_COMPLETED,SCAN_STATUS_ERROR,SCAN_STATUS_NEVER_FINISHED" doc:"How far it came (an extension)." example:"SCAN_STATUS_COMPLETED"`
	IsFullScan      bool      `json:"is_full_scan" doc:"Whether it looked at everything (an extension)."`
	EnabledProducts []string  `json:"enabled_products" enum:"sast,sca,secrets" doc:"Products of the rules that ran." example:"[\"sast\"]"`
	HasLogs         bool      `json:"has_logs" doc:"Whether its log is kept here."`
	Meta            ScanMeta  `json:"meta" doc:"What was scanned."`
	Stats           ScanStats `json:"stats" doc:"What came of it."`
}

// ScanMeta describes the code that was scanned.
type ScanMeta struct {
	Repository string `json:"repository" doc:"Name of the project." example:"acme/payments"`
	RepoURL    string `json:"repo_url" doc:"Address of the repository; empty when not told." example:"https://github.com/acme/payments"`
	Branch     string `json:"branch" doc:"Ref, in full." example:"refs/heads/main"`
	Commit     string `json:"commit" doc:"Commit; empty when not told." example:"4f1c0de"`
}

// ScanStats counts the findings of a scan.
type ScanStats struct {
	Findings  int64    `json:"findings" doc:"Findings that are not muted, of all products." example:"6"`
	TotalTime *float64 `json:"total_time" nullable:"true" doc:"Seconds that the scanner took; null when not told." example:"12.5"`
}
