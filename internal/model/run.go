package model

import (
	"fmt"
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
