package model

import "time"

// ChangeState is how far a change request came.
type ChangeState uint8

// States of a change request. The numbers are stored: never give one another meaning.
const (
	ChangeOpen ChangeState = iota + 1
	ChangeMerged
	ChangeClosed
)

var changeStates = enumNames[ChangeState]{"", "open", "merged", "closed"}

// String returns the wire name.
func (s ChangeState) String() string { return changeStates.name(s) }

// ChangeRequest is a pull or merge request of a repository.
type ChangeRequest struct {
	RepositoryID int64
	Number       int64
	Title        string // others wrote it
	Author       string // the login
	WebURL       string
	State        ChangeState
	HeadCommit   string // the newest one that is proposed
	HeadRef      string // its branch, without refs/heads/; of another repository where Fork
	FetchRef     string // under which the repository itself has the head, as refs/pull/3/head
	BaseRef      string // the branch it is to go to, without refs/heads/
	BaseCommit   string // where both part; empty: the host did not say
	Fork         bool   // the head is of another repository
	UpdatedAt    time.Time
}
