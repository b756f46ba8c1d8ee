package model

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// IDRun is a range of consecutive IDs: the first one and the number of further ones.
type IDRun [2]int64

// IDRuns is a list of IDs as ranges, in the order in which they were added.
type IDRuns []IDRun

// Add appends an ID.
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

// All returns the IDs.
func (r IDRuns) All() (ids []int64) {
	for _, run := range r {
		for i := range run[1] + 1 {
			ids = append(ids, run[0]+i)
		}
	}
	return ids
}

// Happening is an event for notifications. It is stored in the same transaction as the change that
// caused it.
type Happening struct {
	Event NotificationEvent `json:"event"`
	// Findings are the affected findings. For EventNewFinding, Lineages contains those that were
	// not on any ref of the project before. EventDecisionEnded, EventAssigned, EventOverdue,
	// EventComment and events of exception requests have lineages only.
	Findings  IDRuns `json:"findings,omitempty"`
	Lineages  IDRuns `json:"lineages,omitempty"`
	ProjectID int64  `json:"project,omitempty"` // for events of a single project
	ScanID    int64  `json:"scan,omitempty"`
	RunID     int64  `json:"run,omitempty"`      // for EventScanFailed: the managed run without a scan
	Assignee  string `json:"assignee,omitempty"` // name of the user, for EventAssigned
	// RequestID is the exception request, RequestState its state, and Asker the name of the
	// requester, or empty if there is no user.
	RequestID    int64          `json:"request,omitempty"`
	RequestState ExceptionState `json:"request_state,omitempty"`
	Requester    string         `json:"asker,omitempty"`
	// CommentID is the comment on a finding, and Author its author.
	CommentID int64  `json:"comment,omitempty"`
	Author    string `json:"author,omitempty"`
	// Project and Tags belong to the project of a request, which may be deleted before the
	// notification is sent.
	Project string   `json:"project_name,omitempty"`
	Tags    []string `json:"project_tags,omitempty"`
	// Persons are users who receive an email regardless of rules.
	Persons []int64 `json:"persons,omitempty"`
	Reason  string  `json:"reason,omitempty"` // for display; may be empty
}

// NotificationState is the state of a notification.
type NotificationState uint8

// States. The numbers are stored and must not change.
const (
	NotificationQueued NotificationState = iota + 1
	NotificationDelivered
	NotificationFailed
)

var notificationStates = enumNames[NotificationState]{"", "queued", "delivered", "failed"}

// String returns the wire name.
func (s NotificationState) String() string { return notificationStates.name(s) }

// Notification is a message to one receiver with its delivery state.
type Notification struct {
	ID       int64
	RuleID   int64
	Receiver NotificationReceiver
	Key      string // of the event; unique together with rule and receiver
	Message  NotificationMessage
	State    NotificationState
	// CreatedAt is when it was queued, and DueAt the time of the next attempt. EndedAt is when it
	// was delivered or abandoned, or zero.
	CreatedAt time.Time
	DueAt     time.Time
	EndedAt   time.Time
	Attempts  int
	Status    int    // HTTP status of the last attempt; 0 without a response
	Answer    string // first line of the receiver's response, truncated
	Problem   string // error of the last attempt, for display; empty after success
}

// NotificationMessage is the content of a notification, independent of the channel. Its texts are
// untrusted and must be escaped by channels.
type NotificationMessage struct {
	Event NotificationEvent `json:"event"`
	At    time.Time         `json:"at"`
	Rule  string            `json:"rule"`  // name of the notification rule
	Title string            `json:"title"` // generated sentence with counts
	// Reason is the reason of the event, if any. The text of a comment is not stored here. It is
	// read when the message is sent, because the comment may be withdrawn.
	Reason     string            `json:"reason,omitempty"`
	Count      int               `json:"count"`                // findings, or projects for EventScanMissing
	Severities map[string]int    `json:"severities,omitempty"` // number of findings by severity
	Findings   []NotifiedFinding `json:"findings,omitempty"`   // the most severe, at most MaxNotified
	Projects   []NotifiedProject `json:"projects,omitempty"`   // at most MaxNotified
	Scan       int64             `json:"scan,omitempty"`
	Run        int64             `json:"run,omitempty"`
	Assignee   string            `json:"assignee,omitempty"`
	Request    int64             `json:"request,omitempty"` // exception request
	Requester  string            `json:"asker,omitempty"`
	Comment    int64             `json:"comment,omitempty"` // on the finding
	Author     string            `json:"author,omitempty"`  // of the comment
	Person     int64             `json:"person,omitempty"`  // user who receives it without a rule; 0 if a rule matched
	Path       string            `json:"path"`              // of the page, relative to the deployment
	Test       bool              `json:"test,omitempty"`
}

// MaxNotified is the maximum number of findings or projects in a message.
const MaxNotified = 10

// NotifiedFinding is a finding in a message.
type NotifiedFinding struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"` // sast, sca or secrets
	Severity string `json:"severity"`
	Rule     string `json:"rule"`
	Project  string `json:"project"`
	Ref      string `json:"ref"`
	Location string `json:"place"` // path and line, or the package
}

// NotifiedProject is a project in a message.
type NotifiedProject struct {
	ID   int64     `json:"id"`
	Name string    `json:"name"`
	Last time.Time `json:"last_scan,omitzero"`
}

// NotificationEvent is a kind of event. A new kind needs a value here, texts in internal/notify and
// a call of Tx.Tell in the store.
type NotificationEvent uint8

// Events. The numbers are stored and must not change.
const (
	EventNewFinding         NotificationEvent = iota + 1 // new findings, or findings that reappeared
	EventBuildBlocked                                    // a scan failed its build
	EventAdvisory                                        // advisories created findings for existing dependencies
	EventScanFailed                                      // a scan ended with an error
	EventScanMissing                                     // a project was not scanned for some days
	EventDecisionEnded                                   // findings were reopened because their decision expired
	EventAssigned                                        // findings were assigned to a user by another one
	EventExceptionRequested                              // a user requested an exception
	EventExceptionDecided                                // the state of a requested exception changed
	EventOverdue                                         // the due date of findings has passed
	EventComment                                         // a user commented on a finding
)

var notificationEvents = enumNames[NotificationEvent]{
	"", "new_finding", "build_blocked", "advisory", "scan_failed", "scan_missing", "decision_ended", "assigned",
	"exception_asked", "exception_decided", "overdue", "comment",
}

// String returns the wire name.
func (e NotificationEvent) String() string { return notificationEvents.name(e) }

// ParseNotificationEvent parses a wire name.
func ParseNotificationEvent(s string) (NotificationEvent, bool) { return notificationEvents.parse(s) }

// NotificationEvents is a set of events.
type NotificationEvents uint32

// AllNotificationEvents returns all events.
func AllNotificationEvents() []NotificationEvent {
	return []NotificationEvent{
		EventNewFinding, EventBuildBlocked, EventAdvisory, EventScanFailed, EventScanMissing, EventDecisionEnded,
		EventAssigned, EventExceptionRequested, EventExceptionDecided, EventOverdue, EventComment,
	}
}

// With returns the set with an event added.
func (s NotificationEvents) With(e NotificationEvent) NotificationEvents { return s | 1<<e }

// Has reports whether an event is in the set.
func (s NotificationEvents) Has(e NotificationEvent) bool { return s&(1<<e) != 0 }

// Names returns the wire names in the order of AllNotificationEvents. The result is not nil.
func (s NotificationEvents) Names() []string {
	out := []string{}
	for _, e := range AllNotificationEvents() {
		if s.Has(e) {
			out = append(out, e.String())
		}
	}
	return out
}

// NotificationChannel is a channel for notifications.
type NotificationChannel uint8

// Channels. The numbers are stored and must not change.
const (
	ChannelWebhook NotificationChannel = iota + 1 // CloudEvents, signed according to Standard Webhooks
	ChannelSlack                                  // this and the following use incoming webhooks
	ChannelTeams                                  // a workflow that accepts adaptive cards
	ChannelMattermost
	ChannelDiscord
	ChannelEmail
)

var notificationChannels = enumNames[NotificationChannel]{
	"", "webhook", "slack", "teams", "mattermost", "discord", "email",
}

// String returns the wire name.
func (c NotificationChannel) String() string { return notificationChannels.name(c) }

// ParseNotificationChannel parses a wire name.
func ParseNotificationChannel(s string) (NotificationChannel, bool) {
	return notificationChannels.parse(s)
}

// NotificationChannels returns all channels.
func NotificationChannels() []NotificationChannel {
	return []NotificationChannel{
		ChannelWebhook, ChannelSlack, ChannelTeams, ChannelMattermost, ChannelDiscord, ChannelEmail,
	}
}

// NotificationDigest is the frequency of emails.
type NotificationDigest uint8

// Digests. The numbers are stored and must not change.
const (
	DigestNone NotificationDigest = iota + 1 // one email per event, immediately
	DigestDay                                // one email per user and day, split after 500 messages
	DigestWeek                               // like DigestDay, per week
)

var notificationDigests = enumNames[NotificationDigest]{"", "none", "day", "week"}

// String returns the wire name.
func (d NotificationDigest) String() string { return notificationDigests.name(d) }

// ParseNotificationDigest parses a wire name.
func ParseNotificationDigest(s string) (NotificationDigest, bool) {
	return notificationDigests.parse(s)
}

// digestHour is the hour in UTC at which digests are sent. Weekly digests are sent on Mondays.
const digestHour = 7

// Next returns the time at which an event is sent: immediately, or with the next digest.
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

// NotificationRule defines which events are sent, to whom and over which channel.
type NotificationRule struct {
	ID     int64
	Name   string // display name
	Events NotificationEvents
	// MinSeverity excludes findings of lower severity; 0 excludes none.
	MinSeverity Severity
	Products    Products // 0 for all
	// Filter is a query of the findings pages, such as severities=high&branch=primary. An empty
	// filter selects all open findings.
	Filter      string
	MissingDays int // for EventScanMissing
	Channel     NotificationChannel
	// Target is an encrypted NotificationTarget, empty for ChannelEmail. Host is its displayed
	// part: the URL without its path, which most channels use as a secret.
	Target    []byte
	Host      string
	To        []string // email addresses, for ChannelEmail
	Digest    NotificationDigest
	Paused    bool
	Problem   string // why it was paused or failed last, for display; may be empty
	CreatedAt time.Time
	CreatedBy Actor
	CheckedAt time.Time // time up to which missing scans were checked; zero if never
}

// Receivers returns the receivers of the rule. Messages to a receiver are sent in order. Emails
// have one receiver per address across rules.
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

// Unwanted returns why a receiver no longer receives messages of the rule, or "" if it still does.
// Emails queued for another digest than the current one are still sent to addresses in the rule.
func (r NotificationRule) Unwanted(to NotificationReceiver) string {
	switch {
	case r.Paused:
		return "The rule was paused."
	case r.Channel == ChannelEmail && !slices.Contains(r.To, to.Address):
		return "The address was removed from the rule."
	}
	return ""
}

// NotificationReceiver is a destination with ordered delivery: the target of a rule or an email
// address.
type NotificationReceiver struct {
	RuleID  int64              `json:"rule,omitempty"` // 0 for email
	Address string             `json:"address,omitempty"`
	Digest  NotificationDigest `json:"digest,omitempty"`
}

// NotificationTarget is the URL and the secret of a rule. It is stored encrypted.
type NotificationTarget struct {
	URL    string `json:"url"`
	Secret string `json:"secret,omitempty"` // for ChannelWebhook: whsec_ and base64
	// Before is the previous secret. Both secrets sign messages until BeforeUntil.
	Before      string    `json:"before,omitempty"`
	BeforeUntil time.Time `json:"before_until,omitzero"`
}

// String returns a fixed text, because the URL is a secret with most channels.
func (t NotificationTarget) String() string { return "(receiver)" }

// GoString returns a fixed text too.
func (t NotificationTarget) GoString() string { return t.String() }

// Limits of a rule's fields.
const (
	MaxNotificationRules  = 1000
	maxNotificationName   = 100
	maxNotificationFilter = 2000
	maxNotificationURL    = 2000
	maxNotificationTo     = 50
	maxMissingDays        = 365
)

// CheckNotificationRule validates a requested rule except for its filter and target.
func CheckNotificationRule(r NotificationRule) error {
	switch n := utf8.RuneCountInString(r.Name); {
	case strings.TrimSpace(r.Name) == "" || n > maxNotificationName || HasControls(r.Name):
		return Invalid("name", "enter a name of at most %d characters", maxNotificationName)
	case r.Events == 0:
		return Invalid("events", "select at least one event of %s", strings.Join(notificationEvents[1:], ", "))
	case notificationChannels.name(r.Channel) == "":
		return Invalid("channel", "the channel must be one of %s", strings.Join(notificationChannels[1:], ", "))
	case len(r.Filter) > maxNotificationFilter || HasControls(r.Filter):
		return Invalid("filter", "the filter must be a query of at most %d bytes", maxNotificationFilter)
	case r.Events.Has(EventScanMissing) && (r.MissingDays < 1 || r.MissingDays > maxMissingDays):
		return Invalid("missing_days", "enter the number of days without a scan, 1 to %d", maxMissingDays)
	case r.Channel == ChannelEmail:
		return checkAddresses(r)
	case len(r.To) > 0:
		return Invalid("to", "e-mail addresses require the channel email")
	case r.Digest > DigestNone:
		return Invalid("digest", "digests require the channel email")
	}
	return nil
}

func checkAddresses(r NotificationRule) error {
	if len(r.To) == 0 || len(r.To) > maxNotificationTo {
		return Invalid("to", "enter 1 to %d e-mail addresses", maxNotificationTo)
	}
	if notificationDigests.name(r.Digest) == "" {
		return Invalid("digest", "the digest must be none, day or week")
	}
	for i, to := range r.To {
		if err := CheckMailAddress("to", to); err != nil {
			return err
		}
		if slices.Contains(r.To[:i], to) {
			return Invalid("to", "duplicate address %.80q", to)
		}
	}
	return nil
}

// CheckMailAddress validates an email address and returns an *InvalidError about the given field.
func CheckMailAddress(member, to string) error {
	if a, err := mail.ParseAddress(to); err != nil || a.Address != to || HasControls(to) || len(to) > 254 {
		return Invalid(member, "invalid e-mail address %.80q: use alice@example.com", to)
	}
	return nil
}

// CheckNotificationURL validates and parses the URL of a receiver.
func CheckNotificationURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || len(address) > maxNotificationURL || HasControls(address) || u.Hostname() == "":
		return nil, Invalid("url", "enter the URL of the receiver, such as https://hooks.example.com/…")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, Invalid("url", "the URL must begin with https:// or http://")
	case u.User != nil:
		return nil, Invalid("url", "the URL must not contain a user or password")
	case u.Fragment != "":
		return nil, Invalid("url", "the URL must not contain #")
	}
	return u, nil
}
