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

// What people call what a rule is made of.
var (
	eventLabels = map[model.NotificationEvent]string{
		model.EventNewFinding: "New findings", model.EventBuildBlocked: "A build is blocked",
		model.EventAdvisory:   "An advisory affects dependencies in use",
		model.EventScanFailed: "A scan fails", model.EventScanMissing: "A project is not scanned for days",
		model.EventDecisionEnded: "A decision ends and its findings reopen",
		model.EventAssigned:      "Findings are assigned",
		model.EventComment:       "Somebody comments on a finding", model.EventExceptionAsked: "An exception is asked for",
		model.EventExceptionDecided: "What became of an exception that was asked for",
		model.EventOverdue:          "Findings become overdue",
	}
	channelLabels = map[model.NotificationChannel]string{
		model.ChannelWebhook: "Webhook", model.ChannelSlack: "Slack",
		model.ChannelTeams: "Microsoft Teams", model.ChannelMattermost: "Mattermost",
		model.ChannelDiscord: "Discord", model.ChannelEmail: "E-mail",
	}
	digestLabels = map[model.NotificationDigest]string{
		model.DigestNone: "one for each event, at once", model.DigestDay: "one a day, 07:00 UTC",
		model.DigestWeek: "one a week, Mondays 07:00 UTC",
	}
)

// offer is one of the values of a field.
type offer struct {
	Value, Label string
	Chosen       bool
}

// notificationForm is a notification rule as it is filled in.
type notificationForm struct {
	ID          int64 // 0: of a new one
	Name        string
	EventNames  []string
	MinSeverity string
	IssueTypes  []string
	Filter      string
	MissingDays string
	Channel     string // of a rule that there is, it stays
	URL         string
	To          string // one address a line
	Digest      string
	Host        string // where the rule leads now
	Fault       string
}

// missingDaysOffered is after how many days without a scan somebody is told unless they say
// another number.
const missingDaysOffered = 7

// newNotificationForm is the form of a rule of which nothing is filled in but what an
// address proposes, as a findings page does with its query.
func newNotificationForm(q url.Values) notificationForm {
	return notificationForm{
		EventNames:  []string{model.EventNewFinding.String()},
		MissingDays: strconv.Itoa(missingDaysOffered), Channel: model.ChannelWebhook.String(),
		Digest: model.DigestNone.String(), Filter: q.Get("filter"), IssueTypes: q["issue_types"],
	}
}

// formOfRule is the form filled in with a rule. Its address is not in it.
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

// filledIn takes over what a form sends. Its channel is one of a new rule alone.
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

// apply changes a rule to what was filled in, and returns the address that it is to lead to;
// empty leaves the one that it has. It refuses only what is none of the choices: all else is
// decided as for the Web API. What the channel does not have is left out.
func (f *notificationForm) apply(r *model.NotificationRule) (address string, err error) {
	r.Name, r.Filter, r.Events, r.Products, r.MissingDays = f.Name, f.Filter, 0, 0, 0
	for _, name := range f.EventNames {
		e, is := model.ParseNotificationEvent(name)
		if !is {
			return "", model.Invalid("events", "%.20q is none of the choices", name)
		}
		r.Events = r.Events.With(e)
	}
	for _, name := range f.IssueTypes {
		t, is := model.ParseIssueType(name)
		if !is {
			return "", model.Invalid("issue_types", "%.20q is none of the choices", name)
		}
		r.Products = r.Products.With(t)
	}
	var is bool
	if r.MinSeverity, is = model.ParseSeverity(f.MinSeverity); !is && f.MinSeverity != "" {
		return "", model.Invalid("min_severity", "%.20q is none of the choices", f.MinSeverity)
	}
	if r.Events.Has(model.EventScanMissing) {
		if r.MissingDays, err = strconv.Atoi(f.MissingDays); err != nil {
			return "", model.Invalid("missing_days", "is a whole number")
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

// Mails reports whether the rule that there is sends mail.
func (f notificationForm) Mails() bool { return f.Channel == model.ChannelEmail.String() }

// ChannelLabel is what people call the channel.
func (f notificationForm) ChannelLabel() string {
	c, _ := model.ParseNotificationChannel(f.Channel)
	return channelLabels[c]
}

// Events are what can be told.
func (f notificationForm) Events() (out []offer) {
	for _, e := range model.AllNotificationEvents() {
		out = append(out, offer{e.String(), eventLabels[e], slices.Contains(f.EventNames, e.String())})
	}
	return out
}

// Severities are those below which findings are left out.
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

// Products are what findings are of.
func (f notificationForm) Products() (out []offer) {
	for _, p := range ui.Products {
		out = append(out, offer{p.Type.String(), p.Title, slices.Contains(f.IssueTypes, p.Type.String())})
	}
	return out
}

// Channels are how people can be told.
func (f notificationForm) Channels() (out []offer) {
	for _, c := range model.NotificationChannels() {
		out = append(out, offer{c.String(), channelLabels[c], f.Channel == c.String()})
	}
	return out
}

// Digests are how often mail can come.
func (f notificationForm) Digests() (out []offer) {
	for d := model.DigestNone; d <= model.DigestWeek; d++ {
		out = append(out, offer{d.String(), digestLabels[d], f.Digest == d.String()})
	}
	return out
}

// notificationRow is a rule as people read it.
type notificationRow struct {
	model.NotificationRule
	Last deliveryRow // ID 0: nobody was told of anything yet
}

// When says on which events somebody is told.
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

// What says which findings count, but for the filter.
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

// How is the channel, and Where who is at its end.
func (r notificationRow) How() string { return channelLabels[r.Channel] }

// Where says who is told: never more of an address than its host.
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

// Digested says how often mail comes; empty where there is one for each event.
func (r notificationRow) Digested() string {
	if r.Channel != model.ChannelEmail || r.Digest <= model.DigestNone {
		return ""
	}
	return digestLabels[r.Digest]
}

// Signed reports whether messages are signed with a secret.
func (r notificationRow) Signed() bool { return r.Channel == model.ChannelWebhook }

// deliveryRow is a message to one receiver, as people read what became of it.
type deliveryRow struct{ model.Notification }

// Event is what it tells.
func (r deliveryRow) Event() string {
	if r.Message.Test {
		return "Test"
	}
	return eventLabels[r.Message.Event]
}

// StateLabel is a word about how far it came.
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

// Waits reports whether it is still to be sent.
func (r deliveryRow) Waits() bool { return r.State == model.NotificationQueued }

// Tried says how often it was tried; empty: not yet.
func (r deliveryRow) Tried() string {
	if r.Attempts == 0 {
		return ""
	}
	return ui.Plural(r.Attempts, "attempt")
}

// Outcome says what came of it in words.
func (r deliveryRow) Outcome() string {
	switch {
	case r.Problem != "":
		return r.Problem
	case r.State == model.NotificationDelivered && r.Status != 0:
		return fmt.Sprintf("The receiver took it (%d).", r.Status)
	case r.State == model.NotificationDelivered:
		return "The mail was sent."
	}
	return ""
}
