package model

import "time"

// Job is a durable task that is independent of requests and processes.
type Job struct {
	ID           int64
	DeploymentID int64  // 0 for a job of the server
	Kind         string // such as sbom
	Token        string // unguessable name for the job's owner
	State        JobState
	Claim        int64  // number of claims; only the newest claim may end the job
	Attempt      int    // number of claims that count as attempts
	Subject      string // at most one job per kind and subject runs at a time; empty for no limit
	Key          string // resource with a limit, such as a host; empty for no limit
	Input        []byte // JSON
	Result       []byte
	MediaType    string
	Error        string    // for display; set if failed
	DueAt        time.Time // of a new job; zero for immediately
	CreatedAt    time.Time
	FinishedAt   time.Time // zero until finished
}

// JobState is the state of a job.
type JobState uint8

// States of a job.
const (
	JobQueued JobState = iota + 1
	JobRunning
	JobDone
	JobFailed
)

// JobDue is the earliest time at which a deployment may have a due job of a kind.
type JobDue struct {
	DeploymentID int64 // 0 for jobs of the server
	Kind         string
	At           time.Time
	Ordered      bool // at most one job of the kind runs per deployment, across all processes
}
