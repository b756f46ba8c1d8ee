package managed

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Display names of the parts of a rule.
var (
	eventLabels = map[model.NotificationEvent]string{
		model.EventNewFinding: "New findings", model.EventBuildBlocked: "A build is blocked",
		model.EventAdvisory:   "An advisory affects dependencies in use",
		model.EventScanFailed: "A scan fails", model.EventScanMissing: "A project is not scanned for days",
		model.EventDecisionEnded:      "A decision ends and its findings reopen",
		model.EventAssigned:           "Findings are assigned",
		model.EventComment:            "A comment is added to a finding",
		model.EventExceptionRequested: "An exception is requested",
		model.EventExceptionDecided:   "An exception request is decided",
		model.EventOverdue:            "Findings become overdue",
	}
	channelLabels = map[model.NotificationChannel]string{
		model.ChannelWebhook: "Webhook", model.ChannelSlack: "Slack",
		model.ChannelTeams: "Microsoft Teams", model.ChannelMattermost: "Mattermost",
		model.ChannelDiscord: "Discord", model.ChannelEmail: "E-mail",
	}
	digestLabels = map[model.NotificationDigest]string{
		model.DigestNone: "immediately, one per event", model.DigestDay: "daily, 07:00 UTC",
		model.DigestWeek: "weekly, Mondays 07:00 UTC",
	}
)

// offer is an option of a field.
type offer struct {
	Value, Label string
	Chosen       bool
}

// notificationForm is the form of a notification rule.
type notificationForm struct {
	ID          int64 // 0 for a new rule
	Name        string
	EventNames  []string
	MinSeverity string
	IssueTypes  []string
	Filter      string
	MissingDays string
	Channel     string // cannot be changed after creation
	URL         string
	To          string // one address a line
	Digest      string
	Host        string // current receiver of the rule
	Fault       string
}

// missingDaysOffered is the default number of days without a scan after which a notification is
// sent.
const missingDaysOffered = 7

// newNotificationForm returns the form of a new rule, with the values of a query such as that of a
// findings page.
func newNotificationForm(q url.Values) notificationForm {
	return notificationForm{
		EventNames:  []string{model.EventNewFinding.String()},
		MissingDays: strconv.Itoa(missingDaysOffered), Channel: model.ChannelWebhook.String(),
		Digest: model.DigestNone.String(), Filter: q.Get("filter"), IssueTypes: q["issue_types"],
	}
}

// formOfRule returns the form of an existing rule, without its address.
func formOfRule(r model.NotificationRule) notificationForm {
	f := notificationForm{
		ID: r.ID, Name: r.Name, EventNames: r.Events.Names(),
		MinSeverity: r.MinSeverity.String(), IssueTypes: r.Products.Names(), Filter: r.Filter,
		MissingDays: strconv.Itoa(r.MissingDays), Channel: r.Channel.String(),
		To: strings.Join(r.To, "\n"), Digest: r.Digest.String(), Host: r.Host,
	}
	if r.MissingDays == 0 {
		f.MissingDays = strconv.Itoa(missingDaysOffered)
	}
	return f
}

// filledIn sets the fields to submitted values. The channel is only set for new rules.
func (f *notificationForm) filledIn(form url.Values) {
	f.Name, f.EventNames, f.MinSeverity, f.IssueTypes = strings.TrimSpace(
		model.Line(form.Get("name")),
	), form["events"], form.Get("min_severity"), form["issue_types"]
	f.Filter, f.MissingDays = strings.TrimSpace(form.Get("filter")), strings.TrimSpace(form.Get("missing_days"))
	f.URL, f.To, f.Digest = strings.TrimSpace(form.Get("url")), form.Get("to"), form.Get("digest")
	if f.ID == 0 {
		f.Channel = form.Get("channel")
	}
}

// apply sets the fields of a rule and returns its new address; empty leaves the address unchanged.
// It only rejects values that are not among the options, as other checks are shared with the Web
// API. Fields that do not apply to the channel are ignored.
func (f *notificationForm) apply(r *model.NotificationRule) (address string, err error) {
	r.Name, r.Filter, r.Events, r.Products, r.MissingDays = f.Name, f.Filter, 0, 0, 0
	for _, name := range f.EventNames {
		e, is := model.ParseNotificationEvent(name)
		if !is {
			return "", model.Invalid("events", "invalid value %.20q: use one of the choices", name)
		}
		r.Events = r.Events.With(e)
	}
	for _, name := range f.IssueTypes {
		t, is := model.ParseIssueType(name)
		if !is {
			return "", model.Invalid("issue_types", "invalid value %.20q: use one of the choices", name)
		}
		r.Products = r.Products.With(t)
	}
	var is bool
	if r.MinSeverity, is = model.ParseSeverity(f.MinSeverity); !is && f.MinSeverity != "" {
		return "", model.Invalid("min_severity", "invalid value %.20q: use one of the choices", f.MinSeverity)
	}
	if r.Events.Has(model.EventScanMissing) {
		if r.MissingDays, err = strconv.Atoi(f.MissingDays); err != nil {
			return "", model.Invalid("missing_days", "must be a whole number")
		}
	}
	if r.ID == 0 {
		r.Channel, _ = model.ParseNotificationChannel(f.Channel)
	}
	r.To, r.Digest = nil, model.DigestNone
	if r.Channel != model.ChannelEmail {
		return f.URL, nil
	}
	r.To = ui.Lines(f.To)
	r.Digest, _ = model.ParseNotificationDigest(f.Digest)
	return "", nil
}

// Mails reports whether the existing rule sends mail.
func (f notificationForm) Mails() bool { return f.Channel == model.ChannelEmail.String() }

// ChannelLabel returns the display name of the channel.
func (f notificationForm) ChannelLabel() string {
	c, _ := model.ParseNotificationChannel(f.Channel)
	return channelLabels[c]
}

// Events returns the options for events.
func (f notificationForm) Events() (out []offer) {
	for _, e := range model.AllNotificationEvents() {
		out = append(out, offer{e.String(), eventLabels[e], slices.Contains(f.EventNames, e.String())})
	}
	return out
}

// Severities returns the options for the minimum severity.
func (f notificationForm) Severities() []offer {
	out := []offer{{"", "any severity", f.MinSeverity == ""}}
	for s := model.SeverityLow; s <= model.SeverityCritical; s++ {
		label := s.String() + " and above"
		if s == model.SeverityCritical {
			label = s.String()
		}
		out = append(out, offer{s.String(), label, f.MinSeverity == s.String()})
	}
	return out
}

// Products returns the options for products.
func (f notificationForm) Products() (out []offer) {
	for _, p := range ui.Products {
		out = append(out, offer{p.Type.String(), p.Title, slices.Contains(f.IssueTypes, p.Type.String())})
	}
	return out
}

// Channels returns the options for channels.
func (f notificationForm) Channels() (out []offer) {
	for _, c := range model.NotificationChannels() {
		out = append(out, offer{c.String(), channelLabels[c], f.Channel == c.String()})
	}
	return out
}

// Digests returns the options for the frequency of mail.
func (f notificationForm) Digests() (out []offer) {
	for d := model.DigestNone; d <= model.DigestWeek; d++ {
		out = append(out, offer{d.String(), digestLabels[d], f.Digest == d.String()})
	}
	return out
}

// notificationRow is a rule in the list.
type notificationRow struct {
	model.NotificationRule
	Last deliveryRow // ID 0: nothing was sent yet
}

// When returns the display names of the rule's events.
func (r notificationRow) When() (out []string) {
	for _, e := range model.AllNotificationEvents() {
		switch {
		case !r.Events.Has(e):
		case e == model.EventScanMissing:
			out = append(out, "A project is not scanned for "+ui.Plural(r.MissingDays, "day"))
		default:
			out = append(out, eventLabels[e])
		}
	}
	return out
}

// What describes the selected findings, without the filter.
func (r notificationRow) What() string {
	out := "All findings"
	if r.Products != 0 {
		var names []string
		for _, p := range ui.Products {
			if r.Products.Has(p.Type) {
				names = append(names, p.Title)
			}
		}
		out = strings.Join(names, ", ")
	}
	switch r.MinSeverity {
	case 0:
		return out
	case model.SeverityCritical:
		return out + ", critical"
	}
	return fmt.Sprintf("%s, %s and above", out, r.MinSeverity)
}

// How returns the display name of the channel.
func (r notificationRow) How() string { return channelLabels[r.Channel] }

// Where describes the receivers. For other channels than mail it shows only the host.
func (r notificationRow) Where() string {
	if r.Channel != model.ChannelEmail {
		return r.Host
	}
	const shown = 2
	to := strings.Join(r.To[:min(len(r.To), shown)], ", ")
	if more := len(r.To) - shown; more > 0 {
		to += fmt.Sprintf(" and %d more", more)
	}
	return to
}

// Digested returns the frequency of mail; empty if each event is sent separately.
func (r notificationRow) Digested() string {
	if r.Channel != model.ChannelEmail || r.Digest <= model.DigestNone {
		return ""
	}
	return digestLabels[r.Digest]
}

// Signed reports whether messages are signed with a secret.
func (r notificationRow) Signed() bool { return r.Channel == model.ChannelWebhook }

// deliveryRow is a message to one receiver, with its result.
type deliveryRow struct{ model.Notification }

// Event returns the display name of the event.
func (r deliveryRow) Event() string {
	if r.Message.Test {
		return "Test"
	}
	return eventLabels[r.Message.Event]
}

// StateLabel returns the display name of the state.
func (r deliveryRow) StateLabel() string {
	switch {
	case r.State == model.NotificationDelivered:
		return "Delivered"
	case r.State == model.NotificationFailed:
		return "Failed"
	case r.Attempts > 0:
		return "Retrying"
	}
	return "Queued"
}

// Waits reports whether the message is queued.
func (r deliveryRow) Waits() bool { return r.State == model.NotificationQueued }

// Tried returns the number of attempts as text; empty if there were none.
func (r deliveryRow) Tried() string {
	if r.Attempts == 0 {
		return ""
	}
	return ui.Plural(r.Attempts, "attempt")
}

// Outcome describes the result.
func (r deliveryRow) Outcome() string {
	switch {
	case r.Problem != "":
		return r.Problem
	case r.State == model.NotificationDelivered && r.Status != 0:
		return fmt.Sprintf("Delivered (%d).", r.Status)
	case r.State == model.NotificationDelivered:
		return "Mail sent."
	}
	return ""
}
