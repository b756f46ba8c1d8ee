package model

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// Limits of a managed run.
const (
	RunLease       = time.Minute // maximum time without a report from the runner
	RunAttempts    = 3           // total number of attempts
	RunTimeLimit   = time.Hour   // of one attempt, from lease to end
	MaxRunLog      = 512 << 10   // bytes of log stored per attempt
	MaxRunReason   = 1000        // bytes of an outcome's reason
	MaxRunsKept    = 200         // per project, including ended runs
	MaxRunsOfHost  = 4           // concurrent runs of a deployment on one code host
	MaxRunsByHand  = 50          // unfinished manual runs per project
	maxRunRefBytes = 1000
)

// RunState is the state of a managed run.
type RunState uint8

// States of a managed run, in the order of progress. Those after RunUploading are final.
const (
	RunQueued RunState = iota + 1
	RunLeased
	RunFetching
	RunScanning
	RunUploading
	RunDone
	RunFailed
	RunCancelled
	RunSuperseded
	RunTimedOut
)

var runStates = enumNames[RunState]{
	"", "queued", "leased", "fetching", "scanning", "uploading", "done", "failed", "cancelled", "superseded", "timed_out",
}

// String returns the wire name.
func (s RunState) String() string { return runStates.name(s) }

// ParseRunState parses a wire name.
func ParseRunState(s string) (RunState, bool) { return runStates.parse(s) }

// Ended reports whether the state is final.
func (s RunState) Ended() bool { return s >= RunDone }

// Begun reports whether a runner is executing the run.
func (s RunState) Begun() bool { return s >= RunLeased && s <= RunUploading }

// RunStatesBegun returns the states in which a runner is executing a run.
func RunStatesBegun() []RunState {
	return []RunState{RunLeased, RunFetching, RunScanning, RunUploading}
}

// RunStopped is the reason of a run canceled by a user.
const RunStopped = "canceled by a user"

// MayBecome reports whether the runner may set the next state. It must not go back, or be a final
// state.
func (s RunState) MayBecome(next RunState) bool { return s.Begun() && next.Begun() && next >= s }

// RunKind is the scope of a managed run.
type RunKind uint8

// Kinds of managed runs.
const (
	RunFull RunKind = iota + 1 // a complete branch
	RunDiff                    // the changes of a change request
)

var runKinds = enumNames[RunKind]{"", "full", "diff"}

// String returns the wire name.
func (k RunKind) String() string { return runKinds.name(k) }

// RunCause is the reason for which a managed run was queued.
type RunCause uint8

// Causes of managed runs.
const (
	RunBySchedule RunCause = iota + 1
	RunByPush
	RunByChangeRequest
	RunByHand
)

var runCauses = enumNames[RunCause]{"", "schedule", "push", "change_request", "manual"}

// String returns the wire name.
func (c RunCause) String() string { return runCauses.name(c) }

// RunFailure is the class of a failure, which determines whether the run is retried.
type RunFailure uint8

// Classes of failures.
const (
	RunPermanent RunFailure = iota + 1 // no access, missing ref, or rejected by policy
	RunTransient                       // network or host errors, or a lost runner
	RunScanner                         // the scanner's exit code and last output
)

var runFailures = enumNames[RunFailure]{"", "permanent", "transient", "scanner"}

// String returns the wire name.
func (f RunFailure) String() string { return runFailures.name(f) }

// ParseRunFailure parses a wire name.
func ParseRunFailure(s string) (RunFailure, bool) { return runFailures.parse(s) }

// Run is a managed run: a scan that a runner executes for the server.
type Run struct {
	ID           int64
	DeploymentID int64
	ProjectID    int64
	Ref          string // such as refs/heads/main; empty for the default branch until the runner reports it
	Commit       string // empty for the newest commit of the ref until the runner reports it
	Base         string // full ref or commit to compare with; empty for a full run
	Kind         RunKind
	Cause        RunCause
	Change       int64  // number of the change request at its host; 0 if none
	Host         string // of the repository, for the limit of concurrent runs; may be empty
	State        RunState
	Attempt      int   // current or last attempt; 0 before the first
	Claim        int64 // number of leases; only the newest lease may report progress
	RunnerID     int64 // current or last runner; 0 before the first
	TokenID      int64 // token that is valid for the attempt only; 0 if none
	ScanID       int64 // newest resulting scan; 0 if none
	Failure      RunFailure
	Reason       string // of the outcome or the retry, for display
	LogSize      int64  // bytes
	DueAt        time.Time
	LeaseUntil   time.Time // zero unless a runner is executing it
	CreatedAt    time.Time
	BegunAt      time.Time // of the attempt; zero before
	EndedAt      time.Time // zero until it ends
}

// CheckRun validates a run to be queued and returns an *InvalidError.
func CheckRun(r Run) error {
	switch {
	case r.Kind != RunFull && r.Kind != RunDiff:
		return Invalid("kind", "expected full or diff")
	case r.Kind == RunDiff && r.Base == "":
		return Invalid("base", "a diff run requires a base")
	case r.Cause < RunBySchedule || r.Cause > RunByHand:
		return Invalid("cause", "expected schedule, push, change_request or manual")
	case r.Change < 0:
		return Invalid("change", "expected the number of a change request")
	}
	for member, ref := range map[string]string{"ref": r.Ref, "base": r.Base, "commit": r.Commit} {
		if err := checkGitName(ref); err != nil {
			return Invalid(member, "%v", err)
		}
	}
	if r.Commit != "" && !IsCommit(r.Commit) {
		return Invalid("commit", "expected the 40 or 64 hexadecimal digits of a commit")
	}
	return nil
}

// checkGitName rejects names that Git could interpret as an option, a pattern or anything except a
// ref or commit. The empty name is valid.
func checkGitName(name string) error {
	if len(name) > maxRunRefBytes {
		return fmt.Errorf("has %d bytes; the limit is %d", len(name), maxRunRefBytes)
	}
	previous := byte('/')
	for i := range len(name) {
		c := name[i]
		switch {
		case c <= ' ' || c == 0x7f, c == '~', c == '^', c == ':', c == '?', c == '*', c == '[', c == '\\':
			return fmt.Errorf("contains the invalid character %q", c)
		case previous == '/' && (c == '-' || c == '+' || c == '.' || c == '/'),
			previous == '.' && c == '.', previous == '@' && c == '{':
			return fmt.Errorf("is not a valid ref name")
		}
		previous = c
	}
	return nil
}

// IsCommit reports whether s is a full commit hash.
func IsCommit(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// RunFate is the effect of a newer run of the same project on a run.
type RunFate uint8

// Effects of a newer run.
const (
	RunStays     RunFate = iota // both runs continue
	RunSuffices                 // the newer run is redundant and need not be queued
	RunGivesWay                 // the run is waiting and is superseded
	RunIsStopped                // the run has begun and is canceled
)

// Fate returns the effect of a newer run of the same project and kind. It supersedes a waiting run
// of the same ref or change request. It affects a run that has begun only if both are of the same
// change request.
func (r Run) Fate(newer Run) RunFate {
	same := r.ProjectID == newer.ProjectID && r.Kind == newer.Kind
	request := same && r.Change != 0 && r.Change == newer.Change
	sameInput := r.Ref == newer.Ref && r.Base == newer.Base && r.Commit == newer.Commit
	switch {
	case r.State.Ended() || !same || r.Ref != newer.Ref && !request:
		return RunStays
	case r.State == RunQueued && sameInput:
		return RunSuffices
	case r.State == RunQueued:
		return RunGivesWay
	case request && sameInput && r.Commit != "":
		return RunSuffices
	case request:
		return RunIsStopped
	}
	return RunStays
}

// RunBackoff returns the delay before the next attempt.
func RunBackoff(attempt int) time.Duration {
	wait := 30 * time.Second
	for range min(max(attempt-1, 0), 6) {
		wait *= 4
	}
	return min(wait, time.Hour)
}

// RunOutcome is the outcome of an attempt, as reported by its runner.
type RunOutcome struct {
	State   RunState // RunDone, RunFailed, RunCancelled or RunTimedOut
	Failure RunFailure
	Reason  string
	ScanID  int64
}

// After returns the run after an attempt with the given outcome. It ends, or waits for another
// attempt if a retry may help.
func (r Run) After(o RunOutcome, now time.Time) Run {
	r.Failure, r.Reason, r.LeaseUntil = o.Failure, Line(CutBytes(o.Reason, MaxRunReason)), time.Time{}
	if o.ScanID != 0 {
		r.ScanID = o.ScanID
	}
	if o.State != RunFailed {
		r.Failure = 0
	} else if r.Failure == 0 {
		r.Failure = RunTransient
	}
	if o.State == RunFailed && r.Failure == RunTransient && r.Attempt < RunAttempts {
		r.State, r.DueAt = RunQueued, now.Add(RunBackoff(r.Attempt))
		return r
	}
	r.State, r.EndedAt = o.State, now
	return r
}

// RunLost is the outcome of an attempt whose lease expired.
var RunLost = RunOutcome{State: RunFailed, Failure: RunTransient, Reason: "the runner stopped responding"}

// Brought reports whether a scan may be recorded as the result of the run. It must be its own scan,
// or that of an earlier managed run of the same commit if the uploads were identical.
func (r Run) Brought(s Scan) bool {
	same := s.RunID != 0 && r.Commit != "" && s.Ref == r.Ref && s.Commit == r.Commit
	return s.ProjectID == r.ProjectID && (s.RunID == r.ID || same)
}

// Overdue returns the outcome of a run whose lease or time limit has expired, and whether one has.
func (r Run) Overdue(now time.Time) (o RunOutcome, ok bool) {
	switch {
	case !r.State.Begun():
		return o, false
	case !now.Before(r.BegunAt.Add(RunTimeLimit)):
		reason := fmt.Sprintf("it exceeded the time limit of %s for a scan", RunTimeLimit)
		return RunOutcome{State: RunTimedOut, Reason: reason}, true
	case !now.Before(r.LeaseUntil):
		return RunLost, true
	}
	return o, false
}

// RunEvery is the schedule of full runs of a project.
type RunEvery uint8

// Schedules.
const (
	RunWeekly RunEvery = iota + 1
	RunDaily
	RunOnPush // on pushes to the primary branch
	RunNever
)

var runEveries = enumNames[RunEvery]{"", "weekly", "daily", "push", "off"}

// String returns the wire name.
func (e RunEvery) String() string { return runEveries.name(e) }

// ParseRunEvery parses a wire name.
func ParseRunEvery(s string) (RunEvery, bool) { return runEveries.parse(s) }

// Next returns the first scheduled time of a project after the given time. Times are distributed
// over the week or day by a hash of the project's ID. It returns the zero time if the schedule has
// no times.
func (e RunEvery) Next(projectID int64, after time.Time) time.Time {
	var period time.Duration
	switch e {
	case RunWeekly:
		period = 7 * 24 * time.Hour
	case RunDaily:
		period = 24 * time.Hour
	case RunOnPush, RunNever:
		return time.Time{}
	default:
		return time.Time{}
	}
	sum := fnv.New64a()
	_, _ = sum.Write(binary.BigEndian.AppendUint64(nil, uint64(projectID))) // never fails
	minutes := uint64(period / time.Minute)
	offset := time.Duration(sum.Sum64()%minutes) * time.Minute
	epoch := time.Unix(0, 0).UTC().Add(offset)
	passed := int64(after.Sub(epoch) / period)
	if after.Before(epoch) {
		passed = -1
	}
	return epoch.Add(time.Duration(passed+1) * period)
}

// RunPlan is a project's schedule of full runs with the time of the last one.
type RunPlan struct {
	ProjectID int64
	Every     RunEvery
	QueuedAt  time.Time // last scheduled run, or when managed scans were enabled
}

// Due reports whether a scheduled run is due. Missed runs are combined into one.
func (p RunPlan) Due(now time.Time) bool {
	next := p.Every.Next(p.ProjectID, p.QueuedAt)
	return !next.IsZero() && !now.Before(next)
}

// ManagedState is the status of a project's managed scans.
type ManagedState uint8

// Statuses of managed scans.
const (
	RunsOff ManagedState = iota + 1
	RunsWithoutConnection
	RunsWithoutRunner
	RunsScheduled
	RunsRunning
	RunsFailing
)

var managedStates = enumNames[ManagedState]{"", "off", "no_connection", "no_runner", "scheduled", "running", "failing"}

// String returns the wire name.
func (s ManagedState) String() string { return managedStates.name(s) }

// RunFacts contains the data that determines a RunStatus.
type RunFacts struct {
	Project   Project
	Plan      RunPlan
	Connected bool     // the repository is known from a connection
	Lost      string   // why a connected repository can no longer be fetched, for display; may be empty
	Trouble   string   // error of the last request to the host; may be empty
	Runners   []Runner // runners that may execute the project's runs
	Last      *Run     // newest ended run, except superseded ones; may be nil
	Open      *Run     // newest waiting or begun run; may be nil
}

// warning returns a warning if a connected runner that may execute the runs has no sandbox, and ""
// otherwise.
func (f RunFacts) warning(now time.Time) string {
	for _, r := range f.Runners {
		if r.Present(now) && r.Unsandboxed() {
			return fmt.Sprintf("the runner %s scans without a sandbox (%s): "+
				"code that compromises the scanner can read all files of the runner's user",
				r.Name, strings.TrimPrefix(r.Isolation, NoSandbox))
		}
	}
	return ""
}

// RunStatus is the status of managed scans with an explanation.
type RunStatus struct {
	State    ManagedState
	Reason   string
	Every    RunEvery
	NextAt   time.Time // zero if unknown
	OpenRun  int64     // newest waiting or begun run; 0 if none
	LastRun  int64     // newest ended run; 0 if none
	LastAt   time.Time // end of LastRun; zero if none
	LastScan int64     // scan of LastRun; 0 if none
	Warning  string    // problem that does not prevent scans; may be empty
}

// Status returns the status of managed scans.
func (f RunFacts) Status(now time.Time) RunStatus {
	wanted := f.Project.ManagedScan
	s := RunStatus{Every: f.Plan.Every}
	if f.Last != nil {
		s.LastRun, s.LastAt, s.LastScan = f.Last.ID, f.Last.EndedAt, f.Last.ScanID
	}
	if f.Open != nil {
		s.OpenRun = f.Open.ID
	}
	present := false
	for _, r := range f.Runners {
		present = present || r.Present(now)
	}
	if wanted.Full || wanted.Diff || f.Open != nil {
		s.Warning = f.warning(now)
	}
	if wanted.Full && f.Connected {
		s.NextAt = f.Plan.Every.Next(f.Project.ID, f.Plan.QueuedAt)
	}
	switch {
	case f.Open != nil && f.Open.State.Begun():
		s.State, s.Reason = RunsRunning, "a scan is running: "+f.Open.State.String()
	case !wanted.Full && !wanted.Diff && f.Open == nil:
		s.State, s.Reason = RunsOff, "managed scans are disabled for this project"
	case f.Lost != "":
		s.State, s.Reason = RunsWithoutConnection, f.Lost
	case !f.Connected:
		s.State = RunsWithoutConnection
		s.Reason = "no connection to a code host includes this repository: add one under Settings, Connections"
	case f.Trouble != "":
		s.State, s.Reason = RunsFailing, "the connection fails: "+f.Trouble
	case !present:
		s.State = RunsWithoutRunner
		s.Reason = "no runner is connected: start one with redoubt runner, or the server with --runner"
	case f.Last != nil && (f.Last.State == RunFailed || f.Last.State == RunTimedOut):
		s.State, s.Reason = RunsFailing, f.Last.Reason
	default:
		s.State, s.Reason = RunsScheduled, f.scheduled()
	}
	return s
}

// scheduled describes what the next run waits for.
func (f RunFacts) scheduled() string {
	switch {
	case f.Open != nil:
		return "a scan is waiting for a runner"
	case !f.Project.ManagedScan.Full:
		return "new change requests are scanned"
	case f.Plan.Every == RunOnPush:
		return "the next push to the primary branch is scanned"
	case f.Plan.Every == RunNever:
		return "full scans start on request"
	}
	return "the next full scan is " + f.Plan.Every.String()
}
