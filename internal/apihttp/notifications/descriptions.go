package notifications

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listNotificationRules": {
		Summary: "List notification rules",
		Text:    "Rules that define which events are sent, by id. Tokens that are restricted to projects are rejected.",
	},
	"createNotificationRule": {
		Summary: "Create a notification rule",
		Text: "Creates a rule, which sends events of findings that match the filter to receivers over the channel. " +
			"The response contains the signing secret of a webhook; no other response does. The receiver's URL is " +
			"stored encrypted and never returned.",
	},
	"getNotificationRule": {Summary: "Get a notification rule", Text: "A rule by its id."},
	"updateNotificationRule": {
		Summary: "Update a notification rule",
		Text: "Changes the members that are sent. The channel and the secret are unchanged. Events that occur while " +
			"a rule is paused are not sent, also not later.",
	},
	"deleteNotificationRule": {
		Summary: "Delete a notification rule",
		Text:    "Deletes a rule with its log and its queued messages.",
	},
	"testNotificationRule": {
		Summary: "Test a notification rule",
		Text: "Sends a test message to the receivers of a rule, even if it is paused. The response and the log " +
			"contain the result; the status is 200 even if the delivery fails.",
	},
	"rotateNotificationSecret": {
		Summary: "Replace the secret of a webhook",
		Text: "Returns a new secret; no other response does. For a day, messages are also signed with the previous " +
			"secret. A rule of another channel is a conflict.",
	},
	"listNotifications": {
		Summary: "List the notifications of a rule",
		Text: "Sent, failed and queued messages of a rule, newest first, with the receivers' responses, in pages. " +
			"Pass `cursor` to get the next page; it is absent on the last page.",
	},
	"resendNotification": {
		Summary: "Resend a notification",
		Text: "Queues a notification again under the same id. A queued notification is a conflict, and so is one " +
			"that its rule no longer sends.",
	},
}
