package redoubt

import "time"

// Job is durable work that outlives the request and the process (semantics §11).
type Job struct {
	ID           int64
	DeploymentID int64  // 0: of the server itself
	Kind         string // as sbom
	Token        string // names the job to its owner, unguessable
	State        JobState
	Claim        int64  // how often it was claimed; only the newest claim may end it
	Attempt      int    // of these claims, how many count against it
	Subject      string // what it is about: of one kind and subject one job waits and one works; empty: something of its own
	Key          string // whom it waits for, as a host, of which few jobs work at once; empty: nobody
	Input        []byte // JSON
	Result       []byte
	MediaType    string
	Error        string    // for people; set when failed
	DueAt        time.Time // of new work: when it is to be done; zero: at once
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

// JobDue says that a deployment may have work of a kind from a time on.
type JobDue struct {
	DeploymentID int64 // 0: of the server itself
	Kind         string
	At           time.Time
	Ordered      bool // a job of the kind waits while another works in the deployment, whatever the process
}
