package model

import "time"

// Job is durable work that outlives the request and the process.
type Job struct {
	ID           int64
	DeploymentID int64  // 0: a job of the server
	Kind         string // as sbom
	Token        string // names the job to its owner, unguessable
	State        JobState
	Claim        int64  // how often it was claimed; only the newest claim may end it
	Attempt      int    // of these claims, how many count against it
	Subject      string // at most one job of a kind and subject runs at a time; empty: no such limit
	Key          string // resource with a limit, such as a host; empty: no such limit
	Input        []byte // JSON
	Result       []byte
	MediaType    string
	Error        string    // for people; set when failed
	DueAt        time.Time // of a new job; zero: at once
	CreatedAt    time.Time
	FinishedAt   time.Time // zero before
}

// JobState is how far a job came.
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
	DeploymentID int64 // 0: jobs of the server
	Kind         string
	At           time.Time
	Ordered      bool // at most one job of the kind runs in the deployment, in all processes
}
