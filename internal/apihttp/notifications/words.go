package notifications

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listNotificationRules": {
		Summary: "List notification rules",
		Text:    "Rules by which people are told of what happens, by id. A token that is bound to projects may not.",
	},
	"createNotificationRule": {
		Summary: "Create a notification rule",
		Text: "Makes a rule: when which events happen to findings that match the filter, receivers are told over " +
			"the channel. " +
			"The answer has the secret that a webhook is signed with, this once. " +
			"The address is sealed and never told.",
	},
	"getNotificationRule": {Summary: "Get a notification rule", Text: "A rule by its id."},
	"updateNotificationRule": {
		Summary: "Update a notification rule",
		Text: "Changes the members that are sent. The channel and the secret stay. While a rule is paused " +
			"nobody is told, of " +
			"what happens then neither later.",
	},
	"deleteNotificationRule": {
		Summary: "Delete a notification rule",
		Text:    "Forgets a rule with its log, and what it was still to tell.",
	},
	"testNotificationRule": {
		Summary: "Test a notification rule",
		Text: "Sends the receivers of a rule a message now, a paused one's too. What came of it is the answer, " +
			"which is a 200 " +
			"all the same, and in the log.",
	},
	"rotateNotificationSecret": {
		Summary: "Replace the secret of a webhook",
		Text: "Answers another secret, this once. For a day messages are signed with the one before too. A rule of another " +
			"channel is a conflict.",
	},
	"listNotifications": {
		Summary: "List the notifications of a rule",
		Text: "What a rule told, was to tell or tells next, the newest " +
			"first, with the receivers' answers, in pages. Pass `cursor` to get the next page; it is absent on the last one.",
	},
	"resendNotification": {
		Summary: "Resend a notification",
		Text: "Queues a notification once more, under the id that it had. One that waits already, or that its " +
			"rule tells no " +
			"more, is a conflict.",
	},
}
