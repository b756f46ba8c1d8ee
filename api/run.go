package api

// ManagedScanStatus is the effective state of a project's managed scans.
type ManagedScanStatus struct {
	State     string `json:"state" enum:"off,no_connection,no_runner,scheduled,running,failing" doc:"What is in force."`
	Reason    string `json:"reason" doc:"Why, in words, with the step that mends it." example:"the next full scan is weekly"`
	Schedule  string `json:"schedule" enum:"weekly,daily,push,off" doc:"When full scans are made by themselves, where they are switched on."`
	NextAt    *Time  `json:"next_at" nullable:"true" doc:"When the next full scan is due; null: at no known time."`
	LastRunAt *Time  `json:"last_run_at" nullable:"true" doc:"When the newest run ended by itself; null: none has."`
	LastRunID *int64 `json:"last_run_id" nullable:"true" doc:"That run; null: there is none." example:"17"`
	OpenRunID *int64 `json:"open_run_id" nullable:"true" doc:"Run that waits or is under way; null: there is none." example:"18"`
	// LastScanID is the scan of the newest run.
	LastScanID *int64 `json:"last_scan_id" nullable:"true" doc:"Scan that the newest run brought; null: none." example:"42"`
	Warning    string `json:"warning,omitempty" doc:"What is wrong though scans are made, as a runner without a sandbox and why it has none; absent: nothing." example:"the runner build-7 scans without a sandbox (bubblewrap (bwrap) is not installed): code that takes the scanner over reads what the runner's user may read"`
}

// Run is a managed run: one scan that a runner performs for the server.
type Run struct {
	ID            int64  `json:"id" doc:"Id of the run." example:"17"`
	Project       string `json:"project" doc:"Name of the project." example:"acme/payments"`
	Kind          string `json:"kind" enum:"full,diff" doc:"A branch as it stands, or what a change request brings."`
	Cause         string `json:"cause" enum:"schedule,push,change_request,manual" doc:"Why it was queued."`
	Ref           string `json:"ref" doc:"What is scanned, in full; empty is the default branch, until the runner tells it." example:"refs/heads/main"`
	Commit        string `json:"commit" doc:"Commit; empty is the newest, until the runner tells it." example:"0e1c2d3f4a5b60718293a4b5c6d7e8f901234567"`
	Base          string `json:"base" doc:"What a diff is compared with; empty of a full run." example:"refs/heads/main"`
	ChangeRequest *int64 `json:"change_request" nullable:"true" doc:"Number of the change request at its host; null: none." example:"3"`
	State         string `json:"state" enum:"queued,leased,fetching,scanning,uploading,done,failed,cancelled,superseded,timed_out" doc:"How far it came."`
	Attempt       int64  `json:"attempt" doc:"Attempt under way, or the last; 0 before the first, 3 at most." example:"1"`
	Failure       string `json:"failure" enum:",permanent,transient,scanner" doc:"What kind of failure it was; only what is transient is tried again by itself."`
	Reason        string `json:"reason" doc:"Why it ended so, or why it waits again, for people; empty: nothing to say." example:"the branch is gone"`
	Runner        string `json:"runner" doc:"Name of the runner that works on it, or did last; empty: none, or it is forgotten." example:"build-7"`
	ScanID        *int64 `json:"scan_id" nullable:"true" doc:"Newest scan that it brought; null: none." example:"42"`
	LogBytes      int64  `json:"log_bytes" doc:"Size of the log of the newest attempt, in bytes." example:"5120"`
	CreatedAt     Time   `json:"created_at" doc:"When it was queued."`
	DueAt         Time   `json:"due_at" doc:"Before when no runner is given it."`
	BegunAt       *Time  `json:"begun_at" nullable:"true" doc:"When the attempt began; null before."`
	EndedAt       *Time  `json:"ended_at" nullable:"true" doc:"When it ended; null before."`
}

// RunsQuery contains the parameters for listing managed runs.
type RunsQuery struct {
	Project string   `query:"project" maxLength:"512" doc:"Only those of this project, by its name." example:"acme/payments"`
	State   []string `query:"state,explode" enum:"queued,leased,fetching,scanning,uploading,done,failed,cancelled,superseded,timed_out" doc:"Only those in one of these states."`
	Cursor  string   `query:"cursor" doc:"Cursor of the previous answer."`
	Limit   int64    `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Runs in one answer; 0 takes the default."`
}

// ListRunsResponse is one page of managed runs.
type ListRunsResponse struct {
	Runs   []Run  `json:"runs" doc:"Runs, the newest first; of a project the last two hundred that ended are kept."`
	Cursor string `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// RunResponse contains one managed run.
type RunResponse struct {
	Run Run `json:"run" doc:"The run as it is now."`
}

// StartRunRequest starts a scan of a project.
type StartRunRequest struct {
	_       struct{} `additionalProperties:"false"`
	Project string   `json:"project" minLength:"1" maxLength:"512" doc:"Name of the project." example:"acme/payments"`
	Ref     string   `json:"ref,omitempty" maxLength:"512" doc:"Branch or other ref, full or short; the primary branch when absent." example:"main"`
}

// RunLogQuery contains the parameters for reading the log of a run.
type RunLogQuery struct {
	Offset int64 `query:"offset" minimum:"0" default:"0" doc:"Byte that the answer begins at: the next_offset of the answer before."`
}

// RunLogResponse is a part of the log of a run's newest attempt.
type RunLogResponse struct {
	Run        Run    `json:"run" doc:"The run as it is now. Its attempt says whose log this is: a further attempt begins a log of its own, at 0."`
	Offset     int64  `json:"offset" doc:"Byte that the text begins at." example:"0"`
	NextOffset int64  `json:"next_offset" doc:"Byte to ask from next." example:"5120"`
	Text       string `json:"text" doc:"What came since, 64 KiB at most, without secrets; empty: nothing yet."`
	Ended      bool   `json:"ended" doc:"Whether nothing follows any more behind this text."`
}

// RunnerInfo is a runner of managed runs.
type RunnerInfo struct {
	ID          int64    `json:"id" doc:"Id of the runner." example:"2"`
	Name        string   `json:"name" doc:"What it calls itself." example:"build-7"`
	Labels      []string `json:"labels" doc:"What it says of itself." example:"[\"linux\"]"`
	Version     string   `json:"version" doc:"Its version." example:"0.9.0"`
	Isolation   string   `json:"isolation" doc:"How it keeps scanners in." example:"bubblewrap"`
	TokenID     int64    `json:"token_id" doc:"Id of the token that it calls with." example:"5"`
	Present     bool     `json:"present" doc:"Whether it was heard of within three minutes."`
	RunID       *int64   `json:"run_id" nullable:"true" doc:"Run that it works on; null: none." example:"17"`
	FirstSeenAt Time     `json:"first_seen_at" doc:"When it asked for work first."`
	LastSeenAt  Time     `json:"last_seen_at" doc:"When it asked for work last."`
}

// ListRunnersResponse contains all runners.
type ListRunnersResponse struct {
	Runners []RunnerInfo `json:"runners" doc:"Runners, the one heard of last first; two hundred are known at most."`
}

// RevokeRunnerResponse lists the runners that were revoked.
type RevokeRunnerResponse struct {
	Runners []string `json:"runners" doc:"Names of all that called with the runner's token, which is out of force." example:"[\"build-7\"]"`
}
