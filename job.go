package redoubt

import "time"

// Job is durable work that outlives the request and the process (semantics §11).
type Job struct {
	ID           int64
	DeploymentID int64
	Kind         string // as sbom
	Token        string // names the job to its owner, unguessable
	State        JobState
	Claim        int64  // how often it was claimed; only the newest claim may end it
	Attempt      int    // of these claims, how many count against it
	Subject      string // what it is about; empty: something of its own
	Input        []byte // JSON
	Result       []byte
	MediaType    string
	Error        string // for people; set when failed
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

// JobOutage is a time in which somebody could not store anything, and with whom
// others share the database: who held a job may not have been able to renew its lease.
// A lease that ran out in it is no sign that its holder is dead. Zero is none.
type JobOutage struct {
	From  time.Time
	Until time.Time // by when all who are alive have renewed theirs
}
