package model

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// Bounds of a managed run.
const (
	RunLease       = time.Minute // how long a runner may be silent
	RunAttempts    = 3           // in all
	RunTimeLimit   = time.Hour   // of one attempt, from the lease to its end
	MaxRunLog      = 512 << 10   // bytes of log kept of an attempt
	MaxRunReason   = 1000        // bytes of the reason of an end
	MaxRunsKept    = 200         // of one project, with those that ended
	MaxRunsOfHost  = 4           // of one deployment at once, from one code host
	MaxRunsByHand  = 50          // of one project that were asked for and did not end yet
	maxRunRefBytes = 1000
)

// RunState is how far a managed run came.
type RunState uint8

// States of a managed run, in the order in which they are passed; those behind
// RunUploading are its ends.
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

// ParseRunState reads a wire name.
func ParseRunState(s string) (RunState, bool) { return runStates.parse(s) }

// Ended reports whether nothing happens to the run any more.
func (s RunState) Ended() bool { return s >= RunDone }

// Begun reports whether a runner works on it.
func (s RunState) Begun() bool { return s >= RunLeased && s <= RunUploading }

// RunStatesBegun lists the states in which a runner works on a run.
func RunStatesBegun() []RunState {
	return []RunState{RunLeased, RunFetching, RunScanning, RunUploading}
}

// RunStopped is the reason of a run that somebody cancelled.
const RunStopped = "somebody stopped it"

// MayBecome reports whether a runner that works on a run may say that it is so far:
// forward, or where it is, and never by itself an end.
func (s RunState) MayBecome(next RunState) bool { return s.Begun() && next.Begun() && next >= s }

// RunKind says what a managed run looks at.
type RunKind uint8

// Kinds of managed runs.
const (
	RunFull RunKind = iota + 1 // a branch as it stands
	RunDiff                    // what a change request brings
)

var runKinds = enumNames[RunKind]{"", "full", "diff"}

// String returns the wire name.
func (k RunKind) String() string { return runKinds.name(k) }

// RunCause says why a managed run was queued.
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

// RunFailure says whether another try may mend what went wrong.
type RunFailure uint8

// Classes of failures.
const (
	RunPermanent RunFailure = iota + 1 // no access, no such ref, refused by policy
	RunTransient                       // the network, the host, a runner that was lost
	RunScanner                         // the scanner's exit code and last lines
)

var runFailures = enumNames[RunFailure]{"", "permanent", "transient", "scanner"}

// String returns the wire name.
func (f RunFailure) String() string { return runFailures.name(f) }

// ParseRunFailure reads a wire name.
func ParseRunFailure(s string) (RunFailure, bool) { return runFailures.parse(s) }

// Run is a managed run: one scan that the server has a runner make.
type Run struct {
	ID           int64
	DeploymentID int64
	ProjectID    int64
	Ref          string // full, as refs/heads/main; empty is the remote's default branch, until the runner tells it
	Commit       string // empty is the newest of the ref, until the runner tells it
	Base         string // full ref or commit that a diff is compared with; empty of a full run
	Kind         RunKind
	Cause        RunCause
	Change       int64  // number of the change request on its host; 0 for none
	Host         string // of the repository, for the limit of those at once; may be empty
	State        RunState
	Attempt      int   // the one under way, or the last; 0 before the first
	Claim        int64 // how often it was leased: only the newest lease may say how it goes
	RunnerID     int64 // who works on it, or did last; 0 before
	TokenID      int64 // of the token that dies with the attempt; 0 for none
	ScanID       int64 // newest scan that it brought; 0 for none
	Failure      RunFailure
	Reason       string // for people: why it ended so, or why it waits again
	LogSize      int64  // bytes
	DueAt        time.Time
	LeaseUntil   time.Time // zero unless begun
	CreatedAt    time.Time
	BegunAt      time.Time // of the attempt; zero before
	EndedAt      time.Time // zero before
}

// CheckRun says what is wrong with a run that is to be queued, as an *InvalidError.
func CheckRun(r Run) error {
	switch {
	case r.Kind != RunFull && r.Kind != RunDiff:
		return Invalid("kind", "expected full or diff")
	case r.Kind == RunDiff && r.Base == "":
		return Invalid("base", "a diff run needs what it is compared with")
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

// checkGitName refuses what git could take for an option, a pattern or something else
// than the name of a ref or commit. Empty is right.
func checkGitName(name string) error {
	if len(name) > maxRunRefBytes {
		return fmt.Errorf("has %d bytes; the limit is %d", len(name), maxRunRefBytes)
	}
	previous := byte('/')
	for i := range len(name) {
		c := name[i]
		switch {
		case c <= ' ' || c == 0x7f, c == '~', c == '^', c == ':', c == '?', c == '*', c == '[', c == '\\':
			return fmt.Errorf("holds %q, which no ref does", c)
		case previous == '/' && (c == '-' || c == '+' || c == '.' || c == '/'),
			previous == '.' && c == '.', previous == '@' && c == '{':
			return fmt.Errorf("is no name of a ref")
		}
		previous = c
	}
	return nil
}

// IsCommit reports whether a text is the full name of a commit.
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

// RunFate is what becomes of a run when a newer one of its project is queued.
type RunFate uint8

// Fates.
const (
	RunStays     RunFate = iota // both go on
	RunSuffices                 // the newer one would do the same, and need not be queued
	RunGivesWay                 // it waits, and is superseded
	RunIsStopped                // it has begun, and is cancelled
)

// Fate decides what becomes of the run when a newer one is queued. One that waits is
// superseded by one of the same project, ref and kind; one that has begun ends, unless the
// newer one is of the same change request.
func (r Run) Fate(newer Run) RunFate {
	same := r.ProjectID == newer.ProjectID && r.Kind == newer.Kind
	request := same && r.Change != 0 && r.Change == newer.Change
	asked := r.Ref == newer.Ref && r.Base == newer.Base && r.Commit == newer.Commit
	switch {
	case r.State.Ended() || !same || r.Ref != newer.Ref && !request:
		return RunStays
	case r.State == RunQueued && asked:
		return RunSuffices
	case r.State == RunQueued:
		return RunGivesWay
	case request && asked && r.Commit != "":
		return RunSuffices
	case request:
		return RunIsStopped
	}
	return RunStays
}

// RunBackoff is how long a run waits after an attempt that failed.
func RunBackoff(attempt int) time.Duration {
	wait := 30 * time.Second
	for range min(max(attempt-1, 0), 6) {
		wait *= 4
	}
	return min(wait, time.Hour)
}

// RunOutcome is how an attempt ended, as its runner says it.
type RunOutcome struct {
	State   RunState // RunDone, RunFailed, RunCancelled or RunTimedOut
	Failure RunFailure
	Reason  string
	ScanID  int64
}

// After is the run once an attempt came to an outcome: it ends, or waits for another
// attempt where that may mend what went wrong.
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

// RunLost is the outcome of an attempt whose runner was not heard of within its lease.
var RunLost = RunOutcome{State: RunFailed, Failure: RunTransient, Reason: "the runner was not heard of any more"}

// Brought reports whether a run may name a scan as what it brought: one of its own, or, where
// all that it uploaded was there already, of a managed run of the same commit before.
func (r Run) Brought(s Scan) bool {
	same := s.RunID != 0 && r.Commit != "" && s.Ref == r.Ref && s.Commit == r.Commit
	return s.ProjectID == r.ProjectID && (s.RunID == r.ID || same)
}

// Overdue is the outcome that a begun run came to by itself: its lease ran out, or its
// time. ok is false while it may go on.
func (r Run) Overdue(now time.Time) (o RunOutcome, ok bool) {
	switch {
	case !r.State.Begun():
		return o, false
	case !now.Before(r.BegunAt.Add(RunTimeLimit)):
		reason := fmt.Sprintf("it took longer than %s, as long as a scan may", RunTimeLimit)
		return RunOutcome{State: RunTimedOut, Reason: reason}, true
	case !now.Before(r.LeaseUntil):
		return RunLost, true
	}
	return o, false
}

// RunEvery is when full runs of a project are queued by themselves.
type RunEvery uint8

// Schedules.
const (
	RunWeekly RunEvery = iota + 1
	RunDaily
	RunOnPush // to the primary branch
	RunNever
)

var runEveries = enumNames[RunEvery]{"", "weekly", "daily", "push", "off"}

// String returns the wire name.
func (e RunEvery) String() string { return runEveries.name(e) }

// ParseRunEvery reads a wire name.
func ParseRunEvery(s string) (RunEvery, bool) { return runEveries.parse(s) }

// Next is the first time after another at which a project is due, spread over the week or
// day by a hash of the project's id; zero where no time makes it due.
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

// RunPlan is when full runs of a project are queued, and when one was last.
type RunPlan struct {
	ProjectID int64
	Every     RunEvery
	QueuedAt  time.Time // the newest that the schedule queued, or when managed scans were switched on
}

// Due reports whether the schedule asks for a run by now: one, however many were missed.
func (p RunPlan) Due(now time.Time) bool {
	next := p.Every.Next(p.ProjectID, p.QueuedAt)
	return !next.IsZero() && !now.Before(next)
}

// RunStanding is what is in force of a project's managed scans.
type RunStanding uint8

// Standings.
const (
	RunsOff RunStanding = iota + 1
	RunsWithoutConnection
	RunsWithoutRunner
	RunsScheduled
	RunsRunning
	RunsFailing
)

var runStandings = enumNames[RunStanding]{"", "off", "no_connection", "no_runner", "scheduled", "running", "failing"}

// String returns the wire name.
func (s RunStanding) String() string { return runStandings.name(s) }

// RunFacts are what a standing is decided by.
type RunFacts struct {
	Project   Project
	Plan      RunPlan
	Connected bool     // a connection says where the repository is
	Lost      string   // why a repository that was connected cannot be fetched any more, for people; empty: it can
	Trouble   string   // what went wrong when the connection was asked last; empty: nothing
	Runners   []Runner // that may take its runs
	Last      *Run     // newest that ended, other than superseded; nil for none
	Open      *Run     // newest that waits or has begun; nil for none
}

// warning is why what is scanned is not kept in, where a runner that is there and may take
// the runs has no sandbox; empty: all have one, or none is there.
func (f RunFacts) warning(now time.Time) string {
	for _, r := range f.Runners {
		if r.Present(now) && r.Unsandboxed() {
			return fmt.Sprintf("the runner %s scans without a sandbox (%s): "+
				"code that takes the scanner over reads what the runner's user may read",
				r.Name, strings.TrimPrefix(r.Isolation, NoSandbox))
		}
	}
	return ""
}

// RunStatus is a standing with its reason in words.
type RunStatus struct {
	Standing RunStanding
	Reason   string
	Every    RunEvery
	NextAt   time.Time // zero for no known time
	OpenRun  int64     // newest run that waits or has begun; 0 for none
	LastRun  int64     // newest run that ended; 0 for none
	LastAt   time.Time // when that ended; zero for none
	LastScan int64     // scan that it brought; 0 for none
	Warning  string    // what is wrong though scans are made; empty: nothing
}

// Status decides what is in force.
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
		s.Standing, s.Reason = RunsRunning, "a scan is under way: "+f.Open.State.String()
	case !wanted.Full && !wanted.Diff && f.Open == nil:
		s.Standing, s.Reason = RunsOff, "managed scans are switched off for this project"
	case f.Lost != "":
		s.Standing, s.Reason = RunsWithoutConnection, f.Lost
	case !f.Connected:
		s.Standing = RunsWithoutConnection
		s.Reason = "no connection to a code host has this repository: add one under Settings, Connections"
	case f.Trouble != "":
		s.Standing, s.Reason = RunsFailing, "the connection does not work: "+f.Trouble
	case !present:
		s.Standing = RunsWithoutRunner
		s.Reason = "no runner has asked for work of late: start one with redoubt runner, or the server with --runner"
	case f.Last != nil && (f.Last.State == RunFailed || f.Last.State == RunTimedOut):
		s.Standing, s.Reason = RunsFailing, f.Last.Reason
	default:
		s.Standing, s.Reason = RunsScheduled, f.scheduled()
	}
	return s
}

// scheduled says what the next run waits for.
func (f RunFacts) scheduled() string {
	switch {
	case f.Open != nil:
		return "a scan waits for a runner"
	case !f.Project.ManagedScan.Full:
		return "change requests are scanned as they come"
	case f.Plan.Every == RunOnPush:
		return "the next push to the primary branch is scanned"
	case f.Plan.Every == RunNever:
		return "full scans are made when somebody asks"
	}
	return "the next full scan is " + f.Plan.Every.String()
}
