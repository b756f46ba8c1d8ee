package model

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

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
