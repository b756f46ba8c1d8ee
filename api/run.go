package api

// ManagedScanStatus is the effective state of a project's managed scans.
type ManagedScanStatus struct {
	State     string `json:"state" enum:"off,no_connection,no_runner,scheduled,running,failing" doc:"Effective state."`
	Reason    string `json:"reason" doc:"Reason and remedy, as text." example:"the next full scan is weekly"`
	Schedule  string `json:"schedule" enum:"weekly,daily,push,off" doc:"Schedule of full scans, if switched on."`
	NextAt    *Time  `json:"next_at" nullable:"true" doc:"Time of the next full scan; null if unknown."`
	LastRunAt *Time  `json:"last_run_at" nullable:"true" doc:"Time at which the newest run ended; null if none ended. Canceled and superseded runs do not count."`
	LastRunID *int64 `json:"last_run_id" nullable:"true" doc:"Id of that run; null if there is none." example:"17"`
	OpenRunID *int64 `json:"open_run_id" nullable:"true" doc:"Id of the queued or active run; null if there is none." example:"18"`
	// LastScanID is the scan of the newest run.
	LastScanID *int64 `json:"last_scan_id" nullable:"true" doc:"Id of the newest run's scan; null if there is none." example:"42"`
	Warning    string `json:"warning,omitempty" doc:"Problem that does not prevent scans, such as a runner without a sandbox, with the reason; absent if there is none." example:"the runner build-7 scans without a sandbox (bubblewrap (bwrap) is not installed): code that compromises the scanner can read all files of the runner's user"`
}

// Run is a managed run: one scan that a runner performs for the server.
type Run struct {
	ID            int64  `json:"id" doc:"Id of the run." example:"17"`
	Project       string `json:"project" doc:"Name of the project." example:"acme/payments"`
	Kind          string `json:"kind" enum:"full,diff" doc:"Kind of run: full scans a branch, diff the changes of a change request."`
	Cause         string `json:"cause" enum:"schedule,push,change_request,manual" doc:"Cause of the run."`
	Ref           string `json:"ref" doc:"Full name of the scanned ref; empty: the default branch, until the runner reports it." example:"refs/heads/main"`
	Commit        string `json:"commit" doc:"Commit; empty: the newest, until the runner reports it." example:"0e1c2d3f4a5b60718293a4b5c6d7e8f901234567"`
	Base          string `json:"base" doc:"Base of a diff; empty for a full run." example:"refs/heads/main"`
	ChangeRequest *int64 `json:"change_request" nullable:"true" doc:"Number of the change request at its host; null if there is none." example:"3"`
	State         string `json:"state" enum:"queued,leased,fetching,scanning,uploading,done,failed,cancelled,superseded,timed_out" doc:"Current state."`
	Attempt       int64  `json:"attempt" doc:"Current or last attempt; 0 before the first, at most 3." example:"1"`
	Failure       string `json:"failure" enum:",permanent,transient,scanner" doc:"Kind of failure. Only transient failures are retried automatically."`
	Reason        string `json:"reason" doc:"Reason for the end or for the retry, as text; empty if there is none." example:"the branch is gone"`
	Runner        string `json:"runner" doc:"Name of the current or last runner; empty if there is none or it was deleted." example:"build-7"`
	ScanID        *int64 `json:"scan_id" nullable:"true" doc:"Id of the newest scan of the run; null if there is none." example:"42"`
	LogBytes      int64  `json:"log_bytes" doc:"Size of the log of the newest attempt, in bytes." example:"5120"`
	CreatedAt     Time   `json:"created_at" doc:"Time of queuing."`
	DueAt         Time   `json:"due_at" doc:"Earliest start time."`
	BegunAt       *Time  `json:"begun_at" nullable:"true" doc:"Start time of the attempt; null if it has not started."`
	EndedAt       *Time  `json:"ended_at" nullable:"true" doc:"End time; null if the run has not ended."`
}

// RunsQuery contains the parameters for listing managed runs.
type RunsQuery struct {
	Project string   `query:"project" maxLength:"512" doc:"Only runs of this project, by name." example:"acme/payments"`
	State   []string `query:"state,explode" enum:"queued,leased,fetching,scanning,uploading,done,failed,cancelled,superseded,timed_out" doc:"Only runs in one of these states."`
	Cursor  string   `query:"cursor" doc:"Cursor of the previous response."`
	Limit   int64    `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Runs per page; 0 means the default."`
}

// ListRunsResponse is one page of managed runs.
type ListRunsResponse struct {
	Runs   []Run  `json:"runs" doc:"Runs, newest first; the last two hundred ended runs of a project are stored."`
	Cursor string `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// RunResponse contains one managed run.
type RunResponse struct {
	Run Run `json:"run" doc:"The requested, changed or new run."`
}

// StartRunRequest starts a scan of a project.
type StartRunRequest struct {
	_       struct{} `additionalProperties:"false"`
	Project string   `json:"project" minLength:"1" maxLength:"512" doc:"Name of the project." example:"acme/payments"`
	Ref     string   `json:"ref,omitempty" maxLength:"512" doc:"Branch or other ref, full or short; default: the primary branch." example:"main"`
}

// RunLogQuery contains the parameters for reading the log of a run.
type RunLogQuery struct {
	Offset int64 `query:"offset" minimum:"0" default:"0" doc:"Start offset in bytes: next_offset of the previous response."`
}

// RunLogResponse is a part of the log of a run's newest attempt.
type RunLogResponse struct {
	Run        Run    `json:"run" doc:"The run. attempt identifies the log: each attempt starts a new log at offset 0."`
	Offset     int64  `json:"offset" doc:"Offset of the text in bytes." example:"0"`
	NextOffset int64  `json:"next_offset" doc:"Offset for the next request." example:"5120"`
	Text       string `json:"text" doc:"New log text, at most 64 KiB, with secrets removed; empty: none yet."`
	Ended      bool   `json:"ended" doc:"Whether the log is complete."`
}

// RunnerInfo is a runner of managed runs.
type RunnerInfo struct {
	ID          int64    `json:"id" doc:"Id of the runner." example:"2"`
	Name        string   `json:"name" doc:"Name of the runner." example:"build-7"`
	Labels      []string `json:"labels" doc:"Labels of the runner." example:"[\"linux\"]"`
	Version     string   `json:"version" doc:"Version of the runner." example:"0.9.0"`
	Isolation   string   `json:"isolation" doc:"Isolation of scanners." example:"bubblewrap"`
	TokenID     int64    `json:"token_id" doc:"Id of the runner's token." example:"5"`
	Present     bool     `json:"present" doc:"Whether the runner was active within the last three minutes."`
	RunID       *int64   `json:"run_id" nullable:"true" doc:"Id of the current run; null if there is none." example:"17"`
	FirstSeenAt Time     `json:"first_seen_at" doc:"Time of the first request for work."`
	LastSeenAt  Time     `json:"last_seen_at" doc:"Time of the last request for work."`
}

// ListRunnersResponse contains all runners.
type ListRunnersResponse struct {
	Runners []RunnerInfo `json:"runners" doc:"Runners, most recently active first; at most two hundred."`
}

// RevokeRunnerResponse lists the runners that were revoked.
type RevokeRunnerResponse struct {
	Runners []string `json:"runners" doc:"Names of all runners that used the revoked token." example:"[\"build-7\"]"`
}
