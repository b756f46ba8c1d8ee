package model

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

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

// NotificationEvent is what people can be told of. Another kind is a value here, its words
// in internal/notify, and who tells it in the store (Tx.Tell).
type NotificationEvent uint8

// Events. The numbers are stored: never give one another meaning.
const (
	EventNewFinding       NotificationEvent = iota + 1 // findings that are new, or came back
	EventBuildBlocked                                  // a scan failed its build
	EventAdvisory                                      // advisories made findings of what is in use already
	EventScanFailed                                    // a scan ended with an error
	EventScanMissing                                   // a project was not scanned for some days
	EventDecisionEnded                                 // findings reopened that were decided about until a day
	EventAssigned                                      // findings were assigned to somebody by somebody else
	EventExceptionAsked                                // somebody asked for an exception
	EventExceptionDecided                              // what became of an exception that somebody asked for
	EventOverdue                                       // the due date of findings is over
	EventComment                                       // somebody commented on a finding
)

var notificationEvents = enumNames[NotificationEvent]{
	"", "new_finding", "build_blocked", "advisory", "scan_failed", "scan_missing", "decision_ended", "assigned",
	"exception_asked", "exception_decided", "overdue", "comment",
}

// String returns the wire name.
func (e NotificationEvent) String() string { return notificationEvents.name(e) }

// ParseNotificationEvent reads a wire name.
func ParseNotificationEvent(s string) (NotificationEvent, bool) { return notificationEvents.parse(s) }

// NotificationEvents is a set of events.
type NotificationEvents uint32

// AllNotificationEvents lists the events.
func AllNotificationEvents() []NotificationEvent {
	return []NotificationEvent{
		EventNewFinding, EventBuildBlocked, EventAdvisory, EventScanFailed, EventScanMissing, EventDecisionEnded,
		EventAssigned, EventExceptionAsked, EventExceptionDecided, EventOverdue, EventComment,
	}
}

// With returns the set with one more.
func (s NotificationEvents) With(e NotificationEvent) NotificationEvents { return s | 1<<e }

// Has reports whether an event is in the set.
func (s NotificationEvents) Has(e NotificationEvent) bool { return s&(1<<e) != 0 }

// Names returns the wire names, in the order of AllNotificationEvents; never nil.
func (s NotificationEvents) Names() []string {
	out := []string{}
	for _, e := range AllNotificationEvents() {
		if s.Has(e) {
			out = append(out, e.String())
		}
	}
	return out
}

// NotificationChannel is how people are told.
type NotificationChannel uint8

// Channels. The numbers are stored: never give one another meaning.
const (
	ChannelWebhook NotificationChannel = iota + 1 // CloudEvents, signed as Standard Webhooks say
	ChannelSlack                                  // the others by their incoming webhooks
	ChannelTeams                                  // a workflow that takes adaptive cards
	ChannelMattermost
	ChannelDiscord
	ChannelEmail
)

var notificationChannels = enumNames[NotificationChannel]{
	"", "webhook", "slack", "teams", "mattermost", "discord", "email",
}

// String returns the wire name.
func (c NotificationChannel) String() string { return notificationChannels.name(c) }

// ParseNotificationChannel reads a wire name.
func ParseNotificationChannel(s string) (NotificationChannel, bool) {
	return notificationChannels.parse(s)
}

// NotificationChannels lists the channels.
func NotificationChannels() []NotificationChannel {
	return []NotificationChannel{
		ChannelWebhook, ChannelSlack, ChannelTeams, ChannelMattermost, ChannelDiscord, ChannelEmail,
	}
}

// NotificationDigest is how often mail is sent.
type NotificationDigest uint8

// Digests. The numbers are stored: never give one another meaning.
const (
	DigestNone NotificationDigest = iota + 1 // a mail for each event, at once
	DigestDay                                // a mail a person and day, and another for each 500 messages
	DigestWeek                               // the same by week
)

var notificationDigests = enumNames[NotificationDigest]{"", "none", "day", "week"}

// String returns the wire name.
func (d NotificationDigest) String() string { return notificationDigests.name(d) }

// ParseNotificationDigest reads a wire name.
func ParseNotificationDigest(s string) (NotificationDigest, bool) {
	return notificationDigests.parse(s)
}

// digestHour is when digests are sent, in UTC; of a week on Mondays.
const digestHour = 7

// Next is when what happened at a time is sent: then, or with the next digest.
func (d NotificationDigest) Next(at time.Time) time.Time {
	at = at.UTC()
	next := time.Date(at.Year(), at.Month(), at.Day(), digestHour, 0, 0, 0, time.UTC)
	switch d {
	case DigestDay:
		if !next.After(at) {
			next = next.AddDate(0, 0, 1)
		}
		return next
	case DigestWeek:
		for !next.After(at) || next.Weekday() != time.Monday {
			next = next.AddDate(0, 0, 1)
		}
		return next
	}
	return at
}

// NotificationRule says who is told of what, and how.
type NotificationRule struct {
	ID     int64
	Name   string // for people
	Events NotificationEvents
	// MinSeverity leaves out findings below it; 0 leaves out none.
	MinSeverity Severity
	Products    Products // 0: all
	// Filter is a query of the findings pages, as severities=high&branch=primary; empty
	// keeps all that is open.
	Filter      string
	MissingDays int // of EventScanMissing
	Channel     NotificationChannel
	// Target is a sealed NotificationTarget; empty of ChannelEmail. Host is what people are
	// told of it: where it leads without its path, which is a secret with most.
	Target    []byte
	Host      string
	To        []string // addresses, of ChannelEmail
	Digest    NotificationDigest
	Paused    bool
	Problem   string // why it was paused, or failed last, for people; empty: nothing
	CreatedAt time.Time
	CreatedBy Actor
	CheckedAt time.Time // until when missing scans were looked for; zero: never
}

// Receivers name who is told: what it has to be told comes one after the other. Mail
// comes to a person, whichever rule it is of.
func (r NotificationRule) Receivers() []NotificationReceiver {
	if r.Channel != ChannelEmail {
		return []NotificationReceiver{{RuleID: r.ID}}
	}
	out := make([]NotificationReceiver, len(r.To))
	for i, to := range r.To {
		out[i] = NotificationReceiver{Address: to, Digest: r.Digest}
	}
	return out
}

// Unwanted says why a receiver is told nothing more of the rule, for people; empty: it is
// told. Mail that waits for another digest than the rule has now goes to who still is in it.
func (r NotificationRule) Unwanted(to NotificationReceiver) string {
	switch {
	case r.Paused:
		return "The rule was paused."
	case r.Channel == ChannelEmail && !slices.Contains(r.To, to.Address):
		return "The address was taken out of the rule."
	}
	return ""
}

// NotificationReceiver is who is told, and in which order: a rule's address, or a person.
type NotificationReceiver struct {
	RuleID  int64              `json:"rule,omitempty"` // 0 of mail
	Address string             `json:"address,omitempty"`
	Digest  NotificationDigest `json:"digest,omitempty"`
}

// NotificationTarget is where a rule's messages go and how they are signed. It is kept sealed.
type NotificationTarget struct {
	URL    string `json:"url"`
	Secret string `json:"secret,omitempty"` // of ChannelWebhook: whsec_ and base64
	// Before is the secret that Secret took the place of. Until a time both sign.
	Before      string    `json:"before,omitempty"`
	BeforeUntil time.Time `json:"before_until,omitzero"`
}

// String tells nothing: an address is a secret with most channels.
func (t NotificationTarget) String() string { return "(receiver)" }

// GoString tells nothing either.
func (t NotificationTarget) GoString() string { return t.String() }

// Bounds of a rule's members.
const (
	MaxNotificationRules  = 1000
	maxNotificationName   = 100
	maxNotificationFilter = 2000
	maxNotificationURL    = 2000
	maxNotificationTo     = 50
	maxMissingDays        = 365
)

// CheckNotificationRule says what is wrong with a rule that somebody asks for, but for its
// filter and where it leads.
func CheckNotificationRule(r NotificationRule) error {
	switch n := utf8.RuneCountInString(r.Name); {
	case strings.TrimSpace(r.Name) == "" || n > maxNotificationName || HasControls(r.Name):
		return Invalid("name", "give the rule a name of %d characters at most", maxNotificationName)
	case r.Events == 0:
		return Invalid("events", "choose one event at least, of %s", strings.Join(notificationEvents[1:], ", "))
	case notificationChannels.name(r.Channel) == "":
		return Invalid("channel", "the channel is one of %s", strings.Join(notificationChannels[1:], ", "))
	case len(r.Filter) > maxNotificationFilter || HasControls(r.Filter):
		return Invalid("filter", "the filter is a query of %d bytes at most", maxNotificationFilter)
	case r.Events.Has(EventScanMissing) && (r.MissingDays < 1 || r.MissingDays > maxMissingDays):
		return Invalid("missing_days", "say after how many days without a scan, 1 to %d", maxMissingDays)
	case r.Channel == ChannelEmail:
		return checkAddresses(r)
	case len(r.To) > 0:
		return Invalid("to", "only rules of the channel email have addresses of mail")
	case r.Digest > DigestNone:
		return Invalid("digest", "only mail comes as a digest")
	}
	return nil
}

func checkAddresses(r NotificationRule) error {
	if len(r.To) == 0 || len(r.To) > maxNotificationTo {
		return Invalid("to", "give 1 to %d addresses of mail", maxNotificationTo)
	}
	if notificationDigests.name(r.Digest) == "" {
		return Invalid("digest", "the digest is one of none, day and week")
	}
	for i, to := range r.To {
		if err := CheckMailAddress("to", to); err != nil {
			return err
		}
		if slices.Contains(r.To[:i], to) {
			return Invalid("to", "%.80q is there twice", to)
		}
	}
	return nil
}

// CheckMailAddress says what is wrong with an address of mail, as a *InvalidError about a
// member.
func CheckMailAddress(member, to string) error {
	if a, err := mail.ParseAddress(to); err != nil || a.Address != to || HasControls(to) || len(to) > 254 {
		return Invalid(member, "%.80q is no address of mail, as alice@example.com", to)
	}
	return nil
}

// CheckNotificationURL says what is wrong with the address of a receiver.
func CheckNotificationURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxNotificationURL || HasControls(address) || u.Hostname() == "":
		return nil, Invalid("url", "give the address of the receiver, as https://hooks.example.com/…")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, Invalid("url", "the address begins with https:// or http://")
	case u.User != nil:
		return nil, Invalid("url", "an address holds no user or password")
	case u.Fragment != "":
		return nil, Invalid("url", "an address ends before #")
	}
	return u, nil
}
