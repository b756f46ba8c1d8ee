package model

import "time"

// IDRun is a stretch of ids: the first, and how many follow it.
type IDRun [2]int64

// IDRuns are ids as stretches, in the order in which they were added.
type IDRuns []IDRun

// Add puts one id behind the others.
func (r *IDRuns) Add(id int64) {
	if n := len(*r); n > 0 {
		switch last := &(*r)[n-1]; id - last[0] - last[1] {
		case 1:
			last[1]++
			return
		case 0:
			return
		}
	}
	*r = append(*r, IDRun{id, 0})
}

// All lists the ids.
func (r IDRuns) All() (ids []int64) {
	for _, run := range r {
		for i := range run[1] + 1 {
			ids = append(ids, run[0]+i)
		}
	}
	return ids
}

// Happening is something that a transaction did which somebody wants to be told of. It is
// kept with what it tells of, or not at all.
type Happening struct {
	Event NotificationEvent `json:"event"`
	// Findings are those that it is about. Of EventNewFinding, Lineages are those that no
	// ref of the project had; of EventDecisionEnded, EventAssigned, EventOverdue,
	// EventComment and of exceptions that are asked for there are lineages only.
	Findings  IDRuns `json:"findings,omitempty"`
	Lineages  IDRuns `json:"lineages,omitempty"`
	ProjectID int64  `json:"project,omitempty"` // of the events of one project
	ScanID    int64  `json:"scan,omitempty"`
	RunID     int64  `json:"run,omitempty"`      // of EventScanFailed: the managed run that came to no scan
	Assignee  string `json:"assignee,omitempty"` // name of the user, of EventAssigned
	// RequestID is the request for an exception, RequestState what became of it, and Asker
	// the name of the user who asked; empty: no user did.
	RequestID    int64          `json:"request,omitempty"`
	RequestState ExceptionState `json:"request_state,omitempty"`
	Asker        string         `json:"asker,omitempty"`
	// CommentID is the comment on a finding, and Author who wrote it.
	CommentID int64  `json:"comment,omitempty"`
	Author    string `json:"author,omitempty"`
	// Project and Tags are of the project that a request is about: it may be removed by the
	// time that somebody is told.
	Project string   `json:"project_name,omitempty"`
	Tags    []string `json:"project_tags,omitempty"`
	// Persons are users who get mail of their own, whatever the rules ask for.
	Persons []int64 `json:"persons,omitempty"`
	Reason  string  `json:"reason,omitempty"` // for people, where there is one
}

// NotificationState is how far a notification came.
type NotificationState uint8

// States. The numbers are stored: never give one another meaning.
const (
	NotificationQueued NotificationState = iota + 1
	NotificationDelivered
	NotificationFailed
)

var notificationStates = enumNames[NotificationState]{"", "queued", "delivered", "failed"}

// String returns the wire name.
func (s NotificationState) String() string { return notificationStates.name(s) }

// Notification is a message to one receiver, and what became of it.
type Notification struct {
	ID       int64
	RuleID   int64
	Receiver NotificationReceiver
	Key      string // of what happened; with the rule and the receiver it is there once
	Message  NotificationMessage
	State    NotificationState
	// CreatedAt is when it was queued, DueAt from when on it is tried, EndedAt when it was
	// delivered or given up; zero before.
	CreatedAt time.Time
	DueAt     time.Time
	EndedAt   time.Time
	Attempts  int
	Status    int    // of HTTP, of the last attempt; 0: there was no answer
	Answer    string // of the receiver, one line, its beginning
	Problem   string // why the last attempt failed, for people; empty: it did not
}

// NotificationMessage is what is told, before a channel gives it its form. Its texts are
// what scanners and people wrote: channels escape them.
type NotificationMessage struct {
	Event NotificationEvent `json:"event"`
	At    time.Time         `json:"at"`
	Rule  string            `json:"rule"`  // name of the notification rule
	Title string            `json:"title"` // a sentence of ours, with counts
	// Reason is why, where there is one. Of a comment it is the text, which no message keeps:
	// it is read when it is sent, as the comment may be withdrawn.
	Reason     string            `json:"reason,omitempty"`
	Count      int               `json:"count"`                // findings, or projects of EventScanMissing
	Severities map[string]int    `json:"severities,omitempty"` // how many of each
	Findings   []NotifiedFinding `json:"findings,omitempty"`   // the worst, MaxNotified at most
	Projects   []NotifiedProject `json:"projects,omitempty"`   // MaxNotified at most
	Scan       int64             `json:"scan,omitempty"`
	Run        int64             `json:"run,omitempty"`
	Assignee   string            `json:"assignee,omitempty"`
	Request    int64             `json:"request,omitempty"` // for an exception
	Asker      string            `json:"asker,omitempty"`
	Comment    int64             `json:"comment,omitempty"` // on the finding
	Author     string            `json:"author,omitempty"`  // who wrote it
	Person     int64             `json:"person,omitempty"`  // user whom no rule has told; 0: a rule has
	Path       string            `json:"path"`              // of the page, below the deployment's
	Test       bool              `json:"test,omitempty"`
}

// MaxNotified is how many findings or projects a message names.
const MaxNotified = 10

// NotifiedFinding is a finding in a message.
type NotifiedFinding struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"` // sast, sca, secrets
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Project  string `json:"project"`
	Ref      string `json:"ref"`
	Place    string `json:"place"` // path and line, or the package
}

// NotifiedProject is a project in a message.
type NotifiedProject struct {
	ID   int64     `json:"id"`
	Name string    `json:"name"`
	Last time.Time `json:"last_scan,omitzero"`
}
