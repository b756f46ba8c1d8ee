package model

import "time"

// FailedStep is how a run of a scanner failed.
type FailedStep string

// Steps that fail.
const (
	FailedSignIn  FailedStep = "unauthenticated" // no, an unknown, an expired or a revoked token
	FailedScope   FailedStep = "forbidden"       // a token that may not do this
	FailedScan    FailedStep = "error"           // the scanner gave its scan up
	FailedOpen    FailedStep = "failure"         // the scanner hides its error from the build
	FailedStorage FailedStep = "not_stored"      // the results came and could not be stored
)

// FailedAttempt is a run of a scanner that failed, which its build may not show.
type FailedAttempt struct {
	// DeploymentID is 0 where no token tells whose the run was.
	DeploymentID int64
	Name         string // the scanner's own name of its run, or one made up
	At           time.Time
	Step         FailedStep // the first that failed
	ExitCode     int        // 0 where the scanner did not tell
	Cause        string     // for people; holds no secrets
	ScanID       int64      // 0 where no scan had begun
	TokenID      string     // public id; empty where no token that is known was sent
	Repository   string     // as the scanner says
	Ref          string     // in full; empty where it is not told
	Agent        string     // the scanner's own name and version
	Address      string     // of the sender
}
